"""Words between the workers of one machine: a datagram inbox for each, made before the fork and inherited by all.

A word says which answers of a scenario are to be aborted. It is sent and forgotten: a worker that is away or floods its
inbox loses it, nobody waits. Knows no stage; who hears a word does what it says.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable
from typing import Any

from ..layouts.base import Which

MOST_IDS = 256
"""Ids in one datagram: a list of any length arrives in several."""

Hear = Callable[[str, Which], None]


class Mailboxes:
    """See the module's paragraph. ``own``: the number of this worker, None in other processes."""

    def __init__(self) -> None:
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self.own: int | None = None

    def __len__(self) -> int:
        return len(self._pairs)

    def open(self, count: int) -> None:
        """An inbox for each of so many workers; before the fork."""
        for _ in range(count):
            inbox, door = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            for end in (inbox, door):
                end.setblocking(False)
            self._pairs.append((inbox, door))

    def take(self, number: int, loop: asyncio.AbstractEventLoop, hear: Hear) -> None:
        """From now on this process is worker ``number``: ``hear`` gets what the others say."""
        self.own = number
        loop.add_reader(self._pairs[number][0], self._read, self._pairs[number][0], hear)

    def tell(self, scenario: str, which: Which) -> None:
        """Say it to all others; before ``take``, and in the admin process, to nobody."""
        if self.own is None:
            return
        for word in _words(scenario, which):
            for number, (_, door) in enumerate(self._pairs):
                if number != self.own:
                    with contextlib.suppress(OSError):
                        door.send(word)

    def close(self) -> None:
        """Close every end."""
        for pair in self._pairs:
            for end in pair:
                end.close()
        self._pairs.clear()

    def _read(self, inbox: socket.socket, hear: Hear) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                said: dict[str, Any] = json.loads(inbox.recv(1 << 20))
                ids = said["ids"]
                hear(said["scenario"], Which(None if ids is None else tuple(ids), said["prefix"]))


def _words(scenario: str, which: Which) -> list[bytes]:
    parts: list[tuple[str, ...] | None] = [None]
    if which.ids is not None:
        parts = [which.ids[at : at + MOST_IDS] for at in range(0, len(which.ids), MOST_IDS)]
    return [json.dumps({"scenario": scenario, "ids": ids, "prefix": which.prefix}).encode() for ids in parts]
