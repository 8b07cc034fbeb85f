"""The quick way from a socket to the fake and back: plain requests without aiohttp's machinery.

A :class:`Direct` is the protocol of one connection. It reads requests that have one reading (``heads.py``) and writes
their answers itself, most of them in one write; at the first request that is odd in any way (chunked, piled up, huge,
with a query, for the admin API) the connection becomes aiohttp's for good, with every byte that was not answered yet.
Both ways send the same bytes; a test holds them equal. A peer that does not read is not read from either.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from types import MappingProxyType
from typing import Final, cast

from ..ask import Request
from ..fake import Fake
from ..journal import Exchange
from ..message import Frame, Wire
from ..plan import MAX_JOINED, coalesced
from ..stage import Answer
from .app import busy_wire
from .heads import Head, answer_lines, bodiless, may_become_plain, raw_lines, read_head
from .pace import Pump, due_ms_of, may_be_aborted

MAX_BODY = 1024 * 1024
"""Longer bodies are aiohttp's to read, which stops at the server's limit."""
SMALL = 32 * 1024
"""Bytes that a transport takes without pausing its writer (asyncio pauses at 64 KiB)."""
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(slots=True)
class Desk:
    """What the connections of one server share. ``aiohttp``: makes the protocol that takes odd connections over."""

    fake: Fake
    max_in_flight: int
    aiohttp: Callable[[], asyncio.BaseProtocol]
    admin_prefix: str = "/_fakellm"
    max_body: int = MAX_BODY
    connections: set[Direct] = field(default_factory=set["Direct"])
    _second: int = 0
    _date: bytes = b""

    def date(self) -> bytes:
        """The Date line of now."""
        second = int(time.time())
        if second != self._second:
            self._second = second
            self._date = b"Date: " + formatdate(second, usegmt=True).encode() + b"\r\n"
        return self._date


class Direct(asyncio.Protocol):
    """See the module's paragraph. ``idle_since``: loop time since when nothing is in flight, None = something is."""

    def __init__(self, desk: Desk, loop: asyncio.AbstractEventLoop) -> None:
        self._desk = desk
        self._loop = loop
        self._transport: asyncio.Transport = cast(asyncio.Transport, None)
        self._held = bytearray()
        self._wanted = 0
        self._clogged = False
        self._exchange: Exchange | None = None
        self._leaving: Answer | None = None
        self._started = 0.0
        self._sent = 0
        self._pump: Pump | None = None
        self._tail = b""
        self._keep = True
        self.idle_since: float | None = loop.time()

    # ------------------------------------------------------------ connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._desk.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._desk.connections.discard(self)
        if self._exchange is not None:
            self._gone()
        self._pump = None

    def close(self) -> None:
        """Hang up, whatever is in flight."""
        self._transport.close()

    def pause_writing(self) -> None:
        self._clogged = True

    def resume_writing(self) -> None:
        self._clogged = False
        if self.idle_since is None and self._pump is None:
            self._finished()

    # --------------------------------------------------------------- request

    def data_received(self, data: bytes) -> None:
        if self._held or self.idle_since is None:
            self._held += data
            if self.idle_since is None:  # an answer is on its way: the next request waits, and so does its sender
                self._transport.pause_reading()
                return
            if len(self._held) < self._wanted:
                return
            data = bytes(self._held)
            self._held.clear()
        self._take(data)

    def _take(self, data: bytes) -> None:
        """Answer the request in ``data``, wait for its rest, or hand the connection over."""
        end = data.find(b"\r\n\r\n") + 4
        if end < 4:
            self._wait(data, 0) if may_become_plain(data) else self._hand_over(data)
            return
        head = read_head(data[:end])
        if head is None or head.length > self._desk.max_body or head.path.startswith(self._desk.admin_prefix):
            self._hand_over(data)
        elif len(data) < end + head.length:
            self._wait(data, end + head.length)
        elif len(data) > end + head.length:
            self._hand_over(data)
        else:
            self._answer(head, data[end:])

    def _wait(self, data: bytes, wanted: int) -> None:
        self._held += data
        self._wanted = wanted
        self.idle_since = self._loop.time()

    def _hand_over(self, data: bytes) -> None:
        """The connection is aiohttp's from now on; whatever of it was not answered is read again there."""
        self._desk.connections.discard(self)
        successor = cast(asyncio.Protocol, self._desk.aiohttp())
        successor.connection_made(self._transport)
        self._transport.set_protocol(successor)
        if self._clogged:
            successor.pause_writing()
        successor.data_received(data)

    def _answer(self, head: Head, body: bytes) -> None:
        desk = self._desk
        self.idle_since = None
        self._started = self._loop.time()
        self._keep = head.keep_alive
        self._sent = 0
        if desk.fake.in_flight >= desk.max_in_flight:
            self._send(busy_wire(desk.fake.in_flight))
            return
        answer, self._exchange = desk.fake.answer(Request(head.method, head.path, NOTHING, head.headers, body))
        self._leaving = answer
        self._send(answer.wire)
        self._leaving = None

    # ----------------------------------------------------------------- abort

    def reach(self) -> tuple[float, int] | None:
        """Write what is due (``flight.Carrier``)."""
        at_ms = None if self._pump is None else self._pump.reach()
        return None if at_ms is None or self._pump is None else (at_ms, self._body_sent())

    def swap(self, wire: Wire, rest: Sequence[Frame]) -> None:
        """Go on with another answer: the rest of a stream, or a whole one of which nothing has left."""
        assert self._pump is not None
        if wire.stream:
            if wire.cut:
                self._tail, self._keep = b"", False
            self._pump.replace(coalesced(tuple(rest)))
            return
        body = b"".join(frame.data for frame in rest)
        head = self._head(wire, b"Content-Length: %d\r\n" % len(body), bool(body))
        self._pump.replace((Frame(head + body, max((frame.due_ms for frame in rest), default=0.0)),))

    def _body_sent(self) -> int:
        return self._sent + (self._pump.sent if self._pump is not None else 0)

    # ---------------------------------------------------------------- answer

    def _send(self, wire: Wire) -> None:
        frames = coalesced(wire.frames) if wire.coalesce and len(wire.frames) > 1 else wire.frames
        if any(name == "content-length" for name, _ in wire.headers) or (wire.cut and not wire.stream):
            self._keep = False
            self._play(raw_lines(wire.status, wire.headers), frames, False, not wire.coalesce, b"")
        elif bodiless(wire.status):
            self._play_whole(self._head(wire, b"", False), 0, 0.0)
        elif wire.stream:
            head = self._head(wire, b"Transfer-Encoding: chunked\r\n", True)
            self._keep = self._keep and not wire.cut
            self._play(head, frames, True, not wire.coalesce, b"" if wire.cut else b"0\r\n\r\n")
        else:
            length = sum(len(frame.data) for frame in frames)
            head = self._head(wire, b"Content-Length: %d\r\n" % length, bool(length))
            if wire.coalesce or len(frames) < 2:
                whole = b"".join((head, *[frame.data for frame in frames]))
                self._play_whole(whole, length, due_ms_of(wire))
            else:
                self._play(head, frames, False, True, b"")

    def _head(self, wire: Wire, framing: bytes, has_body: bool) -> bytes:
        before, after = answer_lines(wire.status, wire.headers)
        names = [name for name, _ in wire.headers]
        close = b"" if self._keep or "connection" in names else b"Connection: close\r\n"
        if "date" in names:
            return b"".join((before, framing, after if has_body else b"", close, b"\r\n"))
        return b"".join((before, framing, after if has_body else b"", self._desk.date(), close, b"\r\n"))

    def _play_whole(self, data: bytes, length: int, due_ms: float) -> None:
        if due_ms > 0:
            self._start_pump((Frame(data, due_ms),), False)
            return
        self._sent = length
        self._deliver([data], len(data))

    def _play(self, head: bytes, frames: tuple[Frame, ...], chunked: bool, apart: bool, tail: bytes) -> None:
        """The head and what is due now leave at once, the rest in its time. ``apart``: each frame in its own write."""
        ready = next((place for place, frame in enumerate(frames) if frame.due_ms > 0), len(frames))
        pieces = [head]
        for frame in frames[:ready]:
            if frame.data:
                self._sent += len(frame.data)
                pieces.append(b"%x\r\n%b\r\n" % (len(frame.data), frame.data) if chunked else frame.data)
        if ready == len(frames):
            pieces.append(tail)
        single = not apart and self._sent <= MAX_JOINED
        pieces = [b"".join(pieces)] if single else [b"".join(pieces[:2]), *pieces[2:]]
        if ready == len(frames):
            self._deliver(pieces, self._sent)
            return
        self._tail = tail
        self._start_pump(frames[ready:], chunked)
        for piece in pieces:
            self._transport.write(piece)

    def _deliver(self, pieces: list[bytes], size: int) -> None:
        """A whole answer leaves at once. Where it surely fits into the transport it is recorded first, so that whoever
        has it finds it in the journal, whichever replica is asked."""
        small = size <= SMALL and not self._clogged
        if small:
            self._record()
        for piece in pieces:
            if piece:
                self._transport.write(piece)
        self._settled() if small else self._written()

    def _start_pump(self, frames: tuple[Frame, ...], chunked: bool) -> None:
        """The answer takes its time: it can be aborted before its first byte leaves, for who has that may tell another
        worker to do it."""
        self._pump = pump = Pump(self._transport, frames, self._started, chunked=chunked)
        pump.done.add_done_callback(self._pumped)
        pump.start()
        if self._leaving is not None and self._exchange is not None and may_be_aborted(self._leaving.wire):
            self._desk.fake.departs(self._leaving, self._exchange, self)

    def _pumped(self, done: asyncio.Future[None]) -> None:
        gone = done.exception() is not None
        if self._pump is None or self._pump.done is not done:
            return  # the connection was lost before
        self._sent += self._pump.sent
        self._pump = None
        if gone:
            self._gone()
            return
        if self._tail:
            self._transport.write(self._tail)
            self._tail = b""
        self._written()

    def _written(self) -> None:
        """All is in the transport's hands; over when the peer has taken most of it."""
        if not self._clogged:
            self._finished()
        else:
            self._sent -= min(self._sent, self._transport.get_write_buffer_size())

    def _finished(self) -> None:
        self._record()
        self._settled()

    def _record(self) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            self._desk.fake.ended(exchange, (self._loop.time() - self._started) * 1000.0)

    def _settled(self) -> None:
        """Ready for the next request."""
        self.idle_since = self._loop.time()
        if not self._keep:
            self._transport.close()
        elif self._held:
            data = bytes(self._held)
            self._held.clear()
            self._transport.resume_reading()
            self._take(data)

    def _gone(self) -> None:
        """The peer went away before the end of its answer."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.sent_bytes = self._body_sent()
            exchange.disconnected_ms = (self._loop.time() - self._started) * 1000.0
            self._desk.fake.ended(exchange, None)
