"""The plans that a stage keeps: found by what an answer depends on, bounded in number and bytes.

A plan is made when its answer is asked for a second time: it costs more than the answer, and many answers (a seed of
its own in every request) are asked for once. An answer shorter than ``ROOMY_TOKENS`` has a key that leaves out limits
with more room than that. A long answer might be cut by them, so its plan is kept under an exact key (this limit, this
length of the prompt). Knows nothing of requests and stations.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum

from .layouts.base import Served
from .plan import ROOMY_TOKENS, Plan

MAX_PLANS = 1024
MAX_PLAN_BYTES = 80 * 1024 * 1024
"""Of all plans together; one may have three quarters of it: a stream of 100,000 tokens with scores
and ids has 47 MB."""


class _Mark(Enum):
    """What stands for a plan that is not there: the answer is long, was seen once, or cannot be played from pieces."""

    LONG = "long"
    ONCE = "once"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan and what the answer is in numbers."""

    plan: Plan
    served: Served


class Plans:
    """See the module's paragraph. ``find``; without luck play the answer and ask ``wanted``; if it is, ``keep``."""

    def __init__(self, max_plans: int = MAX_PLANS, max_bytes: int = MAX_PLAN_BYTES) -> None:
        self._max_plans = max_plans
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Hashable, Planned | _Mark] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Hashable, exact: Hashable) -> Planned | None:
        """The plan of this answer, if there is one."""
        found = self._kept.get(key)
        if found is _Mark.LONG:
            key = (key, exact)
            found = self._kept.get(key)
        if not isinstance(found, Planned):
            return None
        self._kept.move_to_end(key)
        return found

    def wanted(self, key: Hashable, exact: Hashable, tokens: int) -> Hashable | None:
        """Under which key to keep a plan of the answer that was just played (its longest choice has so many tokens);
        None = it is not worth one (yet)."""
        if tokens >= ROOMY_TOKENS:
            self._put(key, _Mark.LONG)
            key = (key, exact)
        found = self._kept.get(key)
        if found is None:
            self._put(key, _Mark.ONCE)
        return key if found is _Mark.ONCE else None

    def keep(self, key: Hashable, plan: Plan | None, served: Served) -> Planned | None:
        """Keep it, unless it is none or too large for all the others; then it is not made again."""
        if plan is None or plan.size > self._max_bytes * 3 // 4:
            self._put(key, _Mark.NEVER)
            return None
        planned = Planned(plan, served)
        self._put(key, planned)
        return planned

    def clear(self) -> None:
        self._kept.clear()
        self._bytes = 0

    def _put(self, key: Hashable, value: Planned | _Mark) -> None:
        self._bytes += _size(value) - _size(self._kept.pop(key, _Mark.NEVER))
        self._kept[key] = value
        while len(self._kept) > self._max_plans or self._bytes > self._max_bytes:
            self._bytes -= _size(self._kept.popitem(last=False)[1])


def _size(value: Planned | _Mark) -> int:
    return value.plan.size if isinstance(value, Planned) else 0
