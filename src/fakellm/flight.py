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
from .errors import FakellmError
from .generation import Generation
from .journal import Exchange, Journal
from .layouts.base import Aborting
from .message import Frame, Wire
from .source import Reply
from .stage import Answer, Making, Stage


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
        assert answer.making is not None, "no engine makes this answer"
        self._making: Making = answer.making
        self._stage = stage
        self._exchange = exchange
        self._journal = journal
        self._carrier = carrier
        self._behind = answer.behind
        self._aborts: dict[int, float] = {}

    @property
    def ask(self) -> Ask:
        """The request."""
        return self._making.ask

    @cached_property
    def ids(self) -> Sequence[str]:
        """Asked for at the first abort: most answers never see one."""
        station = self._stage.station
        return station.engine_ids(self.ask, self._making.context.again()) if isinstance(station, Aborting) else ()

    def abort(self, choices: Collection[int]) -> int:
        """End these choices now; how many were still going. What cannot be played anew goes on as it was, and the
        journal says why."""
        reached = self._carrier.reach()
        if reached is None or not choices:
            return 0
        at_ms, sent = reached
        plain = self._is_plain()
        going = frozenset({0}) if plain else self._going(at_ms)
        ended = (going - self._aborts.keys()).intersection(choices)
        if not ended:
            return 0
        aborts = {**self._aborts, **dict.fromkeys(ended, at_ms)}
        everything = going <= aborts.keys()
        reply = self._alone(at_ms) if plain else self._cut(aborts, at_ms if everything else None)
        try:
            answer = self._stage.replay(replace(self._making, reply=reply))
        except FakellmError as problem:
            self._exchange.problem = f"the abort could not be played: {problem.message}"
            return 0
        self._aborts = aborts
        self._land(answer, sent, at_ms, latest_ms=at_ms if everything else None)
        return len(ended)

    def _is_plain(self) -> bool:
        """One choice, whose last frame leaves with its last step: no fault and no slow link delays it."""
        reply = self._making.reply
        slow = getattr(reply.timing, "dribble", None) is not None
        return len(self.ids) == 1 and not slow and not reply.faults and not self._stage.faults

    def _going(self, at_ms: float) -> frozenset[int]:
        """The choices that are not over, as they would be told without any fault."""
        played = self._behind()
        if played is None:
            return frozenset()
        told = played.told
        if played.distortion:
            context = self._making.context.again().timed(played.reply.timing)
            told = self._stage.station.tell(played.heard, played.generations, context)
        return unfinished(told, at_ms)

    def _alone(self, at_ms: float) -> Reply:
        """The reply of an engine that was told to stop its only choice: the same for all that had made as many steps,
        so that aborting thousands costs little."""
        reply = self._making.reply
        steps = 0
        while reply.timing.due(steps) <= at_ms:  # it is not over: some step is still to come
            steps += 1
        last_ms: float = reply.timing.due(steps - 1) if steps else 0.0
        key = None if reply.key is None else (reply.key, "aborted", steps)
        return replace(self._cut({0: at_ms}, last_ms), key=key)

    def _cut(self, aborts: dict[int, float], latest_ms: float | None) -> Reply:
        """The reply of an engine that was told to stop some choices. ``latest_ms``: nothing comes later."""
        station, reply = self._stage.station, self._making.reply
        assert isinstance(station, Aborting)
        due: Callable[[int], float] = reply.timing.due

        def generate(heard: Ask) -> tuple[Generation, ...]:
            return cut(reply.generate(heard), max(heard.n, 1), aborts, due, station.aborted)

        timing = reply.timing if latest_ms is None else CutTiming(reply.timing, latest_ms)
        return replace(reply, generate=generate, timing=timing, key=None)

    def _land(self, answer: Answer, sent: int, at_ms: float, *, latest_ms: float | None) -> None:
        before = self._exchange.wire
        assert before is not None
        rest = remaining(before, sent, answer.wire, latest_ms)
        whole = replace(answer.wire, frames=(*sent_frames(before.frames, sent), *rest))
        self._journal.aborted(self._exchange, at_ms, whole, answer.behind)
        self._exchange.served = answer.served
        self._carrier.swap(answer.wire, rest)
