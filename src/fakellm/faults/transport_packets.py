"""Faults on how bytes are cut into packets and when they leave. The bytes themselves stay the same.

Splits are written as frames of their own that the server does not join (``Wire.coalesce`` false): each is a write and
an HTTP chunk. What the network makes of them is not ours; a client must live with every way to cut.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from ..ask import Ask
from ..message import Frame, Wire
from .base import RECOVER, REFUSE, FaultContext, May, Parameters, on_wire, out_of_range
from .events import cut_frames, map_frames, with_length
from .sequences import place
from .where import streams

FAMILY = "packets"


@on_wire("split-inside-utf8", family=FAMILY, may=RECOVER)
def split_inside_utf8(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """Every character of several bytes arrives in two packets; where there is none, an event is cut in its middle.

    Why: packets know no characters; https://github.com/kaitranntt/ccs/pull/1359
    Right: decode after joining, or with an incremental decoder.
    Breaks: clients that decode every packet alone get U+FFFD or an exception.
    """
    return with_length(replace(wire, frames=_cut_at(wire.frames, _inside_characters), coalesce=False))


def _inside_characters(data: bytes) -> list[int]:
    marks = [number for number, byte in enumerate(data) if 0x80 <= byte < 0xC0 and data[number - 1] >= 0xC0]
    return marks or [len(data) // 2]


def _cut_at(frames: tuple[Frame, ...], marks: Callable[[bytes], list[int]]) -> tuple[Frame, ...]:
    cut: list[Frame] = []
    for frame in frames:
        found = marks(frame.data)
        cut.extend(cut_frames((frame,), lambda _, found=found: found))
    return tuple(cut)


@on_wire("split-inside-crlf", family=FAMILY, may=RECOVER, applies=streams)
def split_inside_crlf(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """Lines end with CR LF, and every CR and its LF arrive in two packets.

    Why: https://github.com/kaitranntt/ccs/pull/1359 ; a CR at the end of a packet may or may not be followed by LF.
    Right: a line end is CR LF, LF or CR, however the bytes arrive.
    Breaks: parsers that see CR and LF as two line ends cut events in half.
    """
    if not wire.stream:
        return wire
    windows = map_frames(wire, lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))

    def inside(data: bytes) -> list[int]:
        return [number + 1 for number, byte in enumerate(data[:-1]) if byte == 13 and data[number + 1] == 10]

    return replace(windows, frames=_cut_at(windows.frames, inside), coalesce=False)


@on_wire("many-events-in-one-packet", family=FAMILY, may=RECOVER, applies=streams)
def many_events_in_one_packet(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """All events arrive in one packet.

    Why: proxies buffer; nginx does unless told otherwise.
    Right: an event ends at its blank line, not at the end of a packet.
    Breaks: clients that take a packet for an event keep the first one only.
    """
    if not wire.frames:
        return wire
    due = max(frame.due_ms for frame in wire.frames)
    return replace(wire, frames=(Frame(b"".join(frame.data for frame in wire.frames), due),))


class Dribble(Parameters):
    size: Annotated[int, Field(ge=1, description="bytes in a packet")] = 64
    every_ms: Annotated[float, Field(ge=0, le=1000, description="time between packets, milliseconds")] = 1.0
    longest_ms: Annotated[float, Field(ge=0, description="time after which all has left, milliseconds")] = 1000.0


@on_wire("slow-dribble", family=FAMILY, may=RECOVER, parameters=Dribble)
def slow_dribble(wire: Wire, context: FaultContext[Dribble]) -> Wire:
    """The answer arrives in small packets with time between them.

    Why: slow links and throttling proxies.
    Right: the same capture as from one packet.
    Breaks: clients with a timeout on the whole answer, parsers that take a packet for an event.
    """
    given = context.parameters
    pieces = cut_frames(wire.frames, lambda size: list(range(given.size, size, given.size)))
    step = min(given.every_ms, given.longest_ms / max(len(pieces), 1))
    frames: list[Frame] = []
    due = 0.0
    for piece in pieces:
        due = max(due, piece.due_ms)
        frames.append(Frame(piece.data, due))
        due += step
    return with_length(replace(wire, frames=tuple(frames), coalesce=False))


class Stall(Parameters):
    at: Annotated[int, Field(description="before which packet: 0 is the first, -1 the last")] = -1
    ms: Annotated[float, Field(ge=0, description="how long, milliseconds")] = 300.0


def _recover_if_short(ask: Ask, parameters: Any) -> May:
    return RECOVER if parameters.ms <= 1000 else ("recover", "refuse")


@on_wire("stall", family=FAMILY, may=("recover", "refuse"), parameters=Stall, judge=_recover_if_short)
def stall(wire: Wire, context: FaultContext[Stall]) -> Wire:
    """The answer stands still for a while, then goes on.

    Why: preemption, retraction and garbage collection in the server.
    Right: wait for a second at least; after a timeout refuse, never report what came so far as the whole.
    Breaks: clients with short read timeouts, and those that retry while the first answer still runs.
    """
    if not wire.frames:
        return wire
    given = context.parameters
    first = place(len(wire.frames), given.at)
    if first is None:
        raise out_of_range("packets", given.at, len(wire.frames))
    frames = (
        frame if number < first else replace(frame, due_ms=frame.due_ms + given.ms)
        for number, frame in enumerate(wire.frames)
    )
    return replace(wire, frames=tuple(frames), coalesce=wire.coalesce and given.ms == 0)


class Cut(Parameters):
    at: Annotated[int, Field(description="after so many bytes of the body; negative: counted from its end")] = -20


@on_wire("connection-cut", family="connection", may=REFUSE, parameters=Cut)
def connection_cut(wire: Wire, context: FaultContext[Cut]) -> Wire:
    """The connection ends in the middle of the body, without the proper end of HTTP.

    Why: vLLM cuts Responses streams when the engine fails: https://github.com/vllm-project/vllm/issues/40418 ;
    routers pass an upstream's cut on.
    Right: refuse; a part is not the whole.
    Breaks: clients that catch the read error and return what they have.
    """
    size = sum(len(frame.data) for frame in wire.frames)
    at = context.parameters.at
    left = min(max(at if at >= 0 else size + at, 0), max(size - 1, 0))
    frames: list[Frame] = []
    for frame in wire.frames:
        if left <= 0:
            break
        frames.append(replace(frame, data=frame.data[:left]))
        left -= len(frame.data)
    return replace(with_length(wire), frames=tuple(frames), cut=True)
