"""CPU per chat request and per streamed event, as ratios to a constant aiohttp server, in one run.

A chat answer of 50 tokens with ids and scores (unique response id, matched by a scenario, journalled) on both servers,
which send the same bytes. CPU time is that of the server process (``/proc``), so the load generator does not count.
Rounds alternate between the two servers and the median ratio is told. Run: ``python benchmarks/bench_cost.py``.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCENARIO = """
title: fifty tokens, ids and scores
replies:
  - when: {api: chat, last_message: {contains: benchmark}}
    say: {auto: {tokens: 50}}
"""
CONNECTIONS = 8
NUMBERS = itertools.count()
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Server:
    """A server process under load."""

    process: subprocess.Popen[str]
    port: int

    def cpu_seconds(self) -> float:
        """User and system time of the process."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)


def start(*command: str) -> Server:
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = json.loads(process.stdout.readline())
    return Server(process, int(line["url"].rsplit(":", 1)[1]))


def request(stream: bool, number: int | None = None) -> bytes:
    """One chat request; ``number``: makes the message unique."""
    text = "run the benchmark" if number is None else f"run the benchmark {number}"
    body: dict[str, Any] = {
        "model": "tiny",
        "messages": [{"role": "user", "content": text}],
        "logprobs": True,
        "top_logprobs": 1,
        "return_token_ids": True,
        "max_tokens": 64,
        "stream": stream,
    }
    data = json.dumps(body).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: */*\r\nuser-agent: benchmark\r\n"
        f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


async def read_answer(reader: asyncio.StreamReader) -> bytes:
    """The body of one answer, by content-length or by chunks."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b"content-length:" in head:
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        return await reader.readexactly(length)
    body: list[bytes] = []
    while True:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        data = await reader.readexactly(size + 2)
        if size == 0:
            return b"".join(body)
        body.append(data[:-2])


async def load(port: int, count: int, stream: bool, unique: bool = False) -> None:
    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(count // CONNECTIONS):
            writer.write(request(stream, next(NUMBERS) if unique else None))
            await read_answer(reader)
        writer.close()

    await asyncio.gather(*(one() for _ in range(CONNECTIONS)))


async def fetch(port: int, stream: bool) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request(stream))
    body = await read_answer(reader)
    writer.close()
    return body


def measure(server: Server, count: int, stream: bool, unique: bool = False) -> float:
    """CPU seconds of the server for so many answers."""
    before = server.cpu_seconds()
    asyncio.run(load(server.port, count, stream, unique))
    return server.cpu_seconds() - before


def run(rounds: int, requests: int, streams: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "bench.yaml"
        scenario.write_text(SCENARIO)
        fake = start("-m", "fakellm", "serve", "--scenario", str(scenario), "-q")
        whole, streamed = asyncio.run(fetch(fake.port, False)), asyncio.run(fetch(fake.port, True))
        (Path(folder) / "whole").write_bytes(whole)
        (Path(folder) / "stream").write_bytes(streamed)
        constant = start(str(HERE / "constant.py"), str(Path(folder) / "whole"), str(Path(folder) / "stream"))
        try:
            events = streamed.count(b"\n\n")
            return {"answer_bytes": len(whole), "events": events, **rows(fake, constant, rounds, requests, streams)}
        finally:
            fake.stop()
            constant.stop()


def rows(fake: Server, constant: Server, rounds: int, requests: int, streams: int) -> dict[str, Any]:
    results: dict[str, list[float]] = {"whole": [], "whole_unique": [], "stream": []}
    absolute: dict[str, list[float]] = {"fake_request_us": [], "constant_request_us": []}
    for server in (fake, constant):
        measure(server, requests // 2, False)
    for _ in range(rounds):
        ours, theirs = measure(fake, requests, False), measure(constant, requests, False)
        results["whole"].append(ours / theirs)
        absolute["fake_request_us"].append(ours / requests * 1e6)
        absolute["constant_request_us"].append(theirs / requests * 1e6)
        results["whole_unique"].append(measure(fake, requests, False, unique=True) / theirs)
        results["stream"].append(measure(fake, streams, True) / measure(constant, streams, True))
    return {
        "ratio_per_request": round(statistics.median(results["whole"]), 3),
        "ratio_per_request_unique_prompts": round(statistics.median(results["whole_unique"]), 3),
        "ratio_per_streamed_event": round(statistics.median(results["stream"]), 3),
        **{name: round(statistics.median(values), 1) for name, values in absolute.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--streams", type=int, default=800)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = run(options.rounds, options.requests, options.streams)
    if options.json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:36} {value}")


if __name__ == "__main__":
    main()
