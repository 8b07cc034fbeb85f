"""Faults armed by hand while a server runs: on the next so many answers that they apply to, on top of the scenario's.

An :class:`Armory` belongs to one house. How often an armed fault was played stands in :class:`Counters`, so that the
workers of one server share it; each arming has a slot of its own, never used twice before a reset. A fault that does
not apply to a request waits for one that it applies to. Knows no HTTP.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .ask import Ask
from .errors import FaultError, UsageError
from .faults.registry import FaultCall, parse
from .layouts.base import Layout
from .scenario.match import Counters, MemoryCounters

SLOTS = 1024
"""How many armings there may be from one reset to the next: what several workers share has a size."""


@dataclass(frozen=True, slots=True)
class Armed:
    """One arming. ``number``: its slot and its name in the admin API; ``times``: on so many answers, None = on all;
    ``scenario``: only there, None = everywhere."""

    number: int
    call: FaultCall
    times: int | None = 1
    scenario: str | None = None


@dataclass(slots=True)
class Armory:
    """See the module's paragraph."""

    counters: Counters = field(default_factory=MemoryCounters)
    _armed: dict[int, Armed] = field(default_factory=dict[int, Armed])
    _next: int = 0

    def arm(self, entry: Any, times: int | None = 1, scenario: str | None = None) -> Armed:
        """Arm a fault, written as in a scenario file; raises FaultError."""
        call = parse(entry, "fault")
        if times is not None and (isinstance(times, bool) or not isinstance(times, int) or times < 1):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise FaultError(f"times is a number from 1 on, or null for every answer, not {times!r}", where="times")
        if self._next >= SLOTS:
            raise UsageError(f"{SLOTS} faults were armed since the last reset", hint="reset the server")
        armed = Armed(self._next, call, times, scenario)
        self._armed[armed.number] = armed
        self._next += 1
        return armed

    def disarm(self, number: int) -> bool:
        """Take one back; False when it is not armed."""
        return self._armed.pop(number, None) is not None

    def clear(self) -> None:
        """Take all back and begin anew."""
        self._armed.clear()
        self._next = 0
        self.counters.reset()

    def waits(self, scenario: str) -> bool:
        """Whether an answer of this scenario may be touched: quick, asked for every request."""
        return bool(self._armed) and any(each.scenario in (None, scenario) for each in self._armed.values())

    def take(self, scenario: str, ask: Ask, layout: Layout) -> tuple[FaultCall, ...]:
        """The faults for this answer, which then count as played."""
        taken: list[FaultCall] = []
        for armed in tuple(self._armed.values()):
            if armed.scenario not in (None, scenario) or armed.call.fault.applies(ask, layout) is not None:
                continue
            if self.counters.take(armed.number, armed.times) is not None:
                taken.append(armed.call)
            if self._left(armed) == 0:
                self._armed.pop(armed.number, None)
        return tuple(taken)

    def rows(self) -> list[dict[str, Any]]:
        """What is armed, for the admin API; ``left`` null = on every answer."""
        for armed in tuple(self._armed.values()):
            if self._left(armed) == 0:  # another worker played it out
                self._armed.pop(armed.number, None)
        return [self.row(armed) for armed in self._armed.values()]

    def row(self, armed: Armed) -> dict[str, Any]:
        return {
            "number": armed.number,
            "fault": armed.call.to_entry(),
            "id": armed.call.fault.id,
            "times": armed.times,
            "left": self._left(armed),
            "scenario": armed.scenario,
        }

    def _left(self, armed: Armed) -> int | None:
        return None if armed.times is None else max(0, armed.times - self.counters.played(armed.number))
