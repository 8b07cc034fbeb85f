"""What a parser sees of one step: its own text and ids, and everything before it.

Old parsers look at the text so far and at the ids; both grow with every step and may be cut off when reasoning ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from .deltas import Delta


@dataclass(frozen=True, slots=True)
class Step:
    """One step in its place. ``text`` and ``ids`` are its own; ``before`` and ``ids_before`` what came earlier;
    ``so_far`` and ``ids_so_far`` both together (not always their sum: a parser may have been handed a rest)."""

    text: str
    ids: Sequence[int]
    before: str = ""
    ids_before: Sequence[int] = ()
    so_far: str = ""
    ids_so_far: Sequence[int] = ()


class ReasoningParser(Protocol):
    """Takes reasoning apart from content: in a whole text, and step by step."""

    def whole(self, text: str) -> tuple[str | None, str | None]:
        """(reasoning, content) of a whole text; None = null."""
        ...

    def step(self, step: Step) -> Delta | None: ...

    def ended(self, ids: Sequence[int]) -> bool:
        """Do these ids (a prompt, or what was generated) end the reasoning?"""
        ...

    def ended_in(self, ids: Sequence[int]) -> bool:
        """Does the reasoning end in this step?"""
        ...

    def content_ids(self, ids: Sequence[int]) -> list[int]:
        """The ids after the mark that ends the reasoning."""
        ...

    def finish(self) -> Delta | None:
        """What is still held back when the reasoning, or the answer, ends."""
        ...

    def count(self, ids: Sequence[int]) -> int:
        """How many of the generated ids are reasoning."""
        ...

    def counted(self, ids: Sequence[int]) -> int:
        """How many were reasoning up to this step, whose ids these are."""
        ...


class ToolParser(Protocol):
    """Takes tool calls out of content: of a whole text, and step by step."""

    sent: list[str]
    """The arguments that were sent, a call each."""

    @property
    def begun(self) -> bool:
        """Has a tool call been seen?"""
        ...

    def whole(self, text: str) -> tuple[list[tuple[str, str]] | None, str | None]:
        """(calls as name and arguments, the content beside them); None = no calls were found."""
        ...

    def step(self, step: Step) -> Delta | None: ...

    def expected(self) -> tuple[int, str] | None:
        """Index and arguments of the last call as far as it was read, for servers that send the rest (to 0.20.2)."""
        ...

    def finish(self) -> Delta | None: ...
