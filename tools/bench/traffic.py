"""The load: raw HTTP/1.1 over loopback, as cheap as Python can be, so that the server is what is measured.

A :class:`Caller` is one keep-alive connection that sends its next request when an answer is whole; a :class:`Listener`
is one paced stream that notes when its events come. Neither parses JSON. Knows no server.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

END_OF_CHUNKS = b"0\r\n\r\n"
WATCHED = 200
"""Paced streams of which every event is timed."""
DRAIN_SECONDS = 0.1


def post(body: dict[str, Any], *, close: bool = False) -> bytes:
    """The bytes of one chat request."""
    data = json.dumps(body).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: */*\r\nuser-agent: benchmark\r\n"
        f"{'connection: close' if close else 'connection: keep-alive'}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


@dataclass(slots=True)
class Tally:
    """What a load saw: answers, bytes, milliseconds per answer and to the first byte of each, the last answer."""

    answers: int = 0
    bytes: int = 0
    events: int = 0
    seconds: float = 0.0
    took_ms: list[float] = field(default_factory=list[float])
    first_ms: list[float] = field(default_factory=list[float])
    last: bytes = b""


class Caller(asyncio.Protocol):
    """One connection: ``requests`` one after the other."""

    def __init__(self, requests: Iterator[bytes], tally: Tally, done: asyncio.Future[None]) -> None:
        self._requests = requests
        self._tally = tally
        self._done = done
        self._held: list[bytes] = []
        self._wanted = 0
        self._began = 0.0
        self._transport = cast(asyncio.Transport, None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._send()

    def _send(self) -> None:
        request = next(self._requests, None)
        self._held.clear()
        self._wanted = 0
        if request is None:
            self._transport.close()
            if not self._done.done():
                self._done.set_result(None)
            return
        self._began = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        if not self._held:
            self._tally.first_ms.append((time.perf_counter() - self._began) * 1000.0)
            end = data.find(b"\r\n\r\n") + 4
            place = data.lower().find(b"content-length:", 0, end)
            if place >= 0:
                self._wanted = end + int(data[place + 15 : data.index(b"\r\n", place)])
        self._held.append(data)
        if self._wanted:
            self._wanted -= len(data)
            if self._wanted > 0:
                return
        elif not data.endswith(END_OF_CHUNKS) and not b"".join(self._held[-6:]).endswith(END_OF_CHUNKS):
            return
        self._whole()

    def _whole(self) -> None:
        tally = self._tally
        tally.took_ms.append((time.perf_counter() - self._began) * 1000.0)
        tally.answers += 1
        tally.last = self._held[0] if len(self._held) == 1 else b"".join(self._held)
        tally.bytes += len(tally.last)
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(exc or ConnectionResetError("the server hung up"))


def load(port: int, requests: Iterable[bytes], connections: int) -> Tally:
    """Send all requests over so many connections; each connection has one in flight."""
    shared = iter(requests)

    async def go() -> Tally:
        loop = asyncio.get_running_loop()
        tally = Tally()
        waits: list[asyncio.Future[None]] = []
        began = time.perf_counter()
        for _ in range(connections):
            done: asyncio.Future[None] = loop.create_future()
            await loop.create_connection(lambda done=done: Caller(shared, tally, done), "127.0.0.1", port)
            waits.append(done)
        await asyncio.gather(*waits)
        tally.seconds = time.perf_counter() - began
        return tally

    return asyncio.run(go())


def one(port: int, request: bytes) -> bytes:
    """The bytes of one answer, head included."""
    return load(port, [request], 1).last


def body_of(answer: bytes) -> bytes:
    """The body of an answer, chunks joined."""
    head, _, rest = answer.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return rest
    pieces: list[bytes] = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        pieces.append(rest[:length])
        rest = rest[length + 2 :] if length else b""
    return b"".join(pieces)


@dataclass(frozen=True, slots=True)
class Pace:
    """What a paced stream sends: ``tokens`` events ``between_ms`` apart, after ``opening`` events due at once."""

    tokens: int
    between_ms: float
    opening: int = 0

    @property
    def seconds(self) -> float:
        """How long a stream lasts."""
        return self.tokens * self.between_ms / 1000.0

    @property
    def events(self) -> int:
        """Of one stream."""
        return self.tokens + self.opening


class Listener(asyncio.Protocol):
    """One paced stream: for each packet, by how many ms its last token came after its due time."""

    def __init__(self, request: bytes, pace: Pace, done: asyncio.Future[None]) -> None:
        self._request = request
        self._pace = pace
        self._done = done
        self._began = 0.0
        self.events = 0
        self.late_ms: list[float] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._began = time.perf_counter()
        cast(asyncio.Transport, transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        self.events += data.count(b"data: {")
        tokens = min(self.events - self._pace.opening, self._pace.tokens)
        if tokens > 0:
            took_ms = (time.perf_counter() - self._began) * 1000.0
            self.late_ms.append(took_ms - tokens * self._pace.between_ms)
        if data.endswith(END_OF_CHUNKS) and not self._done.done():
            self._done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(exc or ConnectionResetError("the server hung up"))


def listen(port: int, request: bytes, streams: int, pace: Pace, spread_ms: float) -> list[Listener]:
    """So many streams at once, begun evenly within ``spread_ms``; those that were watched.

    Of many streams some two hundred are watched, event by event. The others are read only now and then: otherwise the
    client would be as busy as the server, and it would be the client that is late.
    """
    every = max(streams // WATCHED, 1)

    async def go() -> list[Listener]:
        loop = asyncio.get_running_loop()
        listeners: list[Listener] = []
        waits: list[asyncio.Future[None]] = []
        others: list[socket.socket] = []
        drain = asyncio.create_task(_drained(others, pace.seconds + spread_ms / 1000.0))
        began = loop.time()
        for number in range(streams):
            if number % every:
                others.append(await _opened(port, request))
            else:
                done: asyncio.Future[None] = loop.create_future()
                listener = Listener(request, pace, done)
                await loop.create_connection(lambda listener=listener: listener, "127.0.0.1", port)
                listeners.append(listener)
                waits.append(done)
            ahead = began + spread_ms / 1000.0 * number / streams - loop.time()
            if ahead > 0.001:
                await asyncio.sleep(ahead)
        await asyncio.gather(*waits, drain)
        return listeners

    return asyncio.run(go())


async def _opened(port: int, request: bytes) -> socket.socket:
    """A stream that nobody watches: asked for, and left alone."""
    loop = asyncio.get_running_loop()
    other = socket.socket()
    other.setblocking(False)
    await loop.sock_connect(other, ("127.0.0.1", port))
    await loop.sock_sendall(other, request)
    return other


async def _drained(streams: list[socket.socket], seconds: float) -> None:
    """Read what has come on every stream, now and then, until all have ended; none ends before ``seconds``."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while streams or loop.time() - began < seconds:
        await asyncio.sleep(DRAIN_SECONDS)
        for place, each in enumerate(tuple(streams)):
            try:
                ended = not each.recv(1 << 20)
            except BlockingIOError:
                continue
            if ended:
                each.close()
                streams.remove(each)
            if place % 64 == 0:
                await asyncio.sleep(0)  # the watched ones must not wait for all of them


def numbered(make: Callable[[int], bytes], count: int, first: int = 0) -> Iterator[bytes]:
    """So many requests, each made of its number."""
    return (make(number) for number in range(first, first + count))


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which this share lies (0.99 = the 99th percentile)."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0
