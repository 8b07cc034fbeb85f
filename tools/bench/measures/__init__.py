"""Every measure of the benchmark, in the order in which they run and are told."""

from __future__ import annotations

from ..measure import Measure
from . import cost, growth, memory, paced, peers, scenarios, start, throughput, variants

MEASURES: tuple[Measure, ...] = (
    cost.MEASURE,
    peers.MEASURE,
    throughput.MEASURE,
    paced.MEASURE,
    start.MEASURE,
    variants.MEASURE,
    growth.MEASURE,
    scenarios.MEASURE,
    memory.MEASURE,
)
