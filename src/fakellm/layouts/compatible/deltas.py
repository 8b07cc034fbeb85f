"""What a choice says, delta by delta: the same for whole answers (their sum) and streams (one chunk each).

Scores of steps that show no text ride on the next delta, stand alone, or are lost, as the server's traits say; those
of a held tool call go with the call. Knows no JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...told import Part, Score, ToldChoice, ToldStep
from .traits import Traits


@dataclass(frozen=True, slots=True)
class Delta:
    """One delta. ``scores``: of these tokens, () = none; ``end``: the finish reason, on the last delta only."""

    choice: int
    content: str = ""
    reasoning: str = ""
    calls: tuple[Part, ...] = ()
    ids: tuple[Any, ...] = ()
    scores: tuple[Score | None, ...] = ()
    end: str | None = None
    span: tuple[int, int] = (0, 0)
    due_ms: float = 0.0


def deltas_of(choice: ToldChoice, traits: Traits, *, stream: bool) -> Iterator[Delta]:
    """Every delta of a choice; the last one says how it ended and has no text (None where the engine failed)."""
    pending = _Pending(choice)
    called = False
    due = 0.0
    for step in choice.steps:
        content, reasoning, calls = _joined(step)
        called, due = called or bool(calls), step.due_ms
        pending.add(step)
        if traits.content_only and _writes_no_text(step, content, reasoning, calls):
            pending.lose_scores()
        if content or reasoning or calls:
            yield pending.delta(choice.index, due, content=content, reasoning=reasoning, calls=calls)
        elif _held(step):
            continue
        elif traits.lonely == "alone" and pending.tokens and step.finish_reason is None:
            yield pending.delta(choice.index, due)
        elif traits.lonely == "lost" and stream:
            pending.lose_scores()
    if traits.content_only:
        pending.lose_scores()
    if choice.failure is None:
        yield pending.delta(choice.index, due, end=reason_of(choice, called, traits))


def reason_of(choice: ToldChoice, called: bool, traits: Traits) -> str:
    """The finish reason in this server's words."""
    reason = choice.finish_reason or "stop"
    if called and reason == "stop":
        return "tool_calls"
    if reason == "stop" and not isinstance(choice.stop_reason, str) and "eos" in traits.finish_reasons:
        return traits.finish_reasons["eos"]
    return traits.finish_reasons.get(reason, "stop" if reason == "abort" else reason)


def _held(step: ToldStep) -> bool:
    return any("held" in part.marks for part in step.parts or ())


def _writes_no_text(step: ToldStep, content: str, reasoning: str, calls: tuple[Part, ...]) -> bool:
    """Whether the step is reasoning, a mark or part of a call. A step without any text may be a piece of a character,
    whose score the character takes along."""
    return not content and bool(reasoning or calls or step.text or _held(step))


def _joined(step: ToldStep) -> tuple[str, str, tuple[Part, ...]]:
    if step.parts is None:
        return step.text, "", ()
    content = "".join(part.text for part in step.parts if part.kind == "content")
    reasoning = "".join(part.text for part in step.parts if part.kind == "reasoning")
    return content, reasoning, tuple(part for part in step.parts if part.kind == "tool")


class _Pending:
    """Tokens that no delta has told yet."""

    def __init__(self, choice: ToldChoice) -> None:
        self._choice = choice
        self._first = self._last = 0
        self._ids: list[Any] = []
        self._scores: list[Score | None] = []

    @property
    def tokens(self) -> bool:
        return bool(self._ids or self._scores)

    def add(self, step: ToldStep) -> None:
        self._last = step.tokens[1]
        self._ids += (self._choice.ids or ())[step.ids[0] : step.ids[1]]
        self._scores += (self._choice.scores or ())[step.scores[0] : step.scores[1]]

    def lose_scores(self) -> None:
        self._scores.clear()

    def delta(self, choice: int, due_ms: float, **what: Any) -> Delta:
        made = Delta(
            choice,
            ids=tuple(self._ids),
            scores=tuple(self._scores),
            span=(self._first, self._last),
            due_ms=due_ms,
            **what,
        )
        self._first = self._last
        self._ids.clear()
        self._scores.clear()
        return made
