"""What leaves together: the chunks of one choice, made of its told steps.

A step whose text waits for the end of a tool call leaves with the call, ids, scores and all. A step may also
leave in several chunks (text, call, text): the first carries its ids and scores, the last its end. Streams drop chunks
that say nothing; whole answers are the sum of all. Knows no JSON but nvext's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
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


def chunks_of(choice: ToldChoice, told: Told, extension: Extension, facts: Facts) -> Iterator[Chunk]:
    """Every chunk of a choice, those that say nothing too."""
    span = scores_from = 0
    called = False
    for step in choice.steps:
        held = any("held" in part.marks for part in step.parts or ())
        if held and step.finish_reason is None:
            continue
        pieces = _pieces(step)
        called = called or any(piece.calls for piece in pieces)
        finish = None
        if step.finish_reason is not None:
            finish = Finish(step.finish_reason, step.stop_reason, told.prompt_of(choice))
        ids = None if choice.ids is None else choice.ids[span : step.ids[1]]
        scores = _scores(choice, scores_from, step.scores[1])
        for number, piece in enumerate(pieces):
            first, last = number == 0, number == len(pieces) - 1
            yield Chunk(
                choice=choice.index,
                content=piece.content,
                reasoning=piece.reasoning,
                calls=piece.calls,
                ids=tuple(ids or ()) if first else (),
                scores=scores if first else None,
                nvext=nvext.told(extension, facts, ids, finish) if first else {},
                finish_reason=_reason(step.finish_reason, called) if last else None,
                span=(span, step.tokens[1]) if first else (step.tokens[1], step.tokens[1]),
                so_far=(step.ids[1], step.reasoning_tokens or 0),
                due_ms=step.due_ms,
            )
        span, scores_from = step.ids[1], step.scores[1]


def _scores(choice: ToldChoice, start: int, end: int) -> tuple[Score | None, ...] | None:
    """The scores of a span; None when none were asked for or the worker withheld all."""
    if choice.scores is None or not any(choice.scores[start:end]):
        return None
    return choice.scores[start:end]


def _reason(reason: str | None, called: bool) -> str | None:
    if reason == "stop" and called:
        return "tool_calls"
    return "stop" if reason == "abort" else reason


def _pieces(step: ToldStep) -> list[_Piece]:
    """The step's text in deltas: reasoning and the content after it share one, every group of calls has its own."""
    if step.parts is None:
        return [_Piece(content=step.text or None)]
    pieces: list[_Piece] = []
    current = _Piece()
    for part in step.parts:
        if part.kind == "tool":
            if not pieces or not pieces[-1].calls or current != _Piece():
                pieces += [current] if current != _Piece() else []
                pieces.append(_Piece(content=""))
                current = _Piece()
            pieces[-1] = _Piece("", "", (*pieces[-1].calls, part))
        elif part.kind == "reasoning":
            current = _Piece(current.content, current.reasoning + part.text)
        elif "held" not in part.marks:
            current = _Piece((current.content or "") + part.text, current.reasoning)
    return [*pieces, current] if current != _Piece() or not pieces else pieces
