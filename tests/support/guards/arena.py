"""Servers in this process for probes: the real listener and the real aiohttp application on a free port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fakellm.fake import Fake
from fakellm.house import House
from fakellm.message import Frame, Wire
from fakellm.scenario.load import from_text
from fakellm.server import run
from fakellm.server.direct import Desk
from fakellm.server.listen import Listener
from fakellm.stage import Answer


@dataclass
class WireStage:
    """A stage that always sends the same bytes."""

    wire: Wire
    name: str = "wire"

    def answer(self, request: object) -> Answer:
        return Answer(self.wire)


def stream(*frames: tuple[bytes, float]) -> WireStage:
    """Frames with their due times in ms."""
    head = (("content-type", "text/event-stream"),)
    return WireStage(Wire(200, head, tuple(Frame(data, due) for data, due in frames), stream=True))


@dataclass
class Here:
    """A server in this process."""

    address: tuple[str, int]
    fake: Fake
    desk: Desk
    listener: Listener
    house: House


SCENARIO = "replies: [{say: Hello}]"


@asynccontextmanager
async def here(
    playing: Any = None, *, text: str = SCENARIO, house: House | None = None, **bound: Any
) -> AsyncIterator[Here]:
    """A server; ``playing``: what answers, else a scenario. ``bound``: limits as ``run.Bound`` has them."""
    scenario = from_text(text, "probe")
    made = house or House({"probe": scenario}, scenario)
    if playing is not None:
        made.fake.default = playing
    limits = run.Bound(**bound)
    runner = run._runner(run.make_app_with_admin(made, limits))
    await runner.setup()
    socket = run.bound_socket("127.0.0.1", 0)
    desk = run._desk(made, limits, runner)
    listener = Listener(desk)
    await listener.start(socket)
    try:
        yield Here(socket.getsockname()[:2], made.fake, desk, listener, made)
    finally:
        await listener.stop(0.0)
        runner._shutdown_timeout = 0.1
        await runner.cleanup()
        socket.close()
