"""/v1/loads and /get_load of SGLang: what an engine without waiting requests tells about its load.

One rank that runs whatever is in flight and queues nothing: the fake has no scheduler. Knows no request.
"""

from __future__ import annotations

from typing import Any

from .dates import isoformat
from .traits import Trait, Traits

CAPACITY = 100_000
"""max_total_num_tokens of the pretended engine; a real one depends on its memory."""
_RUNNING = 2048


def loads(traits: Traits, now: float, running: int = 0) -> dict[str, Any]:
    """/v1/loads at ``now`` (seconds since the epoch) with ``running`` requests in flight."""
    rank = _rank(traits, now, running)
    stamp = isoformat(now)
    told: dict[str, Any] = {"timestamp": stamp, "version": traits.text}
    if traits.has(Trait.LOADS_ACCELERATOR):
        told |= {"accelerator": None, "num_accelerators": 1}
    if not traits.has(Trait.LOADS_SUMMED):
        return {**told, "loads": [rank]}
    totals = {"total_running_reqs": running, "total_waiting_reqs": 0, "total_reqs": running}
    averages = {"avg_token_usage": 0.0, "avg_throughput": 0.0, "avg_utilization": 0.0}
    return {**told, "dp_rank_count": 1, "loads": [rank], "aggregate": totals | averages}


def load_list(traits: Traits, now: float, running: int = 0) -> list[dict[str, Any]]:
    """/get_load at ``now``."""
    load: dict[str, Any] = {"dp_rank": 0, "num_reqs": running, "num_waiting_reqs": 0, "num_tokens": 0}
    if traits.has(Trait.GET_LOAD_PENDING):
        load["num_pending_tokens"] = 0
    if traits.has(Trait.GET_LOAD_TICK):
        load["ts_tic"] = now
    return [load]


def _rank(traits: Traits, now: float, running: int) -> dict[str, Any]:
    """One rank's load: counts, then rates; the sums of 0.5.9 to 0.5.12 are told per rank too."""
    rank: dict[str, Any] = {"timestamp": now, "dp_rank": 0, "num_running_reqs": running, "num_waiting_reqs": 0}
    rank |= {"num_used_tokens": 0, "num_total_tokens": 0, "max_total_num_tokens": CAPACITY}
    rank |= {"max_running_requests": _RUNNING, "token_usage": 0.0, "gen_throughput": 0.0}
    rank |= {"cache_hit_rate": 0.0, "utilization": 0.0}
    if traits.has(Trait.LOADS_SUMMED):
        rank["num_total_reqs"] = running
    return rank
