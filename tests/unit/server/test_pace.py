"""Paced streams on a ticker that is driven by hand: a loop whose clock the test moves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fakellm.message import Frame
from fakellm.server.pace import MAX_BUFFERED, SWEPT, TICK_SECONDS, Pump, Ticker


class Transport(asyncio.Transport):
    """A transport that keeps what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.buffered = 0
        self.closing = False

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closing

    def get_write_buffer_size(self) -> int:
        return self.buffered


class Loop:
    """Just enough of an event loop for a ticker: timers that fire when the test says what time it is."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, Any]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Any) -> Any:
        entry = (when, callback)
        self.timers.append(entry)

        class Handle:
            def cancel(handle) -> None:  # noqa: N805
                if entry in self.timers:
                    self.timers.remove(entry)

        return Handle()

    def advance(self, to: float) -> None:
        while due := [entry for entry in self.timers if entry[0] <= to]:
            entry = min(due, key=lambda one: one[0])
            self.timers.remove(entry)
            self.now = max(self.now, entry[0])
            entry[1]()
        self.now = to


def frames(*due: float) -> tuple[Frame, ...]:
    return tuple(Frame(f"{place};".encode(), at) for place, at in enumerate(due))


async def started(*due: float, chunked: bool = False) -> tuple[Loop, Transport, Pump]:
    loop, transport = Loop(), Transport()
    ticker = Ticker(loop)  # type: ignore[arg-type]
    pump = Pump(transport, frames(*due), 0.0, chunked=chunked)
    ticker.add(pump, pump.due)
    return loop, transport, pump


class TestPump:
    """What is written when."""

    async def test_nothing_leaves_before_it_is_due_and_all_by_one_tick_after(self) -> None:
        loop, transport, pump = await started(20, 40)

        loop.advance(0.0199)
        assert [] == transport.written
        loop.advance(0.020 + TICK_SECONDS)
        assert [b"0;"] == transport.written
        loop.advance(0.040 + TICK_SECONDS)
        assert [b"0;", b"1;"] == transport.written
        assert pump.done.done()

    async def test_what_is_due_within_a_tick_is_one_write(self) -> None:
        loop, transport, _ = await started(20.5, 21, 22)

        loop.advance(0.03)

        assert [b"0;1;2;"] == transport.written

    async def test_chunks_are_framed(self) -> None:
        loop, transport, _ = await started(1, chunked=True)

        loop.advance(0.01)

        assert [b"2\r\n0;\r\n"] == transport.written

    async def test_a_slow_reader_pauses_its_stream_and_loses_nothing(self) -> None:
        loop, transport, pump = await started(5, 10)
        transport.buffered = MAX_BUFFERED + 1
        loop.advance(0.05)
        assert [] == transport.written

        transport.buffered = 0
        loop.advance(0.07)

        assert [b"0;1;"] == transport.written
        assert 4 == pump.sent

    async def test_a_peer_that_goes_away_ends_it(self) -> None:
        loop, transport, pump = await started(5, 10)
        loop.advance(0.008)
        transport.closing = True
        loop.advance(0.02)

        with pytest.raises(ConnectionResetError):
            await pump.done
        assert 2 == pump.sent

    async def test_many_pumps_share_one_timer(self) -> None:
        loop, transport = Loop(), Transport()
        ticker = Ticker(loop)  # type: ignore[arg-type]
        for _ in range(100):
            pump = Pump(transport, frames(20), 0.0, chunked=False)
            ticker.add(pump, pump.due)

        assert 1 == len(loop.timers)
        loop.advance(0.03)
        assert 100 == len(transport.written)
        assert [] == loop.timers

    async def test_an_earlier_pump_moves_the_timer_forward(self) -> None:
        loop, transport = Loop(), Transport()
        ticker = Ticker(loop)  # type: ignore[arg-type]
        for due in (100, 10):
            pump = Pump(transport, frames(due), 0.0, chunked=False)
            ticker.add(pump, pump.due)

        loop.advance(0.02)

        assert 1 == len(transport.written)

    async def test_the_collector_looks_at_new_frames_before_they_are_many(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked: list[int] = []
        monkeypatch.setattr("fakellm.server.pace.gc.collect", looked.append)
        ticker = Ticker(Loop())  # type: ignore[arg-type]

        ticker.sweep(SWEPT)
        assert [] == looked
        ticker.sweep(1)
        ticker.sweep(SWEPT)

        assert [0] == looked
