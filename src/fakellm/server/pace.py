"""Paced streams without a task wake-up per token: one shared tick writes whatever is due.

A :class:`Pump` is one stream: its frames, already framed as HTTP chunks, and the transport they go to. The
:class:`Ticker` keeps pumps in buckets by tick and wakes once per tick that has any; each pump writes all that is due in
one write and says when it is due next. A frame leaves at most one tick late. Reader too slow: nothing more is written
until its buffer has drained, so memory stays bounded by what the answer is.
"""

from __future__ import annotations

import asyncio
import gc
import heapq
import math
import weakref
from collections.abc import Sequence

from ..message import Frame, Wire

TICK_SECONDS = 0.005
"""How long a frame may be late at most when the machine keeps up: far below what a token takes anywhere."""
WAKES_A_TICK = 2
"""How often the clock looks in that time: half the events each time, so that the last of them waits less."""
ROUNDING = 1e-6
"""Clock readings this close (in ticks, or ms) count as the same moment."""
SWEPT = 10_000
"""New frames that Python's collector looks at in one go, in about a millisecond. Left alone it counts what dies against
what is born: while a journal forgets as many frames as begin it sees nothing to do, and then looks at hundreds of
thousands at once, for which every stream waited some 50 ms."""
MAX_BUFFERED = 256 * 1024
"""Bytes that may wait in a transport before its stream pauses."""


def may_be_aborted(wire: Wire) -> bool:
    """A stream, or a whole answer that leaves at once when it is due: not one whose framing or packets are made up."""
    if any(name == "content-length" for name, _ in wire.headers):
        return False
    return wire.stream or (not wire.cut and (wire.coalesce or len(wire.frames) < 2))


def due_ms_of(wire: Wire) -> float:
    """When the last frame is due."""
    return max((frame.due_ms for frame in wire.frames), default=0.0)


class Pump:
    """One paced stream. ``started``: loop time of the request; ``chunked``: frame the bytes as HTTP chunks."""

    def __init__(self, transport: asyncio.Transport, frames: Sequence[Frame], started: float, *, chunked: bool) -> None:
        self._transport = transport
        self._frames = frames
        self._started = started
        self._chunked = chunked
        self._next = 0
        self.sent = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def play(self) -> None:
        """Until the last frame is written; raises ConnectionResetError when the peer goes away (``sent`` says when)."""
        self.start()
        await self.done

    def start(self) -> None:
        """Let the loop's ticker play it; ``done`` tells the end."""
        if self._frames:
            ticker = ticker_of(asyncio.get_running_loop())
            ticker.add(self, self.due)
            ticker.sweep(len(self._frames))
        else:
            self.done.set_result(None)

    def replace(self, frames: Sequence[Frame]) -> None:
        """Send these instead of what is left; what is due leaves at once."""
        loop = asyncio.get_running_loop()
        self._frames, self._next = frames, 0
        again = self.run(loop.time())
        if again is not None:  # its old turn may come too, and then finds nothing to do
            ticker_of(loop).add(self, again)

    def reach(self) -> float | None:
        """Write what is due; milliseconds since the request, None = over."""
        now = asyncio.get_running_loop().time()
        self.run(now)
        return None if self.done.done() else (now - self._started) * 1000.0 + ROUNDING

    @property
    def due(self) -> float:
        """Loop time of the next frame."""
        return self._started + self._frames[self._next].due_ms / 1000.0

    def run(self, now: float) -> float | None:
        """Write everything that is due; the loop time when to come again, None = over."""
        if self.done.done():
            return None
        if self._transport.is_closing():
            self.done.set_exception(ConnectionResetError("the client disconnected"))
            return None
        if self._transport.get_write_buffer_size() > MAX_BUFFERED:
            return now + TICK_SECONDS
        elapsed_ms = (now - self._started) * 1000.0 + ROUNDING
        frames, first = self._frames, self._next
        last, count = first, len(frames)
        room = MAX_BUFFERED  # when ticks come late much is due at once
        while room > 0 and last < count and frames[last].due_ms <= elapsed_ms:
            room -= len(frames[last].data)
            last += 1
        self._next = last
        if room < MAX_BUFFERED:
            self.sent += MAX_BUFFERED - room
            self._transport.write(_joined(frames[first:last], self._chunked))
        if last == count:
            self.done.set_result(None)
            return None
        return self._started + frames[last].due_ms / 1000.0


def _joined(due: Sequence[Frame], chunked: bool) -> bytes:
    """Their bytes for one write, each as an HTTP chunk of its own; mostly it is one frame."""
    if len(due) == 1:
        data = due[0].data
        return b"%x\r\n%b\r\n" % (len(data), data) if chunked else data
    if not chunked:
        return b"".join([frame.data for frame in due])
    return b"".join([b"%x\r\n%b\r\n" % (len(frame.data), frame.data) for frame in due if frame.data])


class Ticker:
    """Wakes pumps at ticks. One per event loop (``ticker_of``)."""

    def __init__(self, loop: asyncio.AbstractEventLoop, tick: float = TICK_SECONDS / WAKES_A_TICK) -> None:
        self._loop = loop
        self._tick = tick
        self._buckets: dict[int, list[Pump]] = {}
        self._ticks: list[int] = []
        self._timer: asyncio.TimerHandle | None = None
        self._armed = 0
        self._made = 0

    def add(self, pump: Pump, due: float) -> None:
        """Run the pump at the first tick from ``due`` (loop time) on."""
        self._put(pump, math.ceil(due / self._tick - ROUNDING))

    def sweep(self, frames: int) -> None:
        """So many frames were made for a stream; the collector looks at them when they are ``SWEPT``."""
        self._made += frames
        if self._made > SWEPT:
            self._made = 0
            gc.collect(0)

    def _put(self, pump: Pump, number: int) -> None:
        bucket = self._buckets.get(number)
        if bucket is None:
            self._buckets[number] = [pump]
            heapq.heappush(self._ticks, number)
            if self._timer is None or number < self._armed:
                self._arm(number)
        else:
            bucket.append(pump)

    def _arm(self, number: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._armed = number
        self._timer = self._loop.call_at(number * self._tick, self._fire)

    def _fire(self) -> None:
        self._timer = None
        now = self._loop.time()
        current = math.floor(now / self._tick + ROUNDING)
        while self._ticks and self._ticks[0] <= current:
            for pump in self._buckets.pop(heapq.heappop(self._ticks)):
                again = pump.run(now)
                if again is not None:
                    self._put(pump, max(math.ceil(again / self._tick - ROUNDING), current + 1))
        if self._ticks and (self._timer is None or self._ticks[0] < self._armed):
            self._arm(self._ticks[0])


_TICKERS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Ticker] = weakref.WeakKeyDictionary()


def ticker_of(loop: asyncio.AbstractEventLoop) -> Ticker:
    """The ticker of an event loop."""
    ticker = _TICKERS.get(loop)
    if ticker is None:
        ticker = _TICKERS[loop] = Ticker(loop)
    return ticker
