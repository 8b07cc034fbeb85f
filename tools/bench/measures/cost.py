"""CPU per whole answer and per streamed event, as ratios to the constant server that sends the same bytes."""

from __future__ import annotations

import itertools
from typing import Any

from ..measure import Effort, Measure, Tell, cpu_us, median
from ..process import Server
from ..servers import both, chat, new_chat
from ..traffic import body_of, numbered, one

REQUESTS = 4000
NEW = 2000
STREAMS = 800


def run(effort: Effort, tell: Tell) -> dict[str, Any]:
    with both() as (ours, theirs):
        events = body_of(one(ours.port, chat(stream=True))).count(b"\n\n")
        rows = _rounds(ours, theirs, effort, tell)
    stream, constant_stream = rows["stream"], rows["constant_stream"]
    return {
        "ratio_per_request": _ratio(rows["whole"], rows["constant"]),
        "ratio_per_request_new_prompts": _ratio(rows["new"], rows["constant"]),
        "ratio_per_event": _ratio(stream, constant_stream),
        "request_us": median(rows["whole"]),
        "request_new_prompts_us": median(rows["new"]),
        "constant_request_us": median(rows["constant"]),
        "event_us": round(median(stream, 3) / events, 2),
        "constant_event_us": round(median(constant_stream, 3) / events, 2),
        "events": events,
    }


def _rounds(ours: Server, theirs: Server, effort: Effort, tell: Tell) -> dict[str, list[float]]:
    count, streams, new = effort.of(REQUESTS), effort.of(STREAMS), effort.of(NEW)
    fresh = itertools.count()
    for server in (ours, theirs):
        cpu_us(server, [chat()] * (count // 2), count)
    rows: dict[str, list[float]] = {name: [] for name in ("whole", "constant", "new", "stream", "constant_stream")}
    for place in range(effort.rounds):
        tell(f"round {place + 1} of {effort.rounds}")
        rows["whole"].append(cpu_us(ours, [chat()] * count, count))
        rows["constant"].append(cpu_us(theirs, [chat()] * count, count))
        rows["new"].append(cpu_us(ours, numbered(new_chat, new, next(fresh) * new), new))
        rows["stream"].append(cpu_us(ours, [chat(stream=True)] * streams, streams))
        rows["constant_stream"].append(cpu_us(theirs, [chat(stream=True)] * streams, streams))
    return rows


def _ratio(ours: list[float], theirs: list[float]) -> float:
    """The median of the rounds' own ratios: what disturbs one round disturbs both servers."""
    return median((one / other for one, other in zip(ours, theirs, strict=True)), 3)


MEASURE = Measure("cost", "What does an answer cost beside a constant one?", run)
