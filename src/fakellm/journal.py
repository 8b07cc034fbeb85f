"""What happened, exchange by exchange: bytes in and out, what was asked, the truth behind it, faults, disconnects.

Bounded by count and by bytes, whichever comes first; the oldest leave. Everything that costs (truth, told values) is
computed when somebody reads it. An optional sink gets each finished exchange as one JSON line. Secrets are blanked
wherever the journal is shown (``hiding``). This module knows no sockets; times are handed in.
"""

from __future__ import annotations

import base64
import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import RawIOBase
from typing import Any

from .ask import Ask, Request
from .hiding import Hiding
from .message import Wire
from .problem import breakdown
from .stage import Played

MAX_EXCHANGES = 1000
MAX_BYTES = 64 * 1024 * 1024


@dataclass(slots=True)
class Exchange:
    """One request and its answer. Times are milliseconds; ``at`` seconds since 1970. ``sent_bytes``: how much of the
    answer left before the peer went away (None = all of it). ``token``: the conformance token of ``/c/TOKEN/...``.
    ``aborted_ms``: when a route of the server ended it early."""

    number: int
    at: float
    stage: str
    request: Request
    token: str | None = None
    wire: Wire | None = None
    unmatched: bool = False
    problem: str | None = None
    disconnected_ms: float | None = None
    aborted_ms: float | None = None
    finished_ms: float | None = None
    sent_bytes: int | None = None
    behind: Callable[[], Played | None] = field(default=lambda: None)
    stage_object: Any = None
    served: Any = None
    flight: Any = None

    @property
    def body(self) -> bytes:
        """The bytes of the whole answer as it was to be sent."""
        return b"".join(frame.data for frame in self.wire.frames) if self.wire is not None else b""

    @property
    def size(self) -> int:
        answer = sum(len(frame.data) for frame in self.wire.frames) if self.wire is not None else 0
        return len(self.request.body) + answer + 512

    @property
    def changed_at(self) -> float:
        """When it ended, or began (seconds since 1970)."""
        return self.at + (self.finished_ms or self.disconnected_ms or 0.0) / 1000.0

    def summary(self) -> dict[str, Any]:
        """One line of the journal, without bodies."""
        played = self.behind()
        return {
            "number": self.number,
            "at": self.at,
            "scenario": self.stage,
            "token": self.token,
            "method": self.request.method,
            "path": self.request.path,
            "status": None if self.wire is None else self.wire.status,
            "reply": None if played is None else played.reply.name,
            "faults": [] if played is None else [call.fault.id for call in played.distortion.calls],
            "unmatched": self.unmatched,
            "problem": self.problem,
            "disconnected_ms": self.disconnected_ms,
            "aborted_ms": self.aborted_ms,
            "finished_ms": self.finished_ms,
        }

    def detail(self) -> dict[str, Any]:
        """Everything, truth included, as JSON; secrets redacted; bodies as text where they are UTF-8."""
        played = self.behind()
        sent = () if self.wire is None else self.wire.headers
        hide = Hiding(self.request.headers.items(), sent, query=self.request.query)
        return {
            **self.summary(),
            "request": {
                "headers": dict(hide.pairs(self.request.headers.items())),
                "query": hide.query(self.request.query),
                "body": text_or_base64(hide.data(self.request.body)),
            },
            "response": {
                "headers": hide.pairs(sent),
                "body": text_or_base64(hide.data(self.body)),
                "cut": self.wire is not None and self.wire.cut,
                "frames": []
                if self.wire is None
                else [{"due_ms": frame.due_ms, "bytes": len(frame.data)} for frame in self.wire.frames],
                "sent_bytes": self.sent_bytes,
            },
            "ask": None if played is None else ask_as_json(played.ask),
            "truth": None if played is None else [generation.to_truth() for generation in played.generations],
        }


def ask_as_json(ask: Ask) -> dict[str, Any]:
    """The neutral reading of a request, for people and tools."""
    return {
        "api": ask.api,
        "model": ask.model,
        "stream": ask.stream,
        "n": ask.n,
        "prompts": [{"token_ids": list(prompt.token_ids), "text": prompt.text} for prompt in ask.prompts],
        "wants": {name: getattr(ask.wants, name) for name in ask.wants.__slots__},
        "sampling": {name: getattr(ask.sampling, name) for name in ask.sampling.__slots__},
        "ignored": list(ask.ignored),
    }


def text_or_base64(data: bytes) -> Any:
    """Text where the bytes are UTF-8, else ``{"base64": ...}``."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


class Journal:
    """The last exchanges, oldest first. ``sink``: a text file that gets one JSON line per finished exchange;
    ``tell``: who else wants to know of it."""

    def __init__(
        self,
        *,
        max_exchanges: int = MAX_EXCHANGES,
        max_bytes: int = MAX_BYTES,
        sink: RawIOBase | None = None,
        tell: Callable[[Exchange], None] | None = None,
    ) -> None:
        self._exchanges: deque[Exchange] = deque()
        self._bytes = 0
        self._max_exchanges = max_exchanges
        self._max_bytes = max_bytes
        self._sink = sink
        self._tell = tell
        self._torn = False
        self.unwritten = 0
        """Finished exchanges that the sink did not take; ``unwritten_why`` says why."""
        self.unwritten_why = ""
        self.total = 0
        self.unmatched = 0
        self.dropped = 0

    def begin(self, at: float, stage: str, request: Request, token: str | None = None) -> Exchange:
        """Open the record of a request; ``answered`` and ``finish`` complete it."""
        self.total += 1
        exchange = Exchange(self.total, at, stage, request, token)
        self._exchanges.append(exchange)
        self._bytes += len(request.body) + 512
        return exchange

    def answered(self, exchange: Exchange) -> None:
        """The answer is known: its size counts now, and the oldest exchanges make room."""
        self._bytes += exchange.size - len(exchange.request.body) - 512
        self.unmatched += exchange.unmatched
        while len(self._exchanges) > self._max_exchanges or (
            self._bytes > self._max_bytes and len(self._exchanges) > 1
        ):
            oldest = self._exchanges.popleft()
            self._bytes -= oldest.size
            self.dropped += 1

    def aborted(self, exchange: Exchange, at_ms: float, wire: Wire, behind: Callable[[], Played | None]) -> None:
        """It ends early: with other bytes, and with the truth that the engine then had."""
        size = exchange.size
        exchange.wire, exchange.behind, exchange.aborted_ms = wire, behind, at_ms
        if any(kept is exchange for kept in self._exchanges):
            self._bytes += exchange.size - size

    def finish(self, exchange: Exchange, finished_ms: float | None) -> None:
        """The last byte left (or the peer went away, see ``disconnected_ms``). Never raises: the answer stands,
        whatever becomes of its record, and the record here says what went wrong elsewhere."""
        exchange.finished_ms = finished_ms
        try:
            if self._sink is not None:
                self._write(self._sink, json.dumps(exchange.detail(), default=str).encode() + b"\n")
            if self._tell is not None:
                self._tell(exchange)
        except OSError as problem:
            self._unwritten(exchange, f"the journal file takes no more: {problem.strerror or problem}")
        except Exception as broken:  # noqa: BLE001 - see above
            self._unwritten(exchange, breakdown(broken))

    def _write(self, sink: RawIOBase, line: bytes) -> None:
        """A line, whole: a disk that fills up takes a part of one, after which the next begins anew."""
        rest = memoryview(b"\n" + line if self._torn else line)
        self._torn = True
        while rest:
            rest = rest[sink.write(rest) or 0 :]
        self._torn = False

    def _unwritten(self, exchange: Exchange, why: str) -> None:
        self.unwritten += 1
        self.unwritten_why = why
        exchange.problem = exchange.problem or why

    def __iter__(self) -> Iterator[Exchange]:
        return iter(tuple(self._exchanges))

    def __len__(self) -> int:
        return len(self._exchanges)

    def number(self, number: int) -> Exchange | None:
        return next((exchange for exchange in self._exchanges if exchange.number == number), None)

    def by_token(self, token: str) -> tuple[Exchange, ...]:
        """The exchanges of one conformance token, in order of arrival."""
        return tuple(exchange for exchange in self._exchanges if exchange.token == token)

    def by_response_id(self, response_id: str) -> Exchange | None:
        """The newest exchange whose answer shows this id."""
        wanted = response_id.encode()
        return next((exchange for exchange in reversed(self._exchanges) if wanted in exchange.body), None)

    def clear(self) -> None:
        self._exchanges.clear()
        self._bytes = 0
        self.total = self.unmatched = self.dropped = 0
