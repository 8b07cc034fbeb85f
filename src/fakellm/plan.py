"""The fast path: an answer rendered once, then played again with fresh ids, times and prompts.

A :class:`Plan` is the bytes of an answer cut wherever a random id, a time of day, the prompt's token ids or a
count of prompt tokens stands. It is made by rendering twice under different :class:`Marks`: only when both cut to the
same pieces is the plan trusted; a station that computes with its ids simply has no plan. A property test holds plan
bytes equal to freshly rendered bytes. Knows nothing of sockets, scenarios or vendors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Any

from .layouts.base import Context
from .message import Frame, Wire

TIME = -1
"""The slot of the time of day (whole seconds); slots from 0 are numbers of ids."""
PROMPT = -2
"""The slot of the prompt's token ids, with commas between."""
COUNT = -1000
"""Slots from here down are counts: prompt tokens plus ``COUNT - slot`` completion tokens."""
ROOMY_TOKENS = 4096
"""Answers as long as this have no plan, so a limit or a context with more room than this is as good as none."""

FEW_SLOTS = 4
MAX_JOINED = 512 * 1024
"""Bytes from which on frames are not joined any more: a copy of megabytes costs more than the writes that it saves."""


@dataclass(frozen=True, slots=True)
class PromptWords:
    """The prompt of one request as it stands in an answer."""

    ids: bytes
    count: int

    @classmethod
    def of(cls, token_ids: Sequence[int]) -> PromptWords:
        return cls(",".join(map(str, token_ids)).encode(), len(token_ids))


class Marks:
    """A Context whose ids and times, and a prompt whose ids and count, can be found again in the bytes.

    ``salt`` tells two markings apart. ``prompt_id`` stands for all of the prompt's ids, ``count`` for their number.
    """

    def __init__(self, salt: int, timing: Any = None) -> None:
        self._salt = salt
        self._timing = timing
        self.second = 3_900_000_000 + salt * 7_000_013
        self.prompt_id = 810_000_000_000_007 + salt
        self.count = 73_000_000_000_000 + salt * 100_000_000
        self.ids: list[str] = []

    def now(self) -> float:
        return float(self.second)

    def hex(self, digits: int) -> str:
        number = len(self.ids) + 1
        mark = f"8{self._salt:x}{number:03x}".ljust(digits, f"{(number * 7 + self._salt) % 16:x}")[:digits]
        self.ids.append(mark)
        return mark

    def timing(self) -> Any:
        return self._timing

    def pattern(self) -> re.Pattern[bytes]:
        """Finds every mark. A count is the mark plus up to a million tokens, and no part of a longer number."""
        words = sorted((*self.ids, str(self.second), str(self.prompt_id)), key=len, reverse=True)
        counts = f"(?<![\\d.]){str(self.count)[:8]}\\d{{6}}(?![\\d.])"
        return re.compile(("(" + "|".join([*map(re.escape, words), counts]) + ")").encode())

    def slot(self, word: bytes, numbers: dict[bytes, int]) -> int:
        """What stands at a mark."""
        found = numbers.get(word)
        if found is not None:
            return found
        if word == str(self.second).encode():
            return TIME
        return PROMPT if word == str(self.prompt_id).encode() else COUNT - (int(word) - self.count)


@dataclass(frozen=True, slots=True)
class _Part:
    """One write: ``pieces`` with a slot between each two of them, due together. ``template``: the same for ``%``, which
    is twice as fast where there are few slots (a stream has hundreds of such parts); None where there are many."""

    pieces: tuple[bytes, ...]
    slots: tuple[int, ...]
    due_ms: float
    template: bytes | None = None

    @classmethod
    def of(cls, pieces: tuple[bytes, ...], slots: tuple[int, ...], due_ms: float) -> _Part:
        few = 0 < len(slots) <= FEW_SLOTS
        return cls(pieces, slots, due_ms, b"%b".join(piece.replace(b"%", b"%%") for piece in pieces) if few else None)

    def play(self, values: _Values) -> Frame:
        if not self.slots:
            return Frame(self.pieces[0], self.due_ms)
        if self.template is not None:
            return Frame(self.template % values.few(self.slots), self.due_ms)
        filled: list[bytes] = [b""] * (2 * len(self.slots) + 1)
        filled[0::2] = self.pieces
        filled[1::2] = values.many(self.slots)
        return Frame(b"".join(filled), self.due_ms)


class _Values:
    """What stands in the slots of one answer. Parts with the same slots share their words."""

    def __init__(self, ids: Sequence[bytes], second: bytes, prompt: PromptWords) -> None:
        self._ids = ids
        self._second = second
        self._prompt = prompt
        self._known: dict[tuple[int, ...], tuple[bytes, ...]] = {}

    def few(self, slots: tuple[int, ...]) -> tuple[bytes, ...]:
        """The word of each of a few slots."""
        words = self._known.get(slots)
        if words is None:
            words = self._known[slots] = tuple(self.many(slots))
        return words

    def many(self, slots: tuple[int, ...]) -> list[bytes]:
        """The word of each slot."""
        ids, second, prompt = self._ids, self._second, self._prompt
        return [
            ids[slot]
            if slot >= 0
            else second
            if slot == TIME
            else prompt.ids
            if slot == PROMPT
            else b"%d" % (prompt.count + COUNT - slot)
            for slot in slots
        ]


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

    def play(self, context: Context, prompt: PromptWords) -> Wire:
        """The answer with fresh ids, the time of now, and this prompt."""
        ids = [context.hex(digits).encode() for digits in self.digits]
        values = _Values(ids, b"%d" % int(context.now()), prompt)
        frames = tuple([part.play(values) for part in self.parts])
        return Wire(self.status, self.headers, frames, self.stream, coalesce=self.coalesce)


def make_plan(render: Callable[[Marks], Wire], timing: Any = None) -> Plan | None:
    """The plan of an answer, or None when it cannot be played from pieces. ``render`` is called twice."""
    first, second = (_cut(render, Marks(salt, timing)) for salt in (1, 2))
    return first if first is not None and first == second else None


def _cut(render: Callable[[Marks], Wire], marks: Marks) -> Plan | None:
    wire = render(marks)
    numbers = {mark.encode(): number for number, mark in enumerate(marks.ids)}
    marked_headers = any(mark in value for mark in marks.ids for _, value in wire.headers)
    pinned_length = any(name == "content-length" for name, _ in wire.headers)
    if wire.cut or marked_headers or pinned_length or len(numbers) != len(marks.ids):
        return None
    pattern = marks.pattern()
    parts: list[_Part] = []
    shared: dict[bytes, bytes] = {}  # what stands between id and time is the same in every event: kept once
    for frame in coalesced(wire.frames) if wire.coalesce else wire.frames:
        split = pattern.split(frame.data)
        slots = tuple(marks.slot(word, numbers) for word in split[1::2])
        pieces = tuple(shared.setdefault(piece, piece) for piece in split[0::2])
        parts.append(_Part.of(pieces, slots, frame.due_ms))
    digits = tuple(len(mark) for mark in marks.ids)
    return Plan(wire.status, wire.headers, tuple(parts), digits, wire.stream, wire.coalesce)


def coalesced(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Frames that are due together, as one; in pieces of some ``MAX_JOINED`` bytes where they are many."""
    dues = [frame.due_ms for frame in frames]
    if not any(map(eq, dues, dues[1:])):
        return frames
    out: list[Frame] = []
    group: list[bytes] = []
    size = 0
    for number, frame in enumerate(frames):
        group.append(frame.data)
        size += len(frame.data)
        if size >= MAX_JOINED or number + 1 == len(frames) or frames[number + 1].due_ms != frame.due_ms:
            out.append(Frame(b"".join(group) if len(group) > 1 else frame.data, frame.due_ms))
            group = []
            size = 0
    return tuple(out)
