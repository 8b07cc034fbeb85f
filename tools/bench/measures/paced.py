"""Paced streams: 2,000 at once, 20 ms between tokens, beside aiohttp that sleeps once per token.

CPU time per event says how many events a second one core can pace: the saturation. Lateness is measured at the client,
event by event on some two hundred of the streams, at half of the server's own saturation, in ticks of its shared clock.
"""

from __future__ import annotations

import itertools
from typing import Any

from fakellm.server.pace import TICK_SECONDS

from ..measure import Effort, Measure, Tell
from ..process import Server
from ..servers import fake, sleeping
from ..traffic import Pace, listen, percentile, post

BETWEEN_MS = 20.0
TOKENS = 250
STREAMS = 2_000
SCENARIO = f"""
title: paced
replies:
  - say: {{auto: {{tokens: {TOKENS}}}}}
    timing: {{first_token_ms: {BETWEEN_MS}, between_ms: {BETWEEN_MS}}}
"""
ASKED = post({"model": "tiny", "messages": [{"role": "user", "content": "go"}], "stream": True}, close=True)
OURS, THEIRS = Pace(TOKENS, BETWEEN_MS, opening=1), Pace(TOKENS, BETWEEN_MS)


def run(effort: Effort, tell: Tell) -> dict[str, Any]:
    streams = effort.of(STREAMS)
    with fake(SCENARIO) as ours, sleeping(TOKENS, BETWEEN_MS) as theirs:
        _play(ours, 10, OURS)
        tell(f"{streams} streams, fakellm")
        fakellm = _play(ours, streams, OURS)
        tell(f"{streams} streams, one sleep per token")
        sleeper = _play(theirs, streams, THEIRS)
        half = max(int(fakellm["events_per_cpu_s"] / 2 / (1000.0 / BETWEEN_MS)), 1)
        half = min(half, int(streams * 1.5))
        tell(f"{half} streams, half of the saturation")
        at_half = _play(ours, half, OURS)
    return {
        "streams": streams,
        "between_ms": BETWEEN_MS,
        "tick_ms": TICK_SECONDS * 1000.0,
        "ratio_events_per_cpu_s": round(fakellm["events_per_cpu_s"] / max(sleeper["events_per_cpu_s"], 1.0), 2),
        "late_ticks_p99_at_half": round(at_half["late_ms_p99"] / (TICK_SECONDS * 1000.0), 2),
        "fakellm": fakellm,
        "sleeping": sleeper,
        "half": {"streams": half, **at_half},
    }


def _play(server: Server, streams: int, pace: Pace) -> dict[str, float]:
    before = server.cpu_seconds()
    listeners = listen(server.port, ASKED, streams, pace, spread_ms=pace.seconds * 500.0)
    cpu = max(server.cpu_seconds() - before, 1e-3)
    events = streams * pace.events
    late = list(itertools.chain.from_iterable(listener.late_ms for listener in listeners))
    return {
        "events_per_cpu_s": round(events / cpu),
        "event_us": round(cpu / max(events, 1) * 1e6, 2),
        "late_ms_p50": round(percentile(late, 0.5), 2),
        "late_ms_p99": round(percentile(late, 0.99), 2),
    }


MEASURE = Measure("paced", "How many paced streams does a core carry, and how late are their events?", run)
