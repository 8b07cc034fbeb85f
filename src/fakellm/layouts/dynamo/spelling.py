"""Scores as Dynamo writes them: float32, the text of each id alone, nothing at all for what is not shown.

The sampled token's text is what the frontend shows of it: "" and null bytes for special tokens and for the token that
ended the answer, U+FFFD for half a character. Alternatives are the worker's, special tokens literally. Chat writes the
shortest float32, completions' alternatives and nvext the same number widened to a double.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from ...ask import Ask
from ...generation import Candidate, Token
from ...tokenizer import Tokenizer
from ...told import Score
from ...wire import float32


class Spelling:
    """Spells tokens of one station."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._texts: dict[int, str] = {}

    def sampled(self, token: Token, ask: Ask, *, hidden: bool) -> Score | None:
        """None where the worker withheld the score."""
        if token.logprob is None:
            return None
        special = token.id in self._tokenizer.special_ids and ask.sampling.skip_special_tokens
        text = "" if hidden or special else self.text(token.id)
        if ask.wants.tokens_as_ids:
            text = f"token_id:{token.id}"
        return Score(
            id=token.id,
            token=text,
            bytes=tuple(text.encode()) or None,
            logprob=_told(token.logprob, ask.api),
            rank=token.rank,
            top=tuple(self._alternative(one, ask) for one in token.top[: ask.wants.top_logprobs]),
        )

    def prompt(self, token: Token, ask: Ask) -> Score:
        """A prompt token with its alternatives, as the worker told them."""
        count = ask.wants.prompt_logprobs or 0
        own = Score(token.id, self.text(token.id), None, token.logprob, token.rank)
        others = (one for one in token.top[:count] if one.id != token.id)
        top = (own, *(Score(one.id, self.text(one.id), None, one.logprob, one.rank) for one in others))
        return Score(token.id, own.token, None, token.logprob, token.rank, top)

    def _alternative(self, candidate: Candidate, ask: Ask) -> Score:
        text = f"token_id:{candidate.id}" if ask.wants.tokens_as_ids else self.text(candidate.id)
        return Score(candidate.id, text, tuple(text.encode()), candidate.logprob, candidate.rank)

    def text(self, token_id: int | None) -> str:
        """The text of an id alone, special tokens literally."""
        if token_id is None:
            return ""
        if token_id not in self._texts:
            self._texts[token_id] = self._tokenizer.piece(token_id).decode("utf-8", "replace")
        return self._texts[token_id]


def _told(logprob: float, api: str) -> float | None:
    """The sampled token's score as its route writes it, so that what is told is what stands on the wire."""
    if api == "generate":
        return logprob
    return widened(logprob) if api == "tito" else narrowed(logprob)


def widened(logprob: float | None) -> float | None:
    """The number as a 32-bit float, widened to a double.

    >>> widened(-0.0526)
    -0.05260000005364418
    """
    return None if logprob is None else float(struct.unpack("<f", struct.pack("<f", logprob))[0])


def narrowed(logprob: float | None) -> float | None:
    """The number in the shortest spelling of a 32-bit float."""
    return None if logprob is None else float32(logprob)


def entries(scores: Sequence[Score | None]) -> list[dict[str, Any]]:
    """Chat's entries. What the worker withheld has none: the list is shorter then, and nothing says so."""
    return [
        {
            "token": score.token,
            "logprob": narrowed(score.logprob),
            "token_id": score.id,
            "bytes": None if score.bytes is None else list(score.bytes),
            "top_logprobs": [
                {"token": one.token, "logprob": narrowed(one.logprob), "bytes": list(one.bytes or ())}
                for one in score.top or ()
            ],
        }
        for score in scores
        if score is not None
    ]


def prompt_rows(
    scores: Sequence[Score | None], spell: Callable[[float | None], float | None]
) -> list[dict[str, Any] | None]:
    """Prompt scores, keyed by id; null where there is none."""
    return [
        None
        if score is None
        else {
            str(one.id): {"logprob": spell(one.logprob), "rank": one.rank, "decoded_token": one.token}
            for one in score.top or ()
        }
        for score in scores
    ]
