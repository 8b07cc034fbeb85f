"""State of several worker processes on one machine: counters in shared memory behind one lock.

Made by the supervisor before it forks; every worker inherits the same memory. Each worker numbers equal requests for
itself, so its number goes into the random ids. Journals stay with the workers; the admin process joins them. An abort
that one worker hears is told to the others (``mailboxes``).
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Mapping, Sequence
from typing import Any

from ..armed import SLOTS
from ..layouts.base import Which
from ..scenario.match import Counters
from ..scenario.model import Scenario
from .mailboxes import Hear, Mailboxes


class SharedCounters:
    """The counters of one scenario: one cell per reply, and a last one for the calls."""

    def __init__(self, replies: int) -> None:
        self._cells: Any = multiprocessing.get_context("fork").Array("q", replies + 1, lock=True)
        self._calls = replies

    def take(self, index: int, limit: int | None) -> int | None:
        with self._cells.get_lock():
            count: int = self._cells[index]
            if limit is not None and count >= limit:
                return None
            self._cells[index] = count + 1
            return count

    def played(self, index: int) -> int:
        return int(self._cells[index])

    def call(self) -> int:
        with self._cells.get_lock():
            self._cells[self._calls] += 1
            return int(self._cells[self._calls])

    def reset(self) -> None:
        with self._cells.get_lock():
            for place in range(self._calls + 1):
                self._cells[place] = 0


class OtherWorkers:
    """What the other workers have of one scenario (``aborting.Elsewhere``): a cell for each in shared memory."""

    def __init__(self, scenario: str, mailboxes: Mailboxes) -> None:
        self._scenario = scenario
        self._mailboxes = mailboxes
        self._cells: Any = multiprocessing.get_context("fork").RawArray("q", max(len(mailboxes), 1))

    def have(self, requests: int) -> None:
        if self._mailboxes.own is not None:
            self._cells[self._mailboxes.own] = requests

    def requests(self) -> int:
        own = self._mailboxes.own
        return sum(int(cell) for number, cell in enumerate(self._cells) if number != own)

    def abort(self, which: Which) -> None:
        self._mailboxes.tell(self._scenario, which)


class WorkerState:
    """The state that a supervisor shares with its workers. ``salt`` is set in each worker after the fork."""

    publishes = False

    def __init__(self) -> None:
        self.salt = ""
        self.mailboxes = Mailboxes()
        self._others: list[OtherWorkers] = []
        self._counters: list[SharedCounters] = []

    def counters(self, scenario: Scenario) -> Counters:
        counters = SharedCounters(len(scenario.replies))
        self._counters.append(counters)
        return counters

    def armed_counters(self) -> Counters:
        return SharedCounters(SLOTS)

    def ordinal(self, digest: bytes) -> int | None:
        return None

    def publish(self, exchange: Mapping[str, Any]) -> None:
        """The admin process asks each worker instead."""

    def journal(self) -> Sequence[Mapping[str, Any]] | None:
        return None

    def elsewhere(self, scenario: str) -> OtherWorkers:
        others = OtherWorkers(scenario, self.mailboxes)
        self._others.append(others)
        return others

    def begin(self, number: int, loop: asyncio.AbstractEventLoop, hear: Hear) -> None:
        """This process is worker ``number`` from now on, perhaps in place of one that died in the middle of answers."""
        self.mailboxes.take(number, loop, hear)
        for others in self._others:
            others.have(0)

    def reset(self) -> None:
        for counters in self._counters:
            counters.reset()
