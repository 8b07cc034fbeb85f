"""One scenario playing on one running server: from a request to the bytes of its answer.

A :class:`Stage` owns a station (vendor, version, launch options, state), a source of truth (a scenario's script, a golden
truth) and the faults. ``answer`` is a function of seed, scenario, request and its ordinal among equal requests, and of
the clock it is handed. No sockets, no threads: the server and the fidelity tool both stand on it.

    request -> station.receive -> Ask -> source.reply -> Generation -> station.tell -> Told -> render -> Wire
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from . import wire
from .ask import Ask, Request
from .context import SeededIds
from .errors import FakellmError
from .faults.compose import Distortion, compose
from .generation import Generation
from .layouts.base import Context, Layout, Station
from .message import Frame, Rendering, Wire
from .plan import Plan, make_plan
from .tokenizer import Tokenizer
from .told import Told

MAX_PLANS = 1024
MAX_PLAN_BYTES = 32 * 1024 * 1024
MAX_ORDINALS = 65536
CACHEABLE_APIS = frozenset({"chat", "completions", "generate", "tito"})
"""APIs whose answers leave nothing behind in the station."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a source answers with. ``generate``: the truth for an ask (faults may have changed what the server heard);
    ``faults``: as scenario entries or FaultCalls; ``key``: equal keys mean equal truth for equal requests, None = the
    reply has state (times, then) and must be asked for again; ``ordinal``: how often this reply was given before."""

    generate: Callable[[Ask], tuple[Generation, ...]]
    faults: tuple[Any, ...] = ()
    timing: Any = None
    key: Hashable | None = None
    ordinal: int = 0
    name: str = ""


class Unmatched(Exception):
    """No reply of the scenario fits: carries the ready 501 body (a JSON value)."""

    def __init__(self, body: Any) -> None:
        super().__init__("no reply matches this request")
        self.body = body


class Source(Protocol):
    """Where the truth comes from."""

    def reply(self, ask: Ask) -> Reply:
        """The reply to a request; raises Unmatched."""
        ...


@dataclass(frozen=True, slots=True)
class Played:
    """Everything behind one answer that an engine was asked for: what the journal and the judge read."""

    ask: Ask
    heard: Ask
    reply: Reply
    generations: tuple[Generation, ...]
    told: Told
    distortion: Distortion


@dataclass(slots=True)
class Answer:
    """The bytes to send and what is behind them. ``unmatched``: the scenario had no reply. ``problem``: an error of
    ours or of the scenario that the answer tells. ``behind`` is made when first asked for (lazy journal)."""

    wire: Wire
    unmatched: bool = False
    problem: str | None = None
    behind: Callable[[], Played | None] = field(default=lambda: None)


class RequestContext:
    """The Context of one request: ids from a seed, the server's clock, the reply's timing."""

    def __init__(self, now: Callable[[], float], ids: SeededIds, timing: Any = None) -> None:
        self.now = now
        self.hex = ids.hex
        self._timing = timing

    def timing(self) -> Any:
        return self._timing

    def timed(self, timing: Any) -> RequestContext:
        """The same context with the timing of a reply."""
        self._timing = timing
        return self


@dataclass(slots=True)
class _Known:
    """A request answered before: its plan, and the epoch of the station in which it was made."""

    plan: Plan
    epoch: int
    behind: Callable[[], Played | None]


class Stage:
    """See the module's paragraph. ``faults``: played on every answer, before the reply's own; some of them
    need the ``tokenizer`` (another tokenisation of the same text)."""

    def __init__(
        self,
        name: str,
        layout: Layout,
        station: Station,
        source: Source,
        *,
        now: Callable[[], float],
        seed: int = 0,
        faults: Sequence[Any] = (),
        plans: bool = True,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self.name = name
        self.layout = layout
        self.station = station
        self.source = source
        self.seed = seed
        self.faults = tuple(faults)
        self.tokenizer = tokenizer
        self._now = now
        self._keeps_plans = plans
        self._plans: OrderedDict[bytes, _Known] = OrderedDict()
        self._plan_bytes = 0
        self._ordinals: OrderedDict[bytes, int] = OrderedDict()

    def answer(self, request: Request) -> Answer:
        """Answer one request. Never raises for what a request may hold: our own errors become clear 500 bodies."""
        key = self._digest(request)
        ids = SeededIds(f"{self.seed}/{self.name}/{key.hex()}/{self._ordinal(key)}")
        context = RequestContext(self._now, ids)
        known = self._plans.get(key)
        if known is not None:
            if known.epoch == self._epoch():
                self._plans.move_to_end(key)
                return Answer(known.plan.play(context), behind=known.behind)
            self._forget(key)
        try:
            return self._fresh(request, key, context)
        except FakellmError as problem:
            return Answer(problem_wire(500, str(problem), "fakellm_error"), problem=str(problem))

    def reset(self) -> None:
        """Forget every request that was seen (ordinals and plans); the station's state stays."""
        self._plans.clear()
        self._plan_bytes = 0
        self._ordinals.clear()

    # ---------------------------------------------------------------- details

    def _fresh(self, request: Request, key: bytes, context: RequestContext) -> Answer:
        heard = self.station.receive(request, context)
        if isinstance(heard, Rendering):
            return Answer(_plain_wire(heard))
        try:
            reply = self.source.reply(heard)
        except Unmatched as unmatched:
            return Answer(problem_wire(501, unmatched.body, None), unmatched=True)
        played = self._play(heard, reply, context)
        if self._keeps_plans and self._repeats(played):
            self._remember(key, played, reply.timing)
        return Answer(self._send(played, context), behind=lambda: played)

    def _play(self, ask: Ask, reply: Reply, context: RequestContext) -> Played:
        distortion = self._distortion(ask, reply, context) if self.faults or reply.faults else Distortion()
        heard = distortion.ask(ask)
        generations = reply.generate(heard)
        told = distortion.told(self.station.tell(heard, generations, context.timed(reply.timing)))
        return Played(ask, heard, reply, generations, told, distortion)

    def _distortion(self, ask: Ask, reply: Reply, context: Context) -> Distortion:
        return compose(
            (*self.faults, *reply.faults),
            ask,
            self.layout,
            seed=self.seed,
            ordinal=reply.ordinal,
            tokenizer=self.tokenizer,
            receive=lambda request: self.station.receive(request, context),
        )

    def _send(self, played: Played, context: Context) -> Wire:
        rendering = played.distortion.rendering(self.station.render(played.told, played.heard, context))
        return played.distortion.wire(_plain_wire(rendering))

    def healthy(self, played: Played, context: Context | None = None) -> Told:
        """What the same request is told when nothing distorts it: the oracle of the conformance suite."""
        context = context or RequestContext(self._now, SeededIds("healthy"), played.reply.timing)
        generations = played.generations if played.heard is played.ask else played.reply.generate(played.ask)
        return self.station.tell(played.ask, generations, context)

    def healthy_rendering(self, played: Played) -> Rendering:
        """The healthy answer's messages (same ids every time)."""
        context = RequestContext(self._now, SeededIds("healthy"), played.reply.timing)
        return self.station.render(self.healthy(played, context), played.ask, context)

    def _repeats(self, played: Played) -> bool:
        """Whether an equal request will get the same answer but for ids and time. Faults may draw chance by ordinal."""
        undistorted = not self.faults and not played.reply.faults
        return undistorted and played.reply.key is not None and played.ask.api in CACHEABLE_APIS

    def _remember(self, key: bytes, played: Played, timing: Any) -> None:
        plan = make_plan(lambda context: self._send(played, context), timing)
        if plan is None or plan.size > MAX_PLAN_BYTES // 4:
            return
        self._plans[key] = _Known(plan, self._epoch(), lambda: played)
        self._plan_bytes += plan.size
        while len(self._plans) > MAX_PLANS or self._plan_bytes > MAX_PLAN_BYTES:
            self._forget(next(iter(self._plans)))

    def _forget(self, key: bytes) -> None:
        self._plan_bytes -= self._plans.pop(key).plan.size

    def _epoch(self) -> int:
        return getattr(self.station, "epoch", 0)

    def _ordinal(self, key: bytes) -> int:
        ordinal = self._ordinals.get(key, 0)
        self._ordinals[key] = ordinal + 1
        if ordinal:
            self._ordinals.move_to_end(key)
        elif len(self._ordinals) > MAX_ORDINALS:
            self._ordinals.popitem(last=False)
        return ordinal

    def _digest(self, request: Request) -> bytes:
        """Sixteen bytes that two requests share only when they are equal in all that can shape an answer."""
        digest = hashlib.blake2b(request.body, digest_size=16)
        digest.update(f"\n{request.method} {request.path}".encode("utf-8", "surrogateescape"))
        if request.query:
            digest.update(repr(sorted(request.query.items())).encode("utf-8", "surrogateescape"))
        for name, value in request.headers.items():
            if name not in _PASSING_HEADERS:
                digest.update(f"\n{name}:{value}".encode("utf-8", "surrogateescape"))
        return digest.digest()


_PASSING_HEADERS = frozenset(
    {"host", "content-length", "connection", "user-agent", "accept", "accept-encoding", "accept-language", "date"}
)
"""Headers that no layout reads; everything else, also a gateway's own, may be matched on."""


def _plain_wire(rendering: Rendering) -> Wire:
    frames: tuple[Frame, ...] = wire.frames(rendering)
    return Wire(rendering.status, rendering.headers, frames, rendering.stream, rendering.cut)


def problem_wire(status: int, problem: Any, kind: str | None) -> Wire:
    """An answer of fakellm's own, in a shape that no vendor uses: ``{"fakellm": {...}}`` beside an OpenAI-like error."""
    body = problem if not isinstance(problem, str) else {
        "error": {"message": problem, "type": kind, "param": None, "code": status}, "fakellm": {"problem": problem}
    }
    headers = (("content-type", "application/json"), ("x-fakellm", "problem"))
    return Wire(status, headers, (Frame(wire.dumps(body)),))
