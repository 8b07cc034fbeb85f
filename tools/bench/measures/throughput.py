"""Answers and streamed events per second at 64 connections, and how long each takes."""

from __future__ import annotations

from typing import Any

from ..measure import Effort, Measure, Tell, median
from ..process import Server
from ..servers import both, chat
from ..traffic import body_of, load, one, percentile

CONNECTIONS = 64
REQUESTS = 20_000
STREAMS = 2_000


def run(effort: Effort, tell: Tell) -> dict[str, Any]:
    with both() as (ours, theirs):
        events = body_of(one(ours.port, chat(stream=True))).count(b"\n\n")
        found: dict[str, list[dict[str, float]]] = {"fakellm": [], "constant": []}
        for place in range(max(effort.rounds // 2, 1)):
            for name, server in (("fakellm", ours), ("constant", theirs)):
                tell(f"{name}, round {place + 1}")
                found[name].append(_once(server, effort, events))
    return {
        name: {key: median((row[key] for row in rows), 0 if key.endswith("_per_s") else 2) for key in rows[0]}
        for name, rows in found.items()
    }


def _once(server: Server, effort: Effort, events: int) -> dict[str, float]:
    load(server.port, [chat()] * CONNECTIONS * 2, CONNECTIONS)
    whole = load(server.port, [chat()] * effort.of(REQUESTS), CONNECTIONS)
    stream = load(server.port, [chat(stream=True)] * effort.of(STREAMS), CONNECTIONS)
    return {
        "requests_per_s": whole.answers / whole.seconds,
        "p50_ms": percentile(whole.took_ms, 0.5),
        "p99_ms": percentile(whole.took_ms, 0.99),
        "events_per_s": stream.answers * events / stream.seconds,
    }


MEASURE = Measure("throughput", "How many answers and events a second, at 64 connections?", run)
