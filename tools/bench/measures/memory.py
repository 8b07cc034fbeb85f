"""Resident memory from request to request: flat from the first tenth on, with equal and with ever-new prompts?"""

from __future__ import annotations

from typing import Any

from ..measure import CONNECTIONS, Effort, Measure, Tell
from ..servers import SCENARIO, TOKENS, chat, fake, new_chat
from ..traffic import load, numbered

REQUESTS = 100_000
PARTS = 10


def run(effort: Effort, tell: Tell) -> dict[str, Any]:
    return {name: _sizes(effort, tell, new) for name, new in (("equal", False), ("ever_new", True))}


def _sizes(effort: Effort, tell: Tell, new: bool) -> dict[str, Any]:
    part = effort.of(REQUESTS) // PARTS
    with fake(SCENARIO.format(tokens=TOKENS)) as server:
        at_start = server.resident_mb()
        sizes: list[float] = []
        for place in range(PARTS):
            tell(f"{'ever-new' if new else 'equal'} prompts, {(place + 1) * part} of {PARTS * part}")
            load(server.port, numbered(new_chat, part, place * part) if new else [chat()] * part, CONNECTIONS)
            sizes.append(server.resident_mb())
    return {
        "requests": [(place + 1) * part for place in range(PARTS)],
        "at_start_mb": at_start,
        "sizes_mb": sizes,
        "growth": round(max(sizes[1:]) / sizes[0] - 1, 4),
    }


MEASURE = Measure("memory", "Is memory flat from request 10,000 to request 100,000?", run)
