"""Scores as OpenAI-like servers write them: the members that a server's traits name, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...ask import Ask
from ...generation import Candidate, Token
from ...tokenizer import Tokenizer
from ...told import Score
from .traits import Traits


class Spelling:
    """Spells tokens of one server."""

    def __init__(self, tokenizer: Tokenizer, traits: Traits) -> None:
        self._tokenizer = tokenizer
        self._traits = traits
        self._texts: dict[int, str] = {}

    def sampled(self, token: Token, ask: Ask, *, hidden: bool) -> Score | None:
        """The entry of a sampled token, with its alternatives as this server lists them."""
        own = self._score(token.id, token.logprob, token.rank)
        count = ask.wants.top_logprobs
        listed = [self._score(one.id, one.logprob, one.rank) for one in token.top[:count]]
        if self._traits.alternatives == "without-sampled":
            listed = [one for one in listed if one.id != token.id]
        if self._traits.alternatives == "instead" and listed:
            own = listed[0]
        return Score(own.id, own.token, own.bytes, own.logprob, own.rank, tuple(listed))

    def prompt(self, token: Token, ask: Ask) -> Score:
        """The entry of a prompt token, with as many alternatives as were asked for."""
        own = self._score(token.id, token.logprob, token.rank)
        listed = (self._score(one.id, one.logprob, one.rank) for one in token.top[: ask.wants.prompt_logprobs or 0])
        return replace(own, top=tuple(listed))

    def candidate(self, candidate: Candidate) -> Score:
        """The entry of an alternative."""
        return self._score(candidate.id, candidate.logprob, candidate.rank)

    def _score(self, token_id: int | None, logprob: float | None, rank: int | None) -> Score:
        piece = b"" if token_id is None else self._tokenizer.piece(token_id)
        return Score(token_id, self.text(token_id), tuple(piece), self._told(logprob), rank)

    def _told(self, logprob: float | None) -> float | None:
        sentinel = self._traits.sentinel
        if sentinel is None:
            return logprob
        return sentinel if logprob is None or not logprob > sentinel else logprob

    def text(self, token_id: int | None) -> str:
        """The text of an id alone."""
        if token_id is None:
            return ""
        if token_id not in self._texts:
            self._texts[token_id] = self._spelled(token_id)
        return self._texts[token_id]

    def _spelled(self, token_id: int) -> str:
        piece = self._tokenizer.piece(token_id)
        if self._traits.fragments == "vocabulary":
            return self._tokenizer.vocab_piece(token_id)
        try:
            return piece.decode("utf-8")
        except UnicodeDecodeError:
            if self._traits.fragments == "escaped":
                return "bytes:" + "".join(f"\\x{byte:02x}" for byte in piece)
            return piece.decode("utf-8", "replace")


def entries(scores: Sequence[Score | None], traits: Traits, *, top: bool) -> list[dict[str, Any] | None]:
    """Chat's entries; None stays null. ``top``: alternatives were asked for."""
    return [None if score is None else _entry(score, traits, top=top) for score in scores]


def _entry(score: Score, traits: Traits, *, top: bool) -> dict[str, Any]:
    entry = traits.entry
    members = {name: _member(score, name) for name in entry.members if name != "top_logprobs"}
    if "top_logprobs" in entry.members and (top or not traits.sparse):
        listed = [{name: _member(one, name) for name in entry.alternative} for one in score.top or ()]
        members["top_logprobs"] = listed
    return {**members, **entry.extra}


def _member(score: Score, name: str) -> Any:
    if name == "bytes":
        return None if score.bytes is None else list(score.bytes)
    return {"token": score.token, "logprob": score.logprob, "token_id": score.id, "id": score.id}.get(
        name, score.logprob
    )


def legacy(scores: Sequence[Score | None], traits: Traits, offset: int, *, top: bool) -> dict[str, Any]:
    """The parallel lists of completions. ``offset``: characters of text before the first token."""
    offsets: list[int] = []
    for score in scores:
        offsets.append(offset)
        offset += len(score.token) if score is not None else 0
    tops = [None if score is None else {one.token: one.logprob for one in score.top or ()} for score in scores]
    value: dict[str, Any] = {
        "tokens": [None if score is None else score.token for score in scores],
        "token_logprobs": [None if score is None else score.logprob for score in scores],
        "top_logprobs": tops if top else None,
        "text_offset": offsets,
    }
    if "token_id" in traits.entry.members:
        value["token_ids"] = [None if score is None else score.id for score in scores]
    return value
