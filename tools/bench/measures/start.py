"""Cold start, and the time to the first byte of an answer from an idle server."""

from __future__ import annotations

import sys
import time
from typing import Any

from ..measure import Effort, Measure, Tell, median
from ..process import Server, serving
from ..servers import SCENARIO, TOKENS, both, chat, constant, fake, new_chat
from ..traffic import load, numbered, one, percentile

STARTS = 5
REQUESTS = 1_000


def run(effort: Effort, tell: Tell) -> dict[str, Any]:
    starts = max(int(STARTS * effort.share), 2)
    rows: dict[str, list[float]] = {"listening_s": [], "first_answer_s": [], "constant_listening_s": []}
    for place in range(starts):
        tell(f"start {place + 1} of {starts}")
        began = time.monotonic()
        with fake(SCENARIO.format(tokens=TOKENS)) as server:
            one(server.port, chat())
            rows["first_answer_s"].append(time.monotonic() - began)
            rows["listening_s"].append(server.listening_after)
        with constant(b"{}", b"data: {}\n\n") as server:
            rows["constant_listening_s"].append(server.listening_after)
    tell("time to the first byte")
    with both() as (ours, theirs):
        first = {
            "first_byte": _first_bytes(ours, effort, new=False),
            "first_byte_new_prompts": _first_bytes(ours, effort, new=True),
            "constant_first_byte": _first_bytes(theirs, effort, new=False),
        }
    return {**{name: median(values, 2) for name, values in rows.items()}, **first, "python_s": _python()}


def _first_bytes(server: Server, effort: Effort, new: bool) -> dict[str, float]:
    count = effort.of(REQUESTS)
    asked = numbered(lambda number: new_chat(number, stream=True), count) if new else [chat(stream=True)] * count
    tally = load(server.port, asked, 1)
    return {f"p{share}_ms": round(percentile(tally.first_ms, share / 100), 3) for share in (50, 99)}


def _python() -> float:
    """Seconds that the interpreter alone takes to say that it is there."""
    code = "import json; print(json.dumps({'url': 'http://127.0.0.1:1'}), flush=True); import time; time.sleep(60)"
    found: list[float] = []
    for _ in range(3):
        with serving([sys.executable, "-c", code]) as server:
            found.append(server.listening_after)
    return median(found, 2)


MEASURE = Measure("start", "How long until it listens, and until the first byte of an answer?", run)
