"""The fast path: an answer rendered once, then played again with fresh ids and times.

A :class:`Plan` is the bytes of an answer cut at every place where a random id or a time of day stands. It is made by
rendering twice under :class:`MarkedContext` values with different marks: only when both cut to the same pieces is the
plan trusted; a station that computes with its ids simply has no plan. A property test holds plan bytes equal to
freshly rendered bytes. Knows nothing of sockets, scenarios or vendors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .layouts.base import Context
from .message import Frame, Wire

TIME = -1
"""The slot of the time of day (whole seconds); other slots are numbers of ids."""


class MarkedContext:
    """A Context whose ids and times are marks that can be found again in the bytes.

    Marks are hex digits of the asked length; the first is 8, a digit that every vendor's id may start with. ``salt``
    tells two markings apart.
    """

    def __init__(self, salt: int, timing: Any = None) -> None:
        self._salt = salt
        self._timing = timing
        self.second = 3_900_000_000 + salt * 7_000_013
        self.marks: list[str] = []

    def now(self) -> float:
        return float(self.second)

    def hex(self, digits: int) -> str:
        number = len(self.marks) + 1
        mark = f"8{self._salt:x}{number:03x}".ljust(digits, f"{(number * 7 + self._salt) % 16:x}")[:digits]
        self.marks.append(mark)
        return mark

    def timing(self) -> Any:
        return self._timing


@dataclass(frozen=True, slots=True)
class _Part:
    """One write: ``pieces`` with a slot between each two of them, due together."""

    pieces: tuple[bytes, ...]
    slots: tuple[int, ...]
    due_ms: float

    def play(self, words: tuple[bytes, ...]) -> Frame:
        if not self.slots:
            return Frame(self.pieces[0], self.due_ms)
        filled: list[bytes] = [b""] * (2 * len(self.slots) + 1)
        filled[0::2] = self.pieces
        filled[1::2] = [words[slot] for slot in self.slots]
        return Frame(b"".join(filled), self.due_ms)


@dataclass(frozen=True, slots=True)
class Plan:
    """An answer in pieces. ``digits``: lengths of the ids in the order in which they are drawn."""

    status: int
    headers: tuple[tuple[str, str], ...]
    parts: tuple[_Part, ...]
    digits: tuple[int, ...]
    stream: bool
    coalesce: bool

    @property
    def size(self) -> int:
        """Bytes that the plan holds."""
        return sum(len(piece) for part in self.parts for piece in part.pieces)

    def play(self, context: Context) -> Wire:
        """The answer with fresh ids and the time of now."""
        ids = [context.hex(digits).encode() for digits in self.digits]
        words = (*ids, str(int(context.now())).encode())
        frames = tuple(part.play(words) for part in self.parts)
        return Wire(self.status, self.headers, frames, self.stream, coalesce=self.coalesce)


def make_plan(render: Callable[[Context], Wire], timing: Any = None) -> Plan | None:
    """The plan of an answer, or None when it cannot be played from pieces. ``render`` is called twice."""
    first, second = (_cut(render, MarkedContext(salt, timing)) for salt in (1, 2))
    return first if first is not None and first == second else None


def _cut(render: Callable[[Context], Wire], context: MarkedContext) -> Plan | None:
    wire = render(context)
    marks = {mark.encode(): number for number, mark in enumerate(context.marks)}
    marked_headers = any(mark in value for mark in context.marks for _, value in wire.headers)
    pinned_length = any(name == "content-length" for name, _ in wire.headers)
    if wire.cut or marked_headers or pinned_length or len(marks) != len(context.marks):
        return None
    marks[str(context.second).encode()] = TIME
    words = sorted(marks, key=len, reverse=True)
    pattern = re.compile(b"(" + b"|".join(re.escape(word) for word in words) + b")")
    parts: list[_Part] = []
    for frame in wire.frames if not wire.coalesce else coalesced(wire.frames):
        split = pattern.split(frame.data)
        parts.append(_Part(tuple(split[0::2]), tuple(marks[word] for word in split[1::2]), frame.due_ms))
    digits = tuple(len(mark) for mark in context.marks)
    return Plan(wire.status, wire.headers, tuple(parts), digits, wire.stream, wire.coalesce)


def coalesced(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Frames that are due together, as one."""
    out: list[Frame] = []
    group: list[bytes] = []
    for number, frame in enumerate(frames):
        group.append(frame.data)
        if number + 1 == len(frames) or frames[number + 1].due_ms != frame.due_ms:
            out.append(Frame(b"".join(group) if len(group) > 1 else frame.data, frame.due_ms))
            group = []
    return tuple(out)
