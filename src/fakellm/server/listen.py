"""One listening socket whose connections take the quick way (``direct.py``) as long as they are plain.

Accepts, hangs up on connections that were silent too long (and on the longest silent ones when file handles run out),
and at the end lets answers in flight finish.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket

from .direct import Desk, Direct
from .trouble import making_room

BACKLOG = 1024
KEEP_ALIVE_SECONDS = 75.0
"""As long as uvicorn's neighbours in front of it usually wait; aiohttp has the same number."""
SWEEP_SECONDS = 15.0
ROOM = 32
"""Idle connections that are given up at once when handles run out."""


class Listener:
    """``start`` with a bound socket, ``stop`` with patience."""

    def __init__(self, desk: Desk, *, keep_alive: float = KEEP_ALIVE_SECONDS) -> None:
        self._desk = desk
        self._keep_alive = keep_alive
        self._server: asyncio.Server | None = None
        self._sweeping: asyncio.TimerHandle | None = None
        self._helping = contextlib.ExitStack()

    async def start(self, bound: socket.socket) -> None:
        """Accept on this socket."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Direct(self._desk, loop), sock=bound, backlog=BACKLOG)
        self._sweeping = loop.call_later(SWEEP_SECONDS, self.sweep)
        self._helping.enter_context(making_room(self.make_room))

    def make_room(self) -> None:
        """Hang up on whoever is silent longest, so that others get in."""
        idle = [(one.idle_since, one) for one in self._desk.connections if one.idle_since is not None]
        for _, connection in sorted(idle, key=lambda row: row[0])[:ROOM]:
            connection.close()

    def sweep(self) -> None:
        """Hang up on whoever was silent too long, and come again."""
        loop = asyncio.get_running_loop()
        for connection in tuple(self._desk.connections):
            if connection.idle_since is not None and loop.time() - connection.idle_since > self._keep_alive:
                connection.close()
        self._sweeping = loop.call_later(SWEEP_SECONDS, self.sweep)

    async def stop(self, patience: float) -> None:
        """Accept no more, close what is idle, give the rest so many seconds."""
        self._helping.close()
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while self._close_idle():
                    await asyncio.sleep(0.01)
        for connection in tuple(self._desk.connections):
            connection.close()

    def _close_idle(self) -> int:
        """How many connections are still busy."""
        for connection in tuple(self._desk.connections):
            if connection.idle_since is not None:
                connection.close()
        return sum(connection.idle_since is None for connection in self._desk.connections)
