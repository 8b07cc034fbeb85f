"""When each engine step of a reply is due: a pure schedule in milliseconds, no clock and no sleep.

``Timing(first_token_ms=50, between_ms=20).due(2)`` is 90.0. Delays are fixed numbers or drawn from a log-normal
distribution (median and sigma), which is what measured servers look like; the draw is a function of seed and step, so
a schedule is the same on every machine. ``dribble`` belongs to the transport: bytes per write and the pause between
writes. Nothing here knows scenarios, layouts or sockets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from .chance import Stream

MAX_DELAY_MS = 24 * 3600 * 1000.0
"""No drawn delay is longer than a day: a wide sigma must not become an infinity."""


@dataclass(frozen=True, slots=True)
class LogNormal:
    """A delay in milliseconds with this median; ``sigma`` is the standard deviation of its logarithm (0.3 is calm,
    1.0 is wild)."""

    median: float
    sigma: float

    def draw(self, chance: Stream) -> float:
        return min(self.median * math.exp(min(self.sigma * chance.normal(), 700.0)), MAX_DELAY_MS)


Delay = float | LogNormal


@dataclass(frozen=True, slots=True)
class Dribble:
    """At most ``bytes`` bytes a write, ``every_ms`` milliseconds between writes."""

    bytes: int
    every_ms: float


def _no_steps() -> list[float]:
    return []


@dataclass(frozen=True, slots=True)
class Timing:
    """A schedule. ``first_token_ms``: request to first step; ``between_ms``: step to step; ``seed`` names the draw.

    >>> Timing(first_token_ms=50, between_ms=20).due(0)
    50.0
    """

    first_token_ms: Delay = 0.0
    between_ms: Delay = 0.0
    dribble: Dribble | None = None
    seed: int | str = 0
    _drawn: list[float] = field(default_factory=_no_steps, init=False, repr=False, compare=False)

    def due(self, step_index: int) -> float:
        """Milliseconds from the request to step ``step_index`` (0 is the first); never falls as the index grows."""
        if isinstance(self.first_token_ms, LogNormal) or isinstance(self.between_ms, LogNormal):
            return self._drawn_due(step_index)
        return self.first_token_ms + step_index * float(self.between_ms)

    def seeded(self, *words: object) -> Timing:
        """The same delays drawn anew under another name, so that requests do not all share one schedule."""
        return replace(self, seed=repr((self.seed, *words)))

    def _drawn_due(self, step_index: int) -> float:
        # Sums are kept, so a stream that asks step by step costs one draw a step. A thread that fills the same list at
        # the same time would draw the same numbers, but not safely: one event loop owns a Timing.
        while len(self._drawn) <= step_index:
            index = len(self._drawn)
            delay = self.between_ms if index else self.first_token_ms
            drawn = delay.draw(Stream("timing", self.seed, index)) if isinstance(delay, LogNormal) else delay
            self._drawn.append(drawn + (self._drawn[-1] if index else 0.0))
        return self._drawn[step_index]
