"""Memory: resident size from request to request, and what an answer of ever more tokens costs.

Two questions. Is the server's memory flat from request 10,000 to 100,000, with repeated and with ever new prompts? Does
time and memory grow in line with the tokens of an answer (10 to 100,000)? Sizes are those of the server process
(``/proc``). Run: ``python benchmarks/bench_memory.py [--json] [--requests 100000]``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from bench_cost import SCENARIO, Server, load, measure, read_answer, request, start

TOKENS = (10, 100, 1_000, 10_000, 100_000)
LONG = """
title: {tokens} tokens
server: {{max-model-len: 1000000}}
replies:
  - say: {{auto: {{tokens: {tokens}}}}}
"""


def resident(server: Server) -> float:
    """Megabytes of the process that lie in memory."""
    for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1024, 1)
    raise RuntimeError("the system tells no resident size")


def flatness(requests: int, unique: bool) -> dict[str, Any]:
    """Resident size at a tenth of the requests and at each further tenth."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "bench.yaml"
        scenario.write_text(SCENARIO)
        server = start("-m", "fakellm", "serve", "--scenario", str(scenario), "-q")
        try:
            at_start = resident(server)
            sizes: list[float] = []
            for _ in range(10):
                asyncio.run(load(server.port, requests // 10, False, unique))
                sizes.append(resident(server))
        finally:
            server.stop()
    growth = round(max(sizes[1:]) / sizes[0] - 1, 4)
    return {"at_start_mb": at_start, "sizes_mb": sizes, "growth_after_the_first_tenth": growth}


async def long_answer(port: int, tokens: int, stream: bool, number: int) -> int:
    """Bytes of one answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**26)
    head, _, body = request(stream, number).partition(b"\r\n\r\n")
    document = {**json.loads(body), "max_tokens": tokens + 10}
    data = json.dumps(document).encode()
    lines = [line for line in head.split(b"\r\n") if not line.startswith(b"content-length")]
    writer.write(b"\r\n".join([*lines, b"content-length: %d" % len(data), b"", data]))
    answer = await read_answer(reader)
    writer.close()
    return len(answer)


def growth(tokens: int) -> dict[str, Any]:
    """What one answer of so many tokens costs: CPU of a new one, of a repeated one, bytes, memory."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "long.yaml"
        scenario.write_text(LONG.format(tokens=tokens))
        server = start("-m", "fakellm", "serve", "--scenario", str(scenario), "-q")
        try:
            measure(server, 8, False)
            before, row = resident(server), {"tokens": tokens}
            times = max(1, min(200, 20_000 // tokens))
            for name, stream in (("whole", False), ("stream", True)):
                cpu = server.cpu_seconds()
                sizes = [asyncio.run(long_answer(server.port, tokens, stream, number)) for number in range(times)]
                row[f"{name}_us_per_token"] = round((server.cpu_seconds() - cpu) / times / tokens * 1e6, 2)
                row[f"{name}_bytes_per_token"] = round(sizes[0] / tokens, 1)
            row["grown_mb"] = round(resident(server) - before, 1)
        finally:
            server.stop()
    return row


def run(requests: int, tokens: tuple[int, ...] = TOKENS) -> dict[str, Any]:
    return {
        "requests": requests,
        "repeated": flatness(requests, unique=False),
        "ever_new": flatness(requests, unique=True),
        "growth": [growth(each) for each in tokens],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = run(options.requests)
    print(json.dumps(result) if options.json else json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
