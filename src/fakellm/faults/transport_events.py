"""Faults on how server-sent events are written: line ends, blanks, comments, byte order mark, the end of the stream.

All of it is legal by the WHATWG text or common practice, and a reader by the book recovers everything.
Source of the rules: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from ..message import Frame, Wire
from .base import RECOVER, RECOVER_OR_REFUSE, FaultContext, Parameters, on_wire
from .events import carries_json, data_of, is_done, map_events, map_frames, one_event_a_frame
from .where import streams

FAMILY = "events"


@on_wire("sse-crlf", family=FAMILY, may=RECOVER, applies=streams)
def sse_crlf(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """Lines end with CR LF.

    Why: https://github.com/praxis-proxy/praxis/pull/739 , https://github.com/kaitranntt/ccs/pull/1359
    Right: CR LF, LF and CR all end a line.
    Breaks: parsers that look for two line feeds find no event.
    """
    return wire if not wire.stream else map_frames(wire, lambda data: data.replace(b"\n", b"\r\n"))


@on_wire("sse-cr", family=FAMILY, may=RECOVER, applies=streams)
def sse_cr(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """Lines end with CR alone.

    Why: the WHATWG text allows it; https://github.com/rexxars/eventsource-parser/issues/17
    Right: CR, LF and CR LF all end a line.
    Breaks: parsers that split at LF see one endless line.
    """
    return wire if not wire.stream else map_frames(wire, lambda data: data.replace(b"\n", b"\r"))


@on_wire("sse-no-space", family=FAMILY, may=RECOVER, applies=streams)
def sse_no_space(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """No blank after ``data:``.

    Why: the blank is optional; several gateways leave it out.
    Right: one leading blank is dropped if it is there.
    Breaks: rllm-model-gateway 0.1.0 captures nothing and hands its client no chunk at all (measured).
    """

    def change(event: bytes) -> list[bytes]:
        return [b"\n".join(line.replace(b": ", b":", 1) if _is_field(line) else line for line in event.split(b"\n"))]

    return map_events(wire, change)


def _is_field(line: bytes) -> bool:
    return line.startswith((b"data: ", b"event: ", b"id: "))


class Every(Parameters):
    every: Annotated[int, Field(ge=1, description="one after so many events")] = 1


@on_wire("sse-comments", family=FAMILY, may=RECOVER, parameters=Every, applies=streams)
def sse_comments(wire: Wire, context: FaultContext[Every]) -> Wire:
    """Comments and keep-alives stand between the events, also before the first.

    Why: vLLM sends ``: keep-alive`` with --sse-keep-alive-interval (0.32.0, captured), OpenRouter ``: PROCESSING``.
    Right: lines that begin with a colon are ignored.
    Breaks: rllm-model-gateway 0.1.0 passes them on with half of their line ends (measured).
    """
    return _between(wire, context.parameters.every, b": keep-alive\n\n")


@on_wire("sse-empty-data", family=FAMILY, may=RECOVER, parameters=Every, applies=streams)
def sse_empty_data(wire: Wire, context: FaultContext[Every]) -> Wire:
    """Events with empty data stand between the others.

    Why: proxies ping with them; the WHATWG text says such an event is not even dispatched when it has no data line.
    Right: an event whose data is empty carries nothing.
    Breaks: clients that parse every data line as JSON.
    """
    return _between(wire, context.parameters.every, b"data:\n\n")


def _between(wire: Wire, every: int, insert: bytes) -> Wire:
    if not wire.stream:
        return wire
    frames: list[Frame] = []
    for number, frame in enumerate(one_event_a_frame(wire).frames):
        if number % every == 0:
            frames.append(Frame(insert, frame.due_ms))
        frames.append(frame)
    return replace(wire, frames=tuple(frames))


@on_wire("sse-multi-line-data", family=FAMILY, may=RECOVER, applies=streams)
def sse_multi_line_data(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """The JSON of an event is spread over several ``data:`` lines, broken between members.

    Why: the WHATWG text allows it; pretty-printing servers do it.
    Right: data lines of one event are joined with a line feed.
    Breaks: parsers that take every data line for an event.
    """

    def change(event: bytes) -> list[bytes]:
        data = data_of(event)
        if data is None or not carries_json(event) or b"\n" in data:
            return [event]
        return [event.replace(data, b"{\ndata: " + data[1:-1] + b"\ndata: }")]

    return map_events(wire, change)


@on_wire("sse-event-fields", family=FAMILY, may=RECOVER, applies=streams)
def sse_event_fields(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """Events carry ``id:`` and ``retry:`` fields and one that nobody knows.

    Why: gateways with resumable streams number their events.
    Right: unknown fields are ignored.
    Breaks: parsers that expect ``data:`` at the beginning of every event.
    """
    count = 0

    def change(event: bytes) -> list[bytes]:
        nonlocal count
        count += 1
        return [f"id: {count}\nretry: 1000\nx-origin: gateway\n".encode() + event]

    return map_events(wire, change)


@on_wire("sse-byte-order-mark", family=FAMILY, may=RECOVER_OR_REFUSE)
def sse_byte_order_mark(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """The answer begins with a UTF-8 byte order mark.

    Why: the WHATWG text strips one at the beginning of a stream; JSON forbids it, and .NET servers write it.
    Right: ignore it, or refuse; never lose the first event without a word.
    Breaks: parsers that compare the first line with ``data:`` lose the first event, with it the prompt ids.
    """
    if not wire.frames:
        return wire
    first = wire.frames[0]
    return replace(wire, frames=(replace(first, data=b"\xef\xbb\xbf" + first.data), *wire.frames[1:]))


@on_wire("done-missing", family=FAMILY, may=RECOVER, applies=streams)
def done_missing(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """The stream ends properly, but without ``[DONE]``.

    Why: the Responses API has none; Dynamo 1.7 dropped it where 1.6.1 had it (captured).
    Right: the end of the body ends the stream; the finish_reason says whether the answer is whole.
    Breaks: clients that wait for it, and SDKs that call it a truncation (Fireworks).
    """
    return map_events(wire, lambda event: [] if is_done(event) else [event])


@on_wire("done-twice", family=FAMILY, may=RECOVER, applies=streams)
def done_twice(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """``[DONE]`` comes twice.

    Why: gateways add their own behind the upstream's.
    Right: nothing after the first one matters.
    Breaks: clients that parse the second one as JSON.
    """
    return _after_done(wire, b"data: [DONE]\n\n", twice=True)


@on_wire("text-after-done", family=FAMILY, may=RECOVER, applies=streams)
def text_after_done(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """Another event follows after ``[DONE]``.

    Why: gateways append accounting behind the end.
    Right: nothing after ``[DONE]`` belongs to the answer.
    Breaks: clients that read on and meet an object that is no chunk.
    """
    return _after_done(wire, b'data: {"object":"gateway.accounting","cost":0.0}\n\n', twice=False)


def _after_done(wire: Wire, more: bytes, *, twice: bool) -> Wire:
    if not wire.stream:
        return wire
    events = [frame.data for frame in one_event_a_frame(wire).frames]
    if not any(map(is_done, events)):
        # An API without [DONE] (Responses) gets one first, so that something follows it.
        last = max((frame.due_ms for frame in wire.frames), default=0.0)
        wire = replace(wire, frames=(*wire.frames, Frame(b"data: [DONE]\n\n", last)))
    return map_events(wire, lambda event: [event, more] if is_done(event) else [event])
