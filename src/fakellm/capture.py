"""What somebody read off an answer: the one form in which readers, adapters, checks and fixtures speak of tokens.

A :class:`Capture` holds, per choice, prompt ids, completion ids, logprobs, text and finish_reason, each possibly None
("not there" or "not exposed"), which differs from an empty tuple ("there, and empty"). Types are loose on purpose: a
client that hands on string ids or a null score is reported as it is. This module is pure; it knows no wire.

>>> Capture.from_json([{"index": 0, "completion_token_ids": [5, 2], "logprobs": [-0.5, "NaN"]}]).choices[0].logprobs
(-0.5, nan)
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

EMPTY: Mapping[str, Any] = MappingProxyType({})
VALUES = ("prompt_token_ids", "completion_token_ids", "logprobs", "text", "finish_reason")
"""The values that a client may declare in ``supports.captures``."""
_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(frozen=True, slots=True)
class Alternative:
    """One entry of a list of alternatives, in the order in which it was read. What is not known is None."""

    id: Any = None
    token: str | None = None
    logprob: Any = None
    rank: int | None = None


Alternatives = tuple[Alternative, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedChoice:
    """One choice as read. Sequences are tuples of whatever stood there; None = not there.

    ``top_logprobs``: one entry per completion token (None = no list there). ``prompt_logprobs``: one entry per prompt
    token, None where there is no score (healthy servers: the first); the order of the alternatives is kept because
    it carries rank. ``token_texts``: one string per token. ``weight_versions``: as the server told them.
    """

    index: Any = 0
    prompt_token_ids: tuple[Any, ...] | None = None
    completion_token_ids: tuple[Any, ...] | None = None
    logprobs: tuple[Any, ...] | None = None
    text: str | None = None
    finish_reason: Any = None
    top_logprobs: tuple[Alternatives | None, ...] | None = None
    prompt_logprobs: tuple[Alternatives | None, ...] | None = None
    token_texts: tuple[Any, ...] | None = None
    weight_versions: tuple[Any, ...] | None = None

    @classmethod
    def from_json(cls, row: Mapping[str, Any], *, place: int = 0) -> CapturedChoice:
        """Read one element of an adapter's ``captured`` list (already valid against the protocol's schema)."""
        exact = row.get("logprobs_exact")
        logprobs = row.get("logprobs") if exact is None else exact
        return cls(
            index=row.get("index", place),
            prompt_token_ids=_sequence(row.get("prompt_token_ids")),
            completion_token_ids=_sequence(row.get("completion_token_ids")),
            logprobs=None
            if logprobs is None
            else tuple(_exact(value) if exact is not None else _number(value) for value in logprobs),
            text=row.get("text"),
            finish_reason=row.get("finish_reason"),
            top_logprobs=_alternatives(row.get("top_logprobs")),
            prompt_logprobs=_alternatives(row.get("prompt_logprobs")),
            token_texts=_sequence(row.get("token_texts")),
            weight_versions=_sequence(row.get("weight_versions")),
        )

    def to_json(self) -> dict[str, Any]:
        """The same in the protocol's spelling; optional values only where they are there."""
        row: dict[str, Any] = {
            "index": self.index,
            "prompt_token_ids": _listed(self.prompt_token_ids),
            "completion_token_ids": _listed(self.completion_token_ids),
            "logprobs": _listed(self.logprobs),
            "text": self.text,
            "finish_reason": self.finish_reason,
        }
        for name in ("top_logprobs", "prompt_logprobs"):
            entries: tuple[Alternatives | None, ...] | None = getattr(self, name)
            if entries is not None:
                row[name] = [None if entry is None else [_spelled(one) for one in entry] for entry in entries]
        for name in ("token_texts", "weight_versions"):
            if getattr(self, name) is not None:
                row[name] = list(getattr(self, name))
        return row


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """A whole answer as read: choices in the order in which they were read, usage as told (None = not there)."""

    choices: tuple[CapturedChoice, ...] = ()
    usage: Mapping[str, Any] | None = None
    extras: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    @classmethod
    def from_json(cls, rows: Sequence[Mapping[str, Any]], usage: Mapping[str, Any] | None = None) -> Capture:
        """Read an adapter's ``captured`` list. ``usage`` stands beside the list or, in some adapters, in it."""
        inside = next((row["usage"] for row in rows if row.get("usage") is not None), None)
        choices = tuple(CapturedChoice.from_json(row, place=place) for place, row in enumerate(rows))
        return cls(choices=choices, usage=usage if usage is not None else inside)

    def to_json(self) -> list[dict[str, Any]]:
        """The ``captured`` list of the protocol (usage apart)."""
        return [choice.to_json() for choice in self.choices]

    def by_index(self) -> tuple[CapturedChoice, ...]:
        """Choices in the order of their index: the order in which captured and sent ones are matched."""
        return tuple(sorted(self.choices, key=lambda choice: _order(choice.index)))


def float32(value: float) -> float:
    """A double rounded to float32 and widened again: the precision that every server computes in.

    >>> float32(0.1)
    0.10000000149011612
    """
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _order(index: Any) -> tuple[int, float, str]:
    return (0, float(index), "") if isinstance(index, int | float) and not math.isnan(index) else (1, 0.0, str(index))


def _sequence(value: Any) -> tuple[Any, ...] | None:
    return None if value is None else tuple(value)


def _number(value: Any) -> Any:
    return _NON_FINITE.get(value, value) if isinstance(value, str) else value


def _exact(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value


def _alternatives(value: Any) -> tuple[Alternatives | None, ...] | None:
    return None if value is None else tuple(None if entry is None else _entry(entry) for entry in value)


def _entry(entry: Any) -> Alternatives:
    if not isinstance(entry, list | tuple):
        return (Alternative(logprob=_number(entry)),)
    rows = cast(Sequence[Mapping[str, Any]], entry)
    return tuple(
        Alternative(row.get("id"), row.get("token"), _number(row.get("logprob")), row.get("rank")) for row in rows
    )


def _spelled(one: Alternative) -> dict[str, Any]:
    row: dict[str, Any] = {"id": one.id, "token": one.token, "logprob": _spell(one.logprob)}
    return row if one.rank is None else {**row, "rank": one.rank}


def _spell(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _listed(values: tuple[Any, ...] | None) -> list[Any] | None:
    return None if values is None else [_spell(value) for value in values]
