"""Wire bytes seen as server-sent events, for transport faults: taking frames apart and putting them together again.

Pure functions on bytes. A frame of a layout holds whole events in the ``data: ...`` spelling with LF line ends; what
other transport faults made of them is passed through as well as can be.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from ..message import Frame, Wire

DONE = b"[DONE]"
_END = re.compile(rb"(?:\r\n|\n|\r){2}")


def split_events(data: bytes) -> list[bytes]:
    """The events of a piece of stream, each with its blank line; a rest without one is the last piece.

    >>> split_events(b"data: 1\\n\\ndata: 2\\n\\n")
    [b'data: 1\\n\\n', b'data: 2\\n\\n']
    """
    events: list[bytes] = []
    start = 0
    for end in _END.finditer(data):
        events.append(data[start : end.end()])
        start = end.end()
    if start < len(data):
        events.append(data[start:])
    return events


def one_event_a_frame(wire: Wire) -> Wire:
    """The same bytes, one event a frame."""
    frames = tuple(Frame(event, frame.due_ms) for frame in wire.frames for event in split_events(frame.data))
    return replace(wire, frames=frames)


def data_of(event: bytes) -> bytes | None:
    """The data of an event, None for comments and empty ones."""
    lines = [line[5:].removeprefix(b" ") for line in re.split(rb"\r\n|\n|\r", event) if line.startswith(b"data:")]
    return b"\n".join(lines) if lines else None


def is_done(event: bytes) -> bool:
    """The event is the ``[DONE]`` that ends a stream."""
    return data_of(event) == DONE


def carries_json(event: bytes) -> bool:
    """The event carries a JSON object (not ``[DONE]``, not a comment)."""
    data = data_of(event)
    return data is not None and data.lstrip().startswith(b"{")


def map_frames(wire: Wire, change: Callable[[bytes], bytes]) -> Wire:
    """Change the bytes of every frame."""
    return replace(wire, frames=tuple(replace(frame, data=change(frame.data)) for frame in wire.frames))


def map_events(wire: Wire, change: Callable[[bytes], list[bytes]]) -> Wire:
    """Change every event into any number of pieces; each piece is a frame of its own, due with the event."""
    if not wire.stream:
        return wire
    frames = [
        Frame(piece, frame.due_ms) for frame in one_event_a_frame(wire).frames for piece in change(frame.data) if piece
    ]
    return replace(wire, frames=tuple(frames))


def with_header(wire: Wire, name: str, value: str | None) -> Wire:
    """The answer with another header, or without it (None)."""
    kept = [(key, old) for key, old in wire.headers if key.lower() != name]
    if value is not None:
        place = next((number for number, (key, _) in enumerate(wire.headers) if key.lower() == name), len(kept))
        kept.insert(place, (name, value))
    return replace(wire, headers=tuple(kept))


def header(wire: Wire, name: str) -> str | None:
    """A header's value."""
    return next((value for key, value in wire.headers if key.lower() == name), None)


def with_length(wire: Wire) -> Wire:
    """A whole body whose length is told by its header: then the server writes its packets as they are."""
    if wire.stream or header(wire, "content-length") is not None:
        return wire
    return with_header(wire, "content-length", str(len(body_of(wire))))


def body_of(wire: Wire) -> bytes:
    """All bytes of the answer."""
    return b"".join(frame.data for frame in wire.frames)


def with_body(wire: Wire, data: bytes) -> Wire:
    """Another whole body, due when the last byte of the old one was."""
    due = max((frame.due_ms for frame in wire.frames), default=0.0)
    return replace(wire, frames=(Frame(data, due),))


def cut_frames(frames: tuple[Frame, ...], sizes: Callable[[int], list[int]]) -> tuple[Frame, ...]:
    """Every frame in pieces: ``sizes`` gives the cut positions for a frame of so many bytes."""
    pieces: list[Frame] = []
    for frame in frames:
        marks = [0, *sizes(len(frame.data)), len(frame.data)]
        for first, last in pairwise(marks):
            if last > first:
                pieces.append(Frame(frame.data[first:last], frame.due_ms))
    return tuple(pieces)
