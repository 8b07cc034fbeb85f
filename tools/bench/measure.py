"""What a measure is: a name, a question, and a function from effort to numbers.

Every measure has this shape, and stands in ``measures/__init__.py``. ``Effort`` scales how long it takes; ``tell`` is
for progress. Results are plain JSON values, rounded to what they are worth.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .process import Server
from .traffic import load

CONNECTIONS = 8


@dataclass(frozen=True, slots=True)
class Effort:
    """``rounds``: how often servers take turns; ``share``: of the requests of a full run; ``root``: of the checkout."""

    root: Path
    rounds: int = 5
    share: float = 1.0

    def of(self, count: int) -> int:
        """So many requests at this effort, never fewer than a few."""
        return max(int(count * self.share), 16)


Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Measure:
    """One question that the benchmark answers."""

    name: str
    question: str
    run: Callable[[Effort, Tell], dict[str, Any]]


def cpu_us(server: Server, requests: Sequence[bytes] | Iterable[bytes], count: int) -> float:
    """Microseconds of CPU that the server takes for each of ``count`` requests."""
    before = server.cpu_seconds()
    load(server.port, requests, CONNECTIONS)
    return (server.cpu_seconds() - before) / count * 1e6


def median(values: Iterable[float], digits: int = 1) -> float:
    return round(statistics.median(values), digits)
