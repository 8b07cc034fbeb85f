"""An answer on its way that can still be aborted: which choices have ended early, and when.

A :class:`Flight` is made when an answer begins that takes its time, and is gone when that is over. It plays the answer
anew with the truth cut at the moment of the abort (``aborting``) and hands what is left to its :class:`Carrier`, the
side of the connection. The journal then shows what was really sent, and the truth that the engine had.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Protocol

from .aborting import CutTiming, cut, remaining, sent_frames, unfinished
from .ask import Ask
from .context import RequestContext
from .errors import FakellmError
from .generation import Generation
from .journal import Exchange, Journal
from .layouts.base import Aborting
from .message import Frame, Wire
from .stage import Answer, Played, Reply, Stage, served_of
from .told import Told


class Carrier(Protocol):
    """The side of the connection."""

    def reach(self) -> tuple[float, int] | None:
        """Send what is due; then: milliseconds since the request, and how many bytes of the body have left. None = the
        answer is over."""
        ...

    def swap(self, wire: Wire, rest: Sequence[Frame]) -> None:
        """The answer is now ``wire``, of which ``rest`` is still to send."""
        ...


class Flight:
    """See the module's paragraph. ``ids``: the engine's id of every choice."""

    def __init__(self, stage: Stage, answer: Answer, exchange: Exchange, journal: Journal, carrier: Carrier) -> None:
        assert answer.ask is not None, "no engine makes this answer"
        assert answer.context is not None
        self.ask: Ask = answer.ask
        self._context: RequestContext = answer.context
        self._stage = stage
        self._exchange = exchange
        self._journal = journal
        self._carrier = carrier
        self._behind = answer.behind
        self._aborts: dict[int, float] = {}

    @cached_property
    def ids(self) -> Sequence[str]:
        """Asked for at the first abort: most answers never see one."""
        station = self._stage.station
        return station.engine_ids(self.ask, self._context.again()) if isinstance(station, Aborting) else ()

    def abort(self, choices: Collection[int]) -> int:
        """End these choices now; how many were still going. What cannot be played anew goes on as it was, and the
        journal says why."""
        reached = self._carrier.reach()
        played = self._behind()
        if reached is None or played is None:
            return 0
        at_ms, sent = reached
        told = self._healthy(played)
        going = unfinished(told, at_ms) - self._aborts.keys()
        ended = going.intersection(choices)
        if not ended:
            return 0
        aborts = {**self._aborts, **dict.fromkeys(ended, at_ms)}
        latest_ms = None if going - ended else at_ms
        reply = self._cut(played.reply, told.n, aborts, latest_ms)
        try:
            shorter, wire = self._stage.replay(played.ask, reply, self._context)
        except FakellmError as problem:
            self._exchange.problem = f"the abort could not be played: {problem.message}"
            return 0
        self._aborts = aborts
        self._land(wire, sent, at_ms, latest_ms, shorter)
        return len(ended)

    def _healthy(self, played: Played) -> Told:
        context = self._context.again().timed(played.reply.timing)
        return self._stage.station.tell(played.heard, played.generations, context)

    def _cut(self, reply: Reply, n: int, aborts: dict[int, float], latest_ms: float | None) -> Reply:
        """The reply of an engine that was told to stop. ``latest_ms``: nothing comes later."""
        station, timing = self._stage.station, reply.timing
        assert isinstance(station, Aborting)
        due: Callable[[int], float] = timing.due

        def generate(heard: Ask) -> tuple[Generation, ...]:
            return cut(reply.generate(heard), n, aborts, due, station.aborted)

        return replace(reply, generate=generate, timing=timing if latest_ms is None else CutTiming(timing, latest_ms))

    def _land(self, wire: Wire, sent: int, at_ms: float, latest_ms: float | None, played: Played) -> None:
        before = self._exchange.wire
        assert before is not None
        rest = remaining(before, sent, wire, latest_ms)
        whole = replace(wire, frames=(*sent_frames(before.frames, sent), *rest))
        self._journal.aborted(self._exchange, at_ms, whole, lambda: played)
        self._exchange.served = served_of(played)
        self._carrier.swap(wire, rest)
