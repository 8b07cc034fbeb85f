"""Ids and scores of one recorded choice, put together from whatever a wire shows of them.

A wire may show ids and scores in full, ids at the end and scores as they come, fewer scores than ids, or scores with
nothing but token texts. A :class:`Sampled` says which ids there are and which of the scores belongs to each. Pure.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ..capture import Alternative, Alternatives, CapturedChoice
from ..generation import Candidate, Token
from ..reading.assemble import Detail
from ..tokenizer import Tokenizer

AS_ID = "token_id:"
"""How vLLM spells a token that it was asked to tell as an id."""

VOCABULARY_MARKS = frozenset("\u0120\u010a\u0109\u2581")
"""What stands for a blank, a line's end, a tab in the pieces of byte-level and SentencePiece vocabularies."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """``places``: per id the position of its score, None where it has none. ``source``: ids | scores | text.
    ``steps``: tokens per delivery, where the way of reading tells it. ``likelier``: the scores there are not of these
    ids but of the likeliest ones. ``partial``: the server counted more tokens than these."""

    ids: tuple[int, ...]
    places: tuple[int | None, ...]
    source: str
    steps: tuple[int, ...] = ()
    likelier: bool = False
    partial: bool = False


def by_ids(
    tokenizer: Tokenizer, choice: CapturedChoice, detail: Detail, prompt: Sequence[int], counted: int | None
) -> Sampled:
    """From ids on the wire. Ids beside the scores go first: a list of ids may begin with the prompt (older SGLang),
    which shows where the server ``counted`` fewer tokens."""
    ids, entries = choice.completion_token_ids or (), detail.entry_ids
    if (
        entries is not None
        and all(type(one) is int for one in entries)
        and (not ids or entries == ids[-len(entries) :])
    ):
        return Sampled(entries, tuple(range(len(entries))), "ids")
    scores = choice.logprobs or ()
    if prompt and ids[: len(prompt)] == tuple(prompt) and len(ids) - len(prompt) in (len(scores), counted):
        ids = ids[len(prompt) :]
    if len(ids) == len(scores):
        return Sampled(ids, tuple(range(len(ids))), "ids")
    return Sampled(ids, _aligned(tokenizer, ids, choice.token_texts or ()), "ids")


def with_end(sampled: Sampled, end: int | None) -> Sampled:
    """The same ids with the token that ended the answer, where it is known and not among them."""
    if end is None or sampled.ids[-1:] == (end,):
        return sampled
    return replace(sampled, ids=(*sampled.ids, end), places=(*sampled.places, None))


def by_scores(
    tokenizer: Tokenizer, choice: CapturedChoice, end: int | None, counted: int | None, *, hides: bool
) -> Sampled | None:
    """From the token texts beside the scores; None where one of them is no token of this tokenizer, or where the server
    ``counted`` other tokens too and may not have hidden them (``hides``: reasoning alone has no scores, tool calls are
    not asked for). ``end``: the token that ended the answer, which some servers leave out."""
    texts = choice.token_texts
    if not texts or choice.logprobs is None or len(texts) != len(choice.logprobs):
        return None
    known = _ids_of(tokenizer, texts, choice.text, end)
    if known is None:
        return None
    places: tuple[int | None, ...] = tuple(range(len(known)))
    hidden = hides and counted is not None and counted > len(known) + 1
    if end is not None and known[-1:] != (end,) and (hidden or counted in (None, len(known) + 1)):
        return Sampled((*known, end), (*places, None), "scores", partial=hidden)
    return Sampled(known, places, "scores", partial=hidden) if hidden or counted in (None, len(known)) else None


def _ids_of(tokenizer: Tokenizer, texts: Sequence[Any], text: str | None, end: int | None) -> tuple[int, ...] | None:
    """The ids of these token texts. A piece of a split character is no text of any token: there the text as a whole,
    tokenised anew, must give as many tokens, and the same ones wherever a text is known."""
    ids = [_id_of(tokenizer, one) for one in texts]
    known = tuple(one for one in ids if one is not None)
    if len(known) == len(ids):
        return known
    whole = tokenizer.encode(text or "")
    for guess in (whole, (*whole, end) if end is not None else whole):
        if len(guess) == len(ids) and all(one in (None, other) for one, other in zip(ids, guess, strict=True)):
            return guess
    return None


def shows_likelier(tokenizer: Tokenizer, choice: CapturedChoice, entries: Sequence[int]) -> bool:
    """Whether the entries are the likeliest tokens instead of the sampled ones (MLX-LM with alternatives): each is the
    first of its list, and they do not spell the text."""
    top = choice.top_logprobs or ()
    if not entries or not choice.text or len(top) != len(entries):
        return False
    first = all(listed and listed[0].id == one for one, listed in zip(entries, top, strict=True))
    return first and choice.text not in tokenizer.decode(entries)


def by_text(tokenizer: Tokenizer, choice: CapturedChoice, detail: Detail, last: int | None) -> Sampled:
    """From the text, tokenised anew: piece by piece where it came in pieces, so that each keeps its delivery."""
    pieces = [tokenizer.encode(text) for text in (detail.texts or (choice.text or "",)) if text]
    end = () if last is None else (last,)
    ids = tuple(one for piece in pieces for one in piece) + end
    steps = (*map(len, pieces), *(1 for _ in end)) if detail.texts else ()
    return Sampled(ids, (None,) * len(ids), "text", steps)


def steps_by_text(tokenizer: Tokenizer, ids: Sequence[int], texts: Sequence[str]) -> tuple[int, ...]:
    """Tokens per delivery where the text came in pieces and the ids in one: a piece takes the tokens that it shows.
    What is hidden before the text came token by token. Empty where the tokens do not show this text."""
    pieces = [b"" if one in tokenizer.special_ids else tokenizer.piece(one) for one in ids]
    whole, spoken = "".join(texts).encode(), b"".join(pieces)
    hidden = spoken.rfind(whole) if whole else -1
    ends = list(itertools.accumulate(map(len, pieces), initial=0))
    if hidden not in ends:
        return ()
    upcoming = ends.index(hidden)
    steps, shown = [1] * upcoming, hidden
    for text in texts:
        shown += len(text.encode())
        last = next((place for place in range(upcoming, len(ids)) if ends[place] >= shown), len(ids))
        steps.append(last - upcoming)
        upcoming = last
    return tuple(step for step in steps if step)


def _aligned(tokenizer: Tokenizer, ids: Sequence[int], texts: Sequence[Any]) -> tuple[int | None, ...]:
    """Where fewer scores came than ids: each score goes to the next id with its text. None at all where that fails."""
    places: list[int | None] = []
    upcoming = 0
    for token_id in ids:
        fits = upcoming < len(texts) and spells(tokenizer, texts[upcoming], token_id)
        places.append(upcoming if fits else None)
        upcoming += fits
    return tuple(places) if upcoming == len(texts) else (None,) * len(ids)


def token(
    tokenizer: Tokenizer,
    token_id: int,
    choice: CapturedChoice,
    place: int | None,
    told_rank: int | None,
    *,
    likelier: bool = False,
) -> Token:
    """A sampled token with its alternatives in rank order. Servers list the sampled one first, or where it ranks; a
    rank that is not told is read off the list."""
    top: Alternatives = _at(choice.top_logprobs, place) or ()
    logprob = None if likelier else _at(choice.logprobs, place)
    own = _own(tokenizer, top, token_id, logprob)
    if own is not None and top[own].token:  # Dynamo lists the end twice: as what it is, and as the "" that it shows
        top = tuple(one for one in top if one.token != "" or one.id is not None)
    candidates = [
        _candidate(tokenizer, one, token_id if number == own else None, None if number == own else token_id)
        for number, one in enumerate(top)
    ]
    ranked = sorted(candidates, key=lambda one: -(one.logprob if one.logprob is not None else float("-inf")))
    rank = next((place for place, one in enumerate(ranked, 1) if one.id == token_id), len(ranked) + 1)
    return Token(
        id=token_id,
        bytes=tokenizer.piece(token_id),
        logprob=logprob,
        rank=told_rank if told_rank is not None else rank if ranked else None,
        top=tuple(replace(one, rank=one.rank or place) for place, one in enumerate(ranked, 1)),
    )


def prompt_token(tokenizer: Tokenizer, token_id: int, entry: Alternatives | None, score: Any) -> Token | None:
    """A prompt token with its scores; None where there are none (healthy servers: the first). ``score``: its own, where
    it is told beside the alternatives."""
    if entry is None and score is None:
        return None
    listed = _ranked(entry or ())
    own = next((one for one in listed if _is(tokenizer, one, token_id)), None)
    return Token(
        id=token_id,
        bytes=tokenizer.piece(token_id),
        logprob=score if score is not None else None if own is None else own.logprob,
        rank=None if own is None else own.rank,
        top=tuple(_candidate(tokenizer, one, token_id if one is own else None) for one in listed),
    )


def _ranked(listed: Alternatives) -> Alternatives:
    """In rank order; where no ranks are told, the scores tell them."""
    if any(one.rank is not None for one in listed):
        return tuple(sorted(listed, key=lambda one: one.rank if one.rank is not None else len(listed) + 1))
    ordered = sorted(listed, key=lambda one: -(one.logprob if one.logprob is not None else float("-inf")))
    return tuple(replace(one, rank=rank) for rank, one in enumerate(ordered, 1))


def _own(tokenizer: Tokenizer, top: Alternatives, token_id: int, logprob: float | None) -> int | None:
    """Which of the alternatives is the sampled token: by its id or text, and among several by its score. A token that
    shows as no text at all (the end, on some wires) is known by its score alone."""
    named = [number for number, one in enumerate(top) if _is(tokenizer, one, token_id)]
    unnamed = [number for number, one in enumerate(top) if one.id is None and one.token == ""]
    scored = [number for number in named or unnamed if top[number].logprob == logprob is not None]
    return next(iter(scored or named), None)


def _candidate(tokenizer: Tokenizer, one: Alternative, known: int | None, other: int | None = None) -> Candidate:
    """``known``: the id that it is; ``other``: the id that it is not, whatever the wire calls it (vLLM's token-in route
    calls every alternative by the id of the sampled token before 0.24)."""
    token_id = one.id if one.id is not None else known if known is not None else _id_of(tokenizer, one.token)
    token_id = None if token_id == other else token_id
    piece = tokenizer.piece(token_id) if token_id is not None else (one.token or "").encode("utf-8", "replace")
    return Candidate(id=token_id, bytes=piece, logprob=one.logprob, rank=one.rank)


def _is(tokenizer: Tokenizer, one: Alternative, token_id: int) -> bool:
    """Whether an alternative is this token: by id, else by its text."""
    return one.id == token_id if one.id is not None else spells(tokenizer, one.token, token_id)


def spells(tokenizer: Tokenizer, text: Any, token_id: int) -> bool:
    """Whether a wire may write this token so: as its text, its vocabulary's piece, or its id."""
    piece = tokenizer.piece(token_id).decode("utf-8", "replace")
    return text in (f"{AS_ID}{token_id}", piece) or (_is_piece(text) and text == tokenizer.vocab_piece(token_id))


def _is_piece(text: Any) -> bool:
    """Whether this can only be a vocabulary's own spelling: a blank or a line's end in it is another character."""
    return isinstance(text, str) and not VOCABULARY_MARKS.isdisjoint(text)


def _id_of(tokenizer: Tokenizer, text: Any) -> int | None:
    if not isinstance(text, str):
        return None
    if text.startswith(AS_ID) and text[len(AS_ID) :].isdigit():
        return int(text[len(AS_ID) :])
    known = tokenizer.id_of(text.encode("utf-8", "replace"))
    return _vocabulary(tokenizer).get(text) if known is None and _is_piece(text) else known


@lru_cache(maxsize=4)
def _vocabulary(tokenizer: Tokenizer) -> Mapping[str, int]:
    """Tokens as some servers spell them: by the vocabulary's own pieces (``\u0120the``)."""
    return {tokenizer.vocab_piece(token_id): token_id for token_id in range(tokenizer.vocab_size)}


def _at(values: Sequence[Any] | None, place: int | None) -> Any:
    return values[place] if values is not None and place is not None and place < len(values) else None
