"""A slow link: the frames of an answer cut into small packets with time between them. Pure; no clock, no sleep.

``Timing.dribble`` says how many bytes a packet has and how long after another the next one leaves. A frame that is due
later than its turn waits for its own time; nothing leaves earlier than it would have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .message import Frame, Wire
from .timing import Dribble


def dribbled(wire: Wire, dribble: Dribble) -> Wire:
    """The same bytes in packets of at most ``dribble.bytes``, ``dribble.every_ms`` milliseconds apart at least."""
    return replace(wire, frames=tuple(_packets(wire.frames, dribble)), coalesce=False)


def _packets(frames: tuple[Frame, ...], dribble: Dribble) -> Iterator[Frame]:
    free_ms = 0.0
    for frame in frames:
        for start in range(0, len(frame.data), dribble.bytes):
            due_ms = max(frame.due_ms, free_ms)
            yield Frame(frame.data[start : start + dribble.bytes], due_ms)
            free_ms = due_ms + dribble.every_ms
