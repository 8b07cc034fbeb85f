"""Which reply answers a request: the run state of one scenario.

A :class:`Script` plays one scenario: it finds the first reply whose ``when`` holds and which is not used up, counts
what was played, and knows what is left over. Rules that name exact values are looked up, so the cost does not grow with
the number of such replies; the others are tried in order. Counters sit behind :class:`Counters`, so that several
workers can share them. No clock, no I/O; asynchronous code may call it, it never waits.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from ..ask import Ask
from .model import Reply, Scenario
from .nearest import NearMiss, NoReply, nearest
from .rules import View, key_of


class Counters(Protocol):
    """The state of a script, in memory or shared. Each method is atomic."""

    def take(self, index: int, limit: int | None) -> int | None:
        """How often reply ``index`` was played before, counting this time; None when it was ``limit`` times already."""
        ...

    def played(self, index: int) -> int:
        """How often reply ``index`` was played."""
        ...

    def call(self) -> int:
        """The number of this request to the scenario, from 1."""
        ...

    def reset(self) -> None:
        """Back to the beginning."""
        ...


class MemoryCounters:
    """Counters of one process."""

    def __init__(self) -> None:
        self._played: Counter[int] = Counter()
        self._calls = 0

    def take(self, index: int, limit: int | None) -> int | None:
        count = self._played[index]
        if limit is not None and count >= limit:
            return None
        self._played[index] = count + 1
        return count

    def played(self, index: int) -> int:
        return self._played[index]

    def call(self) -> int:
        self._calls += 1
        return self._calls

    def reset(self) -> None:
        self._played.clear()
        self._calls = 0


@dataclass(frozen=True, slots=True)
class Matched:
    """The reply that answers. ``index``: which of ``replies``; ``turn``: place in its row (0 = ``say``, 1 = first of
    ``then``). ``ordinal``: how many requests this reply answered before. ``stateless``: an equal request will get the
    same reply until the script is reset."""

    scenario: str
    reply: Reply
    index: int
    turn: int
    ordinal: int
    stateless: bool

    @property
    def key(self) -> tuple[str, int, int | None]:
        """What the composed answer depends on, besides the request: equal keys are the same reply."""
        return self.scenario, self.index, self.turn or None


@dataclass(frozen=True, slots=True)
class Unused:
    """A reply that was to be played ``due`` times and was played less often."""

    scenario: str
    index: int
    where: str
    played: int
    due: int

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        return f"{self.scenario}: replies[{self.index}]{where} was played {self.played} of {self.due} times"


class Script:
    """One scenario being played. ``match`` is the only method that changes anything, besides ``reset``."""

    def __init__(self, scenario: Scenario, counters: Counters | None = None) -> None:
        self.scenario = scenario
        self._counters = counters or MemoryCounters()
        self._index = _Index(scenario.replies)
        self._counts_calls = scenario.counts_calls

    def match(self, ask: Ask) -> Matched:
        """The reply for this request, which then counts as played; raises :class:`NoReply`."""
        view = View(ask, self._counters.call())
        replies = self.scenario.replies
        for index in self._index.candidates(view):
            reply = replies[index]
            if not reply.when.holds(view):
                continue
            ordinal = self._counters.take(index, reply.limit)
            if ordinal is not None:
                turn = ordinal % (1 + len(reply.then))
                # Replies before this one that hold are used up, and stay so.
                stateless = reply.limit is None and not self._counts_calls
                return Matched(self.scenario.name, reply.at(turn), index, turn, ordinal, stateless)
        raise NoReply(self.scenario.name, self.near_misses(view))

    def candidates(self, view: View) -> Iterator[int]:
        """The replies that exact values leave possible for a request, in order."""
        return self._index.candidates(view)

    def near_misses(self, view: View) -> tuple[NearMiss, ...]:
        """The three replies that come closest to a request."""
        return nearest(self.scenario.replies, view, self._counters.played)

    def unused(self) -> tuple[Unused, ...]:
        """Replies with a limit (``times`` or ``then``) that were not played to the end."""
        name = self.scenario.name
        rows = [
            Unused(name, index, reply.where, self._counters.played(index), reply.limit)
            for index, reply in enumerate(self.scenario.replies)
            if reply.limit is not None
        ]
        return tuple(row for row in rows if row.played < row.due)

    def reset(self) -> None:
        """Back to the beginning: nothing has been played."""
        self._counters.reset()

    def revise(self, index: int, reply: Reply) -> None:
        """Put another reply in the place of one; how often it was played stays counted."""
        before = self.scenario.replies
        self.scenario = replace(self.scenario, replies=(*before[:index], reply, *before[index + 1 :]))
        self._index = _Index(self.scenario.replies)
        self._counts_calls = self.scenario.counts_calls

    def extend(self, replies: Iterable[Reply]) -> None:
        """Add replies at the end; what was played stays counted."""
        self.scenario = replace(self.scenario, replies=(*self.scenario.replies, *replies))
        self._index = _Index(self.scenario.replies)
        self._counts_calls = self.scenario.counts_calls


class _Index:
    """Replies filed under exact values: field -> value -> replies, in order; the rest is tried.

    Each reply is filed under one of its exact conditions only, the one that fewest replies share.
    """

    def __init__(self, replies: tuple[Reply, ...]) -> None:
        usage: Counter[tuple[str, Hashable]] = Counter(
            (field, key) for reply in replies for field, keys in _exact(reply) for key in keys
        )
        self._filed: dict[str, dict[Hashable, list[int]]] = {}
        self._tried: list[int] = []
        for index, reply in enumerate(replies):
            exact = _exact(reply)
            if not exact:
                self._tried.append(index)
                continue
            field, keys = min(exact, key=lambda row: sum(usage[row[0], key] for key in row[1]))
            for key in dict.fromkeys(keys):
                self._filed.setdefault(field, {}).setdefault(key, []).append(index)

    def candidates(self, view: View) -> Iterator[int]:
        """Replies that may answer, in order; every one that is left out cannot."""
        rows = [self._tried] if self._tried else []
        for field, filed in self._filed.items():
            for value in view.values(field):
                row = filed.get(key_of(value))
                if row is not None:
                    rows.append(row)
        return iter(rows[0]) if len(rows) == 1 else heapq.merge(*rows)


def _exact(reply: Reply) -> list[tuple[str, tuple[Hashable, ...]]]:
    rows = [
        (condition.field, None if condition.absent else condition.rule.keys()) for condition in reply.when.conditions
    ]
    return [(field, keys) for field, keys in rows if keys is not None]
