"""CPU per request beside mock servers that other people wrote: the same fifty words, not streamed, each in one run."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any

from ..measure import Effort, Measure, Tell, median
from ..peers import ANSWER, PEERS, Peer, install
from ..process import BenchError, Server, free_port, serving
from ..servers import SCORED, constant, fake
from ..traffic import body_of, load, numbered, one, percentile, post

REQUESTS = 2_000
CONNECTIONS = 64
SCRIPT = f"""
title: fifty words
server: {{model: gpt-4o}}
replies:
  - when: {{last_message: {{contains: benchmark}}}}
    say: "{ANSWER}"
"""


def run(effort: Effort, tell: Tell) -> dict[str, Any]:
    with ExitStack() as stack:
        missing: list[dict[str, str]] = []
        ours = stack.enter_context(fake(SCRIPT))
        whole = body_of(one(ours.port, _plain(0)))
        entrants = [
            Entrant("fakellm", ours, _equal),
            Entrant("fakellm, ever-new prompts", ours, _plain),
            Entrant("fakellm, with ids and scores", ours, _scored),
            Entrant("constant aiohttp", stack.enter_context(constant(whole, b"")), _equal),
        ]
        for peer in PEERS:
            tell(f"{peer.name}: making its environment and starting it")
            try:
                entrants.append(Entrant(peer.name, stack.enter_context(_started(peer, effort)), _equal, peer))
            except BenchError as reason:
                missing.append({"name": peer.name, "version": peer.version, "reason": str(reason)})
        for place in range(effort.rounds):
            for entrant in entrants:
                tell(f"round {place + 1} of {effort.rounds}: {entrant.name}")
                entrant.measure(effort, place)
        rows = [entrant.row() for entrant in entrants]
    return {"rows": rows, "missing": missing, **_verdict(rows)}


def _equal(number: int) -> bytes:
    return _chat()


def _plain(number: int) -> bytes:
    return _chat(f"run the benchmark {number}")


def _scored(number: int) -> bytes:
    return _chat(**SCORED)


def _chat(text: str = "run the benchmark", **members: Any) -> bytes:
    return post({"model": "gpt-4o", "messages": [{"role": "user", "content": text}], "max_tokens": 64, **members})


@contextmanager
def _started(peer: Peer, effort: Effort) -> Generator[Server]:
    environment = install(peer, effort.root)
    port = free_port()
    with serving(peer.command(environment, port), port=port, folder=environment / "script") as server:
        answer = one(server.port, _equal(0))
        if b" 200 " not in answer.split(b"\r\n", 1)[0] or ANSWER.encode() not in body_of(answer):
            raise BenchError(f"does not give its answer: {body_of(answer)[:120].decode('utf-8', 'replace')}")
        yield server


class Entrant:
    """One server with one kind of request, measured round by round."""

    def __init__(self, name: str, server: Server, make: Any, peer: Peer | None = None) -> None:
        self.name = name
        self._server = server
        self._make = make
        self._peer = peer
        self._cpu: list[float] = []
        self._rates: list[float] = []
        self._p99: list[float] = []

    def measure(self, effort: Effort, place: int) -> None:
        count = effort.of(REQUESTS)
        asked = list(numbered(self._make, count, place * count))
        load(self._server.port, asked[:CONNECTIONS], CONNECTIONS)
        before = self._server.cpu_seconds()
        tally = load(self._server.port, asked, CONNECTIONS)
        self._cpu.append((self._server.cpu_seconds() - before) / count * 1e6)
        self._rates.append(tally.answers / tally.seconds)
        self._p99.append(percentile(tally.took_ms, 0.99))

    def row(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "version": None if self._peer is None else self._peer.version,
            "note": None if self._peer is None else self._peer.note,
            "request_us": median(self._cpu),
            "requests_per_s": median(self._rates, 0),
            "p99_ms": median(self._p99, 1),
            "listening_s": round(self._server.listening_after, 2),
            "resident_mb": self._server.resident_mb(),
        }


def _verdict(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Our CPU per request as a share of each peer's; the fastest of them apart."""
    ours: float = rows[0]["request_us"]
    shares = {row["name"]: round(ours / row["request_us"], 3) for row in rows if row["version"] is not None}
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    return {
        "share_of_each": dict(ordered),
        "fastest": ordered[0][0] if ordered else None,
        "share_of_fastest": ordered[0][1] if ordered else None,
        "largest_share_of_the_others": ordered[1][1] if len(ordered) > 1 else None,
    }


MEASURE = Measure("peers", "What does an answer cost beside other mock servers?", run)
