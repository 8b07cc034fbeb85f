"""What leaves together: the chunks of one choice, made of its told steps.

A step whose text waits for the end of a tool call leaves with the call, ids, scores and all. A step may also
leave in several chunks (text, call, text): the first carries its ids and scores, the last its end. Streams drop chunks
that say nothing; whole answers are the sum of all. Knows no JSON but nvext's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ...told import Part, Score, Told, ToldChoice, ToldStep
from . import nvext
from .nvext import Extension, Facts, Finish


@dataclass(frozen=True, slots=True)
class Chunk:
    """One delta of one choice. ``content`` None = no such member; ``scores`` None = logprobs null, one None = withheld.
    ``so_far``: completion and reasoning tokens up to here (for continuous usage)."""

    choice: int
    content: str | None = None
    reasoning: str = ""
    calls: tuple[Part, ...] = ()
    ids: tuple[Any, ...] = ()
    scores: tuple[Score | None, ...] | None = None
    nvext: dict[str, Any] = field(default_factory=dict[str, Any])
    finish_reason: str | None = None
    span: tuple[int, int] = (0, 0)
    so_far: tuple[int, int] = (0, 0)
    due_ms: float = 0.0

    @property
    def says_something(self) -> bool:
        """Streams leave out a chunk that does not."""
        shown = self.content is not None or self.reasoning or self.calls or self.nvext
        return bool(shown) or self.scores is not None or self.finish_reason is not None


@dataclass(frozen=True, slots=True)
class _Piece:
    content: str | None = None
    reasoning: str = ""
    calls: tuple[Part, ...] = ()


@dataclass(slots=True)
class _Untold:
    """What steps have delivered and no chunk has told: spans that begin where the told ones end."""

    ids: int = 0
    scores: int = 0

    def take_ids(self, choice: ToldChoice, end: int) -> tuple[tuple[int, int], tuple[Any, ...] | None]:
        start, self.ids = self.ids, end
        return (start, end), None if choice.ids is None else choice.ids[start:end]

    def take_scores(self, choice: ToldChoice, end: int) -> tuple[Score | None, ...] | None:
        """None when none were asked for or the worker withheld all."""
        start, self.scores = self.scores, end
        if choice.scores is None or not any(choice.scores[start:end]):
            return None
        return choice.scores[start:end]

    def covering(self, choice: ToldChoice, text: str, end: int) -> int:
        """Where the scores end whose tokens write this text, counted in characters as the frontend does."""
        place, length = self.scores, 0
        while choice.scores is not None and place < end and length < len(text):
            score = choice.scores[place]
            length += 0 if score is None else len(score.token)
            place += 1
        return place


def chunks_of(choice: ToldChoice, told: Told, extension: Extension, facts: Facts) -> Iterator[Chunk]:
    """Every chunk of a choice, those that say nothing too."""
    untold = _Untold()
    called = False
    for step in choice.steps:
        pieces, holds = _pieces(step)
        finish = None
        if step.finish_reason is not None:
            finish = Finish(step.finish_reason, step.stop_reason, told.prompt_of(choice))
        for number, piece in enumerate(pieces):
            first, last = number == 0, number == len(pieces) - 1
            called = called or bool(piece.calls)
            span, ids = untold.take_ids(choice, step.ids[1])
            end = step.scores[1]
            if piece.content and first and (holds or not last):
                end = untold.covering(choice, piece.content, end)
            yield Chunk(
                choice=choice.index,
                content=piece.content,
                reasoning=piece.reasoning,
                calls=piece.calls,
                ids=ids or (),
                scores=untold.take_scores(choice, end),
                nvext=nvext.told(extension, facts, ids, finish) if first else {},
                finish_reason=_reason(step.finish_reason, called) if last else None,
                span=span,
                so_far=(step.ids[1], step.reasoning_tokens or 0),
                due_ms=step.due_ms,
            )


def _reason(reason: str | None, called: bool) -> str | None:
    if reason == "stop" and called:
        return "tool_calls"
    return "stop" if reason == "abort" else reason


def _pieces(step: ToldStep) -> tuple[list[_Piece], bool]:
    """The step's text in deltas, and whether the rest of it is held. Reasoning and the content after it share a delta,
    every group of calls has its own. A step of which everything is held has none."""
    if step.parts is None:
        return [_Piece(content=step.text or None)], False
    pieces: list[_Piece] = []
    current = _Piece()
    holds = False
    for part in step.parts:
        holds = "held" in part.marks
        if holds or part.kind == "tool":
            pieces += [current] if current != _Piece() else []
            current = _Piece()
        if part.kind == "tool":
            before = pieces.pop().calls if pieces and pieces[-1].calls else ()
            pieces.append(_Piece(content="", calls=(*before, part)))
        elif part.kind == "reasoning":
            current = replace(current, reasoning=current.reasoning + part.text)
        elif not holds:
            current = replace(current, content=(current.content or "") + part.text)
    if current != _Piece() or not (pieces or holds):
        pieces.append(current)
    return pieces, holds
