"""Paced streams: many at once, 20 ms between tokens, against aiohttp that sleeps once per token, in one run.

CPU time of the server process per event gives the events per second that one core can pace; lateness is measured at the
client as the time by which a stream's last byte came after its due time. Run: ``python benchmarks/bench_paced.py``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from bench_cost import HERE, Server, start

BETWEEN_MS = 20.0
SCENARIO = """
title: paced
replies:
  - say: {{auto: {{tokens: {tokens}}}}}
    timing: {{first_token_ms: {between}, between_ms: {between}}}
"""


def request() -> bytes:
    body = json.dumps({"model": "tiny", "messages": [{"role": "user", "content": "go"}], "stream": True}).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Reader(asyncio.Protocol):
    """Counts bytes and notes when the last one came; parses nothing, so that the client is cheap."""

    def __init__(self, done: asyncio.Future[float]) -> None:
        self.done = done
        self.events = 0
        self.started = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.started = time.monotonic()
        transport.write(request())  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self.events += data.count(b"data: {")
        if data.endswith(b"0\r\n\r\n") and not self.done.done():
            self.done.set_result(time.monotonic() - self.started)

    def connection_lost(self, problem: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(problem or ConnectionResetError("closed early"))


async def load(port: int, streams: int) -> tuple[list[float], int]:
    loop = asyncio.get_running_loop()
    readers: list[Reader] = []
    waits: list[asyncio.Future[float]] = []
    for number in range(streams):
        done: asyncio.Future[float] = loop.create_future()
        reader = Reader(done)
        await loop.create_connection(lambda reader=reader: reader, "127.0.0.1", port)
        readers.append(reader)
        waits.append(done)
        if number % 50 == 0:
            await asyncio.sleep(0.001)
    seconds = await asyncio.gather(*waits)
    return seconds, sum(reader.events for reader in readers)


def measure(server: Server, streams: int, tokens: int) -> dict[str, float]:
    before = server.cpu_seconds()
    seconds, events = asyncio.run(load(server.port, streams))
    cpu = server.cpu_seconds() - before
    late = sorted((took - tokens * BETWEEN_MS / 1000.0) * 1000.0 for took in seconds)
    return {
        "cpu_us_per_event": round(cpu / max(events, 1) * 1e6, 2),
        "events_per_cpu_second": round(events / cpu) if cpu else 0,
        "events": events,
        "late_ms_p50": round(late[len(late) // 2], 1),
        "late_ms_p99": round(late[int(len(late) * 0.99)], 1),
    }


def run(streams: int, tokens: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "paced.yaml"
        scenario.write_text(SCENARIO.format(tokens=tokens, between=BETWEEN_MS))
        fake = start("-m", "fakellm", "serve", "--scenario", str(scenario), "-q")
        constant = start(str(HERE / "paced_constant.py"), str(tokens), str(BETWEEN_MS))
        try:
            measure(fake, 10, tokens)
            ours, theirs = measure(fake, streams, tokens), measure(constant, streams, tokens)
            quiet = measure(fake, max(streams // 8, 1), tokens)
        finally:
            fake.stop()
            constant.stop()
    ratio = round(ours["events_per_cpu_second"] / max(theirs["events_per_cpu_second"], 1), 2)
    return {
        "streams": streams,
        "tokens": tokens,
        "ratio_events": ratio,
        "fake": ours,
        "sleeping": theirs,
        "quiet": quiet,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--tokens", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = run(options.streams, options.tokens)
    print(json.dumps(result) if options.json else json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
