"""Sending a Wire over aiohttp: frames at their due times, honest framing or a deliberately broken one.

Frames that are due together leave in one write unless the wire forbids it. What aiohttp would mend (a content-length
that does not fit, a stream without its end) is written to the transport by hand. Knows no scenario and no layout.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

from aiohttp import web
from multidict import CIMultiDict

from ..flight import Carrier
from ..message import Frame, Wire
from ..plan import coalesced
from .heads import raw_lines
from .pace import ROUNDING, Pump, due_ms_of, may_be_aborted

Departs = Callable[[Carrier], None]


class Gone(Exception):
    """The peer went away before the answer's end; ``sent`` bytes had left."""

    def __init__(self, sent: int) -> None:
        super().__init__("the client disconnected")
        self.sent = sent


class _Whole:
    """A whole answer that waits until it is due; an abort makes it another one (``flight.Carrier``)."""

    def __init__(self, wire: Wire, started: float) -> None:
        self._wire = wire
        self._started = started
        self._changed = asyncio.Event()
        self._over = False

    async def wait(self) -> Wire:
        """The answer, when its time has come."""
        while (left := self._started + due_ms_of(self._wire) / 1000.0 - asyncio.get_running_loop().time()) > 0:
            self._changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), left)
        self._over = True
        return self._wire

    def reach(self) -> tuple[float, int] | None:
        return None if self._over else ((asyncio.get_running_loop().time() - self._started) * 1000.0 + ROUNDING, 0)

    def swap(self, wire: Wire, rest: Sequence[Frame]) -> None:
        self._wire = replace(wire, frames=tuple(rest))
        self._changed.set()


class _Stream:
    """A paced stream (``flight.Carrier``). ``sent``: bytes of the body that left before the pump took over; ``cut``: it
    ends without its proper end."""

    def __init__(self, pump: Pump, sent: int, *, cut: bool) -> None:
        self._pump = pump
        self._sent = sent
        self.cut = cut

    def reach(self) -> tuple[float, int] | None:
        at_ms = self._pump.reach()
        return None if at_ms is None else (at_ms, self._sent + self._pump.sent)

    def swap(self, wire: Wire, rest: Sequence[Frame]) -> None:
        self.cut = wire.cut
        self._pump.replace(coalesced(tuple(rest)))


async def send(request: web.Request, wire: Wire, departs: Departs) -> web.StreamResponse:
    """Send the answer; raises Gone when the peer disconnects on the way. ``departs``: told who carries an answer that
    takes its time."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    pinned = any(name == "content-length" for name, _ in wire.headers)
    if pinned or (wire.cut and not wire.stream):
        return await _raw(request, wire, started)
    if wire.stream or (len(wire.frames) > 1 and not wire.coalesce):
        return await _stream(request, wire, started, departs if may_be_aborted(wire) else None)
    if due_ms_of(wire) > 0:
        waiting = _Whole(wire, started)
        departs(waiting)
        wire = await waiting.wait()
    body = b"".join(frame.data for frame in wire.frames)
    return web.Response(status=wire.status, body=body or None, headers=_headers(wire.headers).copy())


@lru_cache(maxsize=1024)
def _headers(headers: tuple[tuple[str, str], ...]) -> CIMultiDict[str]:
    """The headers without those that frame the body; shared, so copy it."""
    return CIMultiDict((name, value) for name, value in headers if name not in ("transfer-encoding", "content-length"))


def _writes(wire: Wire) -> tuple[Frame, ...]:
    return coalesced(wire.frames) if wire.coalesce and len(wire.frames) > 1 else wire.frames


async def _stream(request: web.Request, wire: Wire, started: float, departs: Departs | None) -> web.StreamResponse:
    response = web.StreamResponse(status=wire.status, headers=_headers(wire.headers).copy())
    frames = _writes(wire)
    if not wire.stream:  # a whole answer in several packets: it has a length, as from one packet
        response.content_length = sum(len(frame.data) for frame in frames)
    elif request.version >= (1, 1):
        response.enable_chunked_encoding()
    elapsed_ms = (asyncio.get_running_loop().time() - started) * 1000.0
    ready = next((place for place, frame in enumerate(frames) if frame.due_ms > elapsed_ms), len(frames))
    sent = 0
    pump: Pump | None = None
    cut = wire.cut
    try:
        await response.prepare(request)
        for frame in frames[:ready]:
            if frame.data:
                await response.write(frame.data)
                sent += len(frame.data)
        if ready < len(frames):
            transport = request.transport
            if transport is None:
                raise ConnectionResetError("the client disconnected")
            pump = Pump(transport, frames[ready:], started, chunked=bool(response.chunked))
            carrier = _Stream(pump, sent, cut=wire.cut)
            if departs is not None:
                departs(carrier)
            await pump.play()
            cut = carrier.cut
        if cut:
            _hang_up(request)
        else:
            await response.write_eof()
    except (ConnectionError, asyncio.CancelledError) as error:
        raise Gone(sent + (pump.sent if pump is not None else 0)) from error
    return response


async def _raw(request: web.Request, wire: Wire, started: float) -> web.StreamResponse:
    """Write the answer's bytes as they are, then close: for framing that aiohttp would refuse to send."""
    transport = request.transport
    response = web.StreamResponse(status=wire.status)
    if transport is None:
        raise Gone(0)
    transport.write(raw_lines(wire.status, wire.headers))
    sent = 0
    for frame in _writes(wire):
        await _until(started, frame.due_ms)
        if transport.is_closing():
            raise Gone(sent)
        transport.write(frame.data)
        sent += len(frame.data)
    _hang_up(request)
    return response


def _hang_up(request: web.Request) -> None:
    """Close the connection after what was written, without a proper end of the answer."""
    if request.transport is not None:
        request.transport.close()


async def _until(started: float, due_ms: float) -> None:
    if due_ms <= 0:
        return
    remaining = started + due_ms / 1000.0 - asyncio.get_running_loop().time()
    if remaining > 0:
        await asyncio.sleep(remaining)
