"""How vLLM spells tokens and orders alternatives: from the truth's tokens to told scores.

The text of one id is decoded alone, specials shown; a piece of a character is repaired with up to four preceding ids
(none up to 0.12, one in 0.16). The engine returns the sampled token first, then ranks 1..K without it. Knows no body.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ...generation import Candidate, Token
from ...tokenizer import Tokenizer
from ...told import Score

BROKEN = "�"
MIN_LOGPROB = -9999.0
"""What -inf, NaN and a withheld score are told as (serving code of all versions)."""


class Speller:
    """Token texts of one tokenizer by one version's repair rule; bounded memory, shared by all requests."""

    def __init__(self, tokenizer: Tokenizer, repair_context: int) -> None:
        self._tokenizer = tokenizer
        self._repair = repair_context
        self.alone = lru_cache(maxsize=65536)(self._alone)

    def _alone(self, token_id: int) -> str:
        return self._tokenizer.piece(token_id).decode("utf-8", "replace")

    def spell(self, token_id: int | None, before: Sequence[int]) -> str:
        """The text of an id after these ids; "" for a piece that no context completes."""
        if token_id is None:
            return ""
        text = self.alone(token_id)
        if not self._repair or not text.endswith(BROKEN):
            return text
        for count in range(1, min(self._repair, len(before)) + 1):
            context = list(before[-count:])
            whole = self._joined([*context, token_id])
            if whole.endswith(BROKEN):
                continue
            while context and self.alone(context[-1]).endswith(BROKEN):
                context.pop()
            prefix = self._joined(context)
            return whole[len(prefix) :] if whole.startswith(prefix) else whole
        return ""

    def texts(self, ids: Sequence[int | None], before: Sequence[int]) -> dict[int | None, str]:
        """The texts of a row as the engine returns it: the sampled id, then the candidates (it may be among them)."""
        if self.by_row:
            return {token_id: self._in_row(ids, place, before) for place, token_id in enumerate(ids)}
        return {token_id: self.spell(token_id, before) for token_id in ids}

    @property
    def by_row(self) -> bool:
        """0.16 completes a piece with its neighbour in the row, or with the id before; what it makes of a sampled id at
        its rank replaces what it made of it at first."""
        return self._repair == 1

    def _in_row(self, ids: Sequence[int | None], place: int, before: Sequence[int]) -> str:
        token_id = ids[place]
        text = "" if token_id is None else self.alone(token_id)
        if not text.endswith(BROKEN):
            return text
        here = [one for one in ids[max(place - 1, 0) : place + 1] if one is not None]
        tried = [here] if place else []
        for known in (*tried, *([[before[-1], *here]] if before else [])):
            whole = self._joined(known)
            if not whole.endswith(BROKEN):
                return whole
        return ""

    def _joined(self, ids: Sequence[int]) -> str:
        return b"".join(self._tokenizer.piece(token_id) for token_id in ids).decode("utf-8", "replace")


def told_logprob(logprob: float | None) -> float:
    """The number as served: never below -9999.0, which also stands for -inf, NaN and a withheld score."""
    return logprob if logprob is not None and logprob >= MIN_LOGPROB else MIN_LOGPROB


def engine_order(token: Token, count: int) -> list[Candidate]:
    """The sampled token, then ranks 1..count without it; count -1 = every candidate that the truth knows. An id that
    was asked for twice is told once; recordings may know a candidate by its rank alone."""
    ranked = token.top if count < 0 else token.top[:count]
    sampled = Candidate(token.id, token.bytes, token.logprob, token.rank)
    others = {
        candidate.id if candidate.id is not None else f"rank {candidate.rank}": candidate
        for candidate in ranked
        if candidate.id != token.id
    }
    return [sampled, *others.values()]


def told_score(
    token: Token,
    before: Sequence[int],
    speller: Speller,
    *,
    count: int,
    shown: int | None,
    tokens_as_ids: bool = False,
) -> Score:
    """One entry. ``count``: alternatives the engine computed; ``shown``: how many of its list are told (None = all).

    With ``tokens_as_ids`` the sampled entry keeps the bytes of its real text while alternatives carry the bytes of the
    placeholder (captured on 0.32: chat_tokens_as_ids).
    """
    ordered = engine_order(token, count)
    row = [token.id, *(candidate.id for candidate in (token.top if count < 0 else token.top[:count]))]
    texts = speller.texts(row, before)
    text = texts[token.id]
    top = tuple(
        _alternative(candidate, texts[candidate.id], tokens_as_ids)
        for candidate in (ordered if shown is None else ordered[:shown])
    )
    if token.logprob is None:
        top = ()
    return Score(
        id=token.id,
        token=f"token_id:{token.id}" if tokens_as_ids else text,
        bytes=tuple(text.encode("utf-8")),
        logprob=told_logprob(token.logprob),
        rank=token.rank,
        top=top,
    )


def _alternative(candidate: Candidate, text: str, tokens_as_ids: bool) -> Score:
    text = f"token_id:{candidate.id}" if tokens_as_ids else text
    return Score(
        id=candidate.id,
        token=text,
        bytes=tuple(text.encode("utf-8")),
        logprob=told_logprob(candidate.logprob),
        rank=candidate.rank,
    )
