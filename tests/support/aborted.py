"""An answer that is aborted at a moment, without a socket: what a client has in the end, and what the truth then is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from fakellm.ask import Request
from fakellm.flight import Flight
from fakellm.journal import Exchange, Journal
from fakellm.message import Frame, Wire
from fakellm.stage import Played, Stage


@dataclass
class Line:
    """A connection whose clock stands at ``at_ms``: what was due by then has left (``flight.Carrier``)."""

    wire: Wire
    at_ms: float = 0.0
    rest: Sequence[Frame] = ()
    left: bytes = b""
    swaps: int = field(default=0)

    def reach(self) -> tuple[float, int] | None:
        if self.at_ms >= max(frame.due_ms for frame in self.wire.frames):
            return None
        due = b"".join(frame.data for frame in self.wire.frames if frame.due_ms <= self.at_ms)
        self.left = due if self.wire.stream else b""
        return self.at_ms, len(self.left)

    def swap(self, wire: Wire, rest: Sequence[Frame]) -> None:
        self.wire, self.rest, self.swaps = wire, rest, self.swaps + 1


@dataclass(frozen=True)
class Aborted:
    """``body``: all that the client got; ``ended``: how many choices the abort ended; ``line``: what was sent when."""

    status: int
    body: bytes
    played: Played
    ended: int
    line: Line
    exchange: Exchange


def aborted(playing: Stage, request: Request, at_ms: float, choices: Collection[int] | None = None) -> Aborted:
    """Ask, let ``at_ms`` milliseconds pass, abort these choices (None = all)."""
    answer = playing.answer(request)
    journal = Journal()
    exchange = journal.begin(0.0, playing.name, request)
    exchange.wire, exchange.behind, exchange.served = answer.wire, answer.behind, answer.served
    line = Line(answer.wire, at_ms)
    ended = 0
    if answer.making is not None:
        flight = Flight(playing, answer, exchange, journal, line)
        ended = flight.abort(range(len(flight.ids)) if choices is None else choices)
    played = exchange.behind()
    assert played is not None, exchange.body
    assert exchange.problem is None
    if line.swaps:
        assert exchange.body == line.left + b"".join(frame.data for frame in line.rest)
    return Aborted(exchange.wire.status, exchange.body, played, ended, line, exchange)
