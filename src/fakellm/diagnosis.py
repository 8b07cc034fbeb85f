"""What happened to a row of ids or scores, in one sentence: "scores are shifted by one from position 17".

Compares two sequences and knows nothing of who sent which; reports, the pytest plugin and the inspector all speak with
these words. Values that are not there at all are the word ``absent`` (:data:`MISSING`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .capture import float32

MISSING = "absent"


@dataclass(frozen=True, slots=True)
class Cell:
    """One side at one position; a value that has no such position is the word ``absent``."""

    id: Any
    logprob: Any


def same_cell(one: Cell, other: Cell) -> bool:
    """Whether id and score are the same."""
    return one.id == other.id and same_score(one.logprob, other.logprob)


def same_score(one: Any, other: Any) -> bool:
    """Whether two scores are the same after rounding to float32, the precision servers compute in."""
    if isinstance(one, float | int) and isinstance(other, float | int):
        return (math.isnan(one) and math.isnan(other)) or float32(float(one)) == float32(float(other))
    return one == other


def diagnose(truth: Sequence[Any], got: Sequence[Any], noun: str) -> str | None:
    """One sentence about how ``got`` differs from ``truth``; None when it does not, or when there is nothing to say.

    >>> diagnose([-1.0, -2.0, -3.0, -4.0], [-1.0, -3.0, -4.0], "scores")
    'one of the scores is lost: position 1 of 4'
    """
    truth = [value for value in truth if value is not MISSING]
    got = [value for value in got if value is not MISSING]
    if not got and truth:
        return f"all {len(truth)} {noun} are lost"
    first = next((place for place in range(max(len(truth), len(got))) if not _equal_at(truth, got, place)), None)
    if first is None:
        return None
    for sentence in (_doubled, _cut_or_lost, _shifted, _extra):
        found = sentence(truth, got, first, noun)
        if found:
            return found
    return f"{noun} differ from position {first} on"


def _equal_at(truth: Sequence[Any], got: Sequence[Any], place: int) -> bool:
    return place < len(truth) and place < len(got) and same_score(truth[place], got[place])


def _all_same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(map(same_score, one, other))


def _doubled(truth: Sequence[Any], got: Sequence[Any], first: int, noun: str) -> str | None:
    return f"all {noun} are there twice" if truth and _all_same([*truth, *truth], got) else None


def _cut_or_lost(truth: Sequence[Any], got: Sequence[Any], first: int, noun: str) -> str | None:
    lost = len(truth) - len(got)
    if lost <= 0:
        return None
    if first == len(got):
        last = "the last of the" if lost == 1 else f"the last {lost}"
        return f"{last} {noun} {'is' if lost == 1 else 'are'} lost: {len(got)} of {len(truth)} are there"
    if _all_same(truth[first + lost :], got[first:]):
        if lost == 1:
            return f"one of the {noun} is lost: position {first} of {len(truth)}"
        return f"{lost} {noun} are lost: positions {first} to {first + lost - 1} of {len(truth)}"
    return None


def _shifted(truth: Sequence[Any], got: Sequence[Any], first: int, noun: str) -> str | None:
    span = min(len(truth), len(got)) - first
    for by in (1, 2, 3):
        if span - by >= 2 and _all_same(
            truth[first : len(got) - by], got[first + by :][: len(truth[first : len(got) - by])]
        ):
            return f"{noun} are shifted by {_number(by)} from position {first}"
        later = truth[first + by :]
        if len(later) >= 2 and _all_same(later, got[first : first + len(later)]):
            return f"{noun} are shifted by {_number(by)} from position {first}"
    return None


def _extra(truth: Sequence[Any], got: Sequence[Any], first: int, noun: str) -> str | None:
    more = len(got) - len(truth)
    if more <= 0 or first != len(truth):
        return None
    return f"{more} {noun} too many: {len(got)} for {len(truth)}"


def _number(count: int) -> str:
    return ("zero", "one", "two", "three")[count]


def finite(value: Any) -> Any:
    """The same data without numbers that JSON cannot hold: those become words."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
    return value
