"""Editing the sequences of a Told: ids and scores, seen as one list per step, so that spans stay right by themselves.

Every function takes a Told or a choice and returns a new one; a sequence that is not there (None) is left alone. The
truth is not reachable from here. Knows no layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from ..told import Score, Told, ToldChoice, ToldPrompt
from .base import AtToken, out_of_range

Kind = Literal["ids", "scores"]
Pieces = list[list[Any]]
"""A sequence of a choice, one list per step. A choice without steps has one piece that belongs to no step."""


def map_choices(told: Told, choice: int | None, change: Callable[[ToldChoice], ToldChoice]) -> Told:
    """Change one choice (by its index), or every choice."""
    return told.with_choices(
        tuple(change(each) if choice is None or each.index == choice else each for each in told.choices)
    )


def map_prompts(told: Told, change: Callable[[ToldPrompt], ToldPrompt]) -> Told:
    """Change every prompt."""
    return replace(told, prompts=tuple(change(prompt) for prompt in told.prompts))


def sequence(choice: ToldChoice, kind: Kind) -> tuple[Any, ...] | None:
    """The whole sequence, None when it is not there."""
    return choice.ids if kind == "ids" else choice.scores


def pieces_of(choice: ToldChoice, kind: Kind) -> Pieces | None:
    """The sequence, one list per step; None when it is not there."""
    values = sequence(choice, kind)
    if values is None:
        return None
    if not choice.steps:
        return [list(values)]
    spans = [step.ids if kind == "ids" else step.scores for step in choice.steps]
    return [list(values[first:last]) for first, last in spans]


def with_pieces(choice: ToldChoice, kind: Kind, pieces: Pieces) -> ToldChoice:
    """The choice with another sequence; ``pieces`` has one list per step, and the steps' spans follow."""
    flat = tuple(value for piece in pieces for value in piece)
    steps = list(choice.steps)
    first = 0
    for number, piece in enumerate(pieces[: len(steps)]):
        span = (first, first + len(piece))
        steps[number] = replace(steps[number], ids=span) if kind == "ids" else replace(steps[number], scores=span)
        first = span[1]
    if kind == "ids":
        return replace(choice, ids=flat, steps=tuple(steps))
    return replace(choice, scores=flat, steps=tuple(steps))


def change_pieces(choice: ToldChoice, kind: Kind, change: Callable[[Pieces], Pieces]) -> ToldChoice:
    """Rebuild a sequence step by step, where it is there."""
    pieces = pieces_of(choice, kind)
    return choice if pieces is None else with_pieces(choice, kind, change(pieces))


def map_values(choice: ToldChoice, kind: Kind, change: Callable[[Any], Any]) -> ToldChoice:
    """Change every value and keep their number."""
    return change_pieces(choice, kind, lambda pieces: [[change(value) for value in piece] for piece in pieces])


def place(length: int, at: int) -> int | None:
    """The index that ``at`` means in a sequence of this length (-1 = last), None when it has no such position.

    >>> place(4, -1), place(4, 7), place(0, -1)
    (3, None, None)
    """
    index = at if at >= 0 else length + at
    return index if 0 <= index < length else None


def find(pieces: Pieces, index: int) -> tuple[int, int]:
    """(step, offset) of a flat index that exists."""
    for number, piece in enumerate(pieces):
        if index < len(piece):
            return number, index
        index -= len(piece)
    raise IndexError(index)


def replace_at(told: Told, parameters: AtToken, kind: Kind, change: Callable[[Any], Sequence[Any]]) -> Told:
    """Replace the value at a position by others (none = it is dropped), in the choices that the parameters name.

    Raises FaultError when the position lies outside of every sequence; sequences that are not there do not count.
    """
    lengths: list[int] = []
    reached: list[int] = []

    def change_choice(choice: ToldChoice) -> ToldChoice:
        pieces = pieces_of(choice, kind)
        if pieces is None:
            return choice
        lengths.append(sum(map(len, pieces)))
        index = place(lengths[-1], parameters.at)
        if index is None:
            return choice
        reached.append(index)
        number, offset = find(pieces, index)
        pieces[number][offset : offset + 1] = change(pieces[number][offset])
        return with_pieces(choice, kind, pieces)

    changed = map_choices(told, parameters.choice, change_choice)
    if any(lengths) and not reached:
        raise out_of_range("ids" if kind == "ids" else "scores", parameters.at, max(lengths))
    return changed


def cumulated(pieces: Pieces) -> Pieces:
    """Every step tells everything so far.

    >>> cumulated([[1], [2, 3]])
    [[1], [1, 2, 3]]
    """
    so_far: list[Any] = []
    out: Pieces = []
    for piece in pieces:
        so_far = [*so_far, *piece]
        out.append(so_far)
    return out


def map_scores(choice: ToldChoice, change: Callable[[Score], Score | None]) -> ToldChoice:
    """Change every score entry that is there."""
    return map_values(choice, "scores", lambda score: change(score) if isinstance(score, Score) else score)
