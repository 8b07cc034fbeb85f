"""What scores and samples cost: ``logprobs`` with 0, 1 and 20 alternatives, and ``n`` up to 8."""

from __future__ import annotations

from typing import Any

from ..measure import Effort, Measure, Tell, cpu_us
from ..process import Server
from ..servers import SCENARIO, TOKENS, fake
from ..traffic import body_of, one, post

REQUESTS = 2_000
FIRSTS = 60
SCORES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("no logprobs", {}),
    ("logprobs, 0 alternatives", {"logprobs": True, "top_logprobs": 0}),
    ("logprobs, 1 alternative", {"logprobs": True, "top_logprobs": 1}),
    ("logprobs, 20 alternatives", {"logprobs": True, "top_logprobs": 20}),
)
SAMPLES: tuple[tuple[str, dict[str, Any]], ...] = tuple(
    (f"n = {n}", {"logprobs": True, "top_logprobs": 1, "n": n}) for n in (2, 4, 8)
)


def run(effort: Effort, tell: Tell) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    with fake(SCENARIO.format(tokens=TOKENS)) as server:
        for name, members in (*SCORES, *SAMPLES):
            tell(name)
            rows.append({"what": name, **_row(server, members, effort)})
    return {"rows": rows}


def _row(server: Server, members: dict[str, Any], effort: Effort) -> dict[str, Any]:
    """``first_us``: answers that nobody asked for before (another temperature each), so that nothing is at hand."""
    count, firsts = effort.of(REQUESTS), effort.of(FIRSTS)
    first = cpu_us(server, [_chat(members, temperature=0.5 + number / 1000) for number in range(firsts)], firsts)
    asked = _chat(members)
    size = len(body_of(one(server.port, asked)))
    return {"bytes": size, "first_us": round(first), "again_us": round(cpu_us(server, [asked] * count, count), 1)}


def _chat(members: dict[str, Any], temperature: float = 1.0) -> bytes:
    messages = [{"role": "user", "content": "run the benchmark"}]
    return post(
        {
            "model": "tiny",
            "messages": messages,
            "return_token_ids": True,
            "max_tokens": 64,
            "temperature": temperature,
            **members,
        }
    )


MEASURE = Measure("variants", "What do scores and samples cost?", run)
