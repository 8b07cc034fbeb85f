"""The alignment strip: truth, sent and got, token by token, around the first divergence.

Pure data made from an observation; every report shows the same strip in its own way. ``diagnose`` puts the damage into
one sentence ("scores are shifted by one from position 17") by comparing the two sequences, whatever check failed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..capture import CapturedChoice, float32
from .finding import Finding
from .observation import Observation

BEFORE, AFTER = 3, 5
"""Tokens shown before and after the first divergence."""
MISSING = "absent"


@dataclass(frozen=True, slots=True)
class Cell:
    """One side at one position; a value that has no such position is the word ``absent``."""

    id: Any
    logprob: Any


@dataclass(frozen=True, slots=True)
class Row:
    """One position. ``differs``: what the client got there is not what the oracle holds against it."""

    position: int
    piece: str
    truth: Cell
    sent: Cell
    got: Cell
    differs: bool


@dataclass(frozen=True, slots=True)
class Strip:
    """A window of rows. ``of``: completion or prompt. ``total``: rows in all. ``first``: the first divergence."""

    choice: int
    of: str
    total: int
    first: int
    rows: tuple[Row, ...]
    diagnosis: str

    def to_json(self) -> dict[str, Any]:
        return _finite(asdict(self))


def strip_of(observation: Observation, finding: Finding, *, before: int = BEFORE, after: int = AFTER) -> Strip | None:
    """The strip of a finding; None where there is no capture to compare or nothing diverges token by token."""
    got_capture = observation.ending.capture or (observation.downstream.capture if observation.downstream else None)
    if got_capture is None:
        return None
    of = "prompt" if "prompt" in finding.where or "prompt" in finding.check else "completion"
    choice = finding.choice or 0
    sides = [
        _tokens(_choice_at(capture.by_index(), choice), of)
        for capture in (
            observation.truth.capture,
            observation.sent.capture if observation.sent else observation.truth.capture,
            got_capture,
        )
    ]
    truth, sent, got = sides
    total = max(len(side) for side in sides)
    if total == 0:
        return None
    differing = [place for place in range(total) if not _same(_at(truth, place), _at(got, place))]
    first = finding.position if finding.position is not None else (differing[0] if differing else None)
    if first is None:
        return None
    pieces = _pieces(observation, choice, of)
    start, end = max(0, first - before), min(total, first + after + 1)
    rows = tuple(
        Row(
            place,
            pieces[place] if place < len(pieces) else "",
            _at(truth, place),
            _at(sent, place),
            _at(got, place),
            place in differing,
        )
        for place in range(start, end)
    )
    told = diagnose([cell.id for cell in truth], [cell.id for cell in got], "ids")
    if told is None and of == "completion":
        told = diagnose([cell.logprob for cell in truth], [cell.logprob for cell in got], "scores")
    told = told or finding.diagnosis
    return Strip(choice, of, total, first, rows, told or "")


def _choice_at(choices: Sequence[CapturedChoice], place: int) -> CapturedChoice | None:
    return choices[place] if place < len(choices) else None


def _tokens(choice: CapturedChoice | None, of: str) -> tuple[Cell, ...]:
    if choice is None:
        return ()
    if of == "prompt":
        return tuple(Cell(id_, None) for id_ in choice.prompt_token_ids or ())
    ids, scores = choice.completion_token_ids, choice.logprobs
    length = max(len(ids or ()), len(scores or ()))
    return tuple(Cell(_value(ids, place), _value(scores, place)) for place in range(length))


def _value(values: Sequence[Any] | None, place: int) -> Any:
    return values[place] if values is not None and place < len(values) else MISSING


def _at(side: Sequence[Cell], place: int) -> Cell:
    return side[place] if place < len(side) else Cell(MISSING, MISSING)


def _same(one: Cell, other: Cell) -> bool:
    return one.id == other.id and same_score(one.logprob, other.logprob)


def same_score(one: Any, other: Any) -> bool:
    """Whether two scores are the same after rounding to float32, the precision servers compute in."""
    if isinstance(one, float | int) and isinstance(other, float | int):
        return (math.isnan(one) and math.isnan(other)) or float32(float(one)) == float32(float(other))
    return one == other


def _pieces(observation: Observation, choice: int, of: str) -> Sequence[str]:
    if of == "prompt":
        return observation.truth.prompt_texts
    truth = _choice_at(observation.truth.capture.by_index(), choice)
    return [str(text) for text in (truth.token_texts if truth and truth.token_texts else ())]


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


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
    return value
