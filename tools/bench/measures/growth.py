"""What an answer of ever more tokens costs, whole and streamed: the first time, and when it is asked for again."""

from __future__ import annotations

from typing import Any

from ..measure import Effort, Measure, Tell
from ..process import Server
from ..servers import SCENARIO, chat, fake, new_chat
from ..traffic import load

TOKENS = (10, 100, 1_000, 10_000, 100_000)
WORK = 400_000
"""Tokens that a repeated answer is asked for in all, so that small answers are asked for often."""
FIRSTS = 24
"""Servers that are asked for the smallest answer for the first time: one is over before the system's clock ticks."""


def run(effort: Effort, tell: Tell) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for tokens in TOKENS:
        tell(f"{tokens} tokens")
        rows.append(_row(tokens, effort))
    return {"rows": rows}


def _row(tokens: int, effort: Effort) -> dict[str, Any]:
    row: dict[str, Any] = {"tokens": tokens}
    for name, stream in (("whole", False), ("stream", True)):
        with fake(SCENARIO.format(tokens=tokens)) as server:
            members: dict[str, Any] = {"max_tokens": tokens + 10, "stream": stream}
            load(server.port, [chat(max_tokens=4, stream=stream)], 1)
            before = server.resident_mb()
            variants = max(min(4_000 // tokens, 200), 3)
            first = _spent(server, [new_chat(0, temperature=1 + n / 1000, **members) for n in range(variants)])
            times = max(min(effort.of(WORK) // tokens, 2_000), 4)
            load(server.port, [chat(**members)] * 3, 1)
            again = _spent(server, [chat(**members)] * times)
            row[f"{name}_first_us_per_token"] = round(first / variants / tokens * 1e6, 2)
            row[f"{name}_again_us_per_token"] = round(again / times / tokens * 1e6, 3)
            row[f"{name}_grown_mb"] = round(server.resident_mb() - before, 1)
    return row


def _spent(server: Server, requests: list[bytes]) -> float:
    before = server.cpu_seconds()
    load(server.port, requests, 1)
    return server.cpu_seconds() - before


MEASURE = Measure("growth", "Does cost grow in line with the tokens of an answer?", run)
