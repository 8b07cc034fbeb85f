"""The alignment strip: truth, sent and got, token by token, around the first divergence.

Pure data made from an observation; every report shows the same strip in its own way. What happened is put into one
sentence by ``fakellm.diagnosis``, whatever check failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..capture import CapturedChoice
from ..diagnosis import MISSING, Cell, diagnose, finite, same_cell
from .finding import Finding
from .observation import Observation

BEFORE, AFTER = 3, 5
"""Tokens shown before and after the first divergence."""


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
        return finite(asdict(self))


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
    differing = [place for place in range(total) if not same_cell(_at(truth, place), _at(got, place))]
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


def _pieces(observation: Observation, choice: int, of: str) -> Sequence[str]:
    if of == "prompt":
        return observation.truth.prompt_texts
    truth = _choice_at(observation.truth.capture.by_index(), choice)
    return [str(text) for text in (truth.token_texts if truth and truth.token_texts else ())]
