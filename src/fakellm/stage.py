"""One scenario playing on one running server: from a request to the bytes of its answer.

A :class:`Stage` owns a station (vendor, version, launch options, state), a source of truth (a scenario's script) and
the faults. ``answer`` is a function of seed, scenario, request and its ordinal among equal requests, and of
the clock it is handed. No sockets, no threads: the server and the fidelity tool both stand on it.

    request -> station.receive -> Ask -> source.reply -> Generation -> station.tell -> Told -> render -> Wire
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from . import wire
from .aborting import Board
from .ask import Ask, Request, digest_of
from .context import RequestContext, SeededIds
from .errors import FakellmError, FaultError
from .faults.compose import Distortion, compose
from .generation import Generation
from .layouts.base import Aborting, Context, Counting, Layout, Served, Station
from .message import Frame, Rendering, Wire
from .pacing import dribbled
from .plan import Marks, Plan, PromptWords, make_plan
from .plans import Planned, Plans
from .problem import breakdown, limit_wire, problem_wire, ran_too_deep
from .shelf import Behind, Shelf
from .source import ByHand, Reply, Source, Unmatched
from .timing import Dribble
from .tokenizer import Tokenizer
from .told import Told

MAX_KNOWN = 4096
MAX_CHOICES = 16_384
"""Choices that one request may ask for, over all its prompts: some seconds of work. It is vLLM's own limit of n."""
MAX_PLANNED_CHOICES = 128
"""Cutting an answer at the marks of its choices costs the square of their number."""
MAX_ORDINALS = 8192
"""Requests whose repetitions are counted, some 120 bytes each: the server's memory is to be flat after ten thousand,
and it is when every bound is reached."""


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
    ours or of the scenario that the answer tells. ``behind`` is made when first asked for (lazy journal). Of an answer
    that takes its time also how it was made, and what to count when it is over (``served``)."""

    wire: Wire
    unmatched: bool = False
    problem: str | None = None
    behind: Callable[[], Played | None] = field(default=lambda: None)
    making: Making | None = None
    served: Served | None = None


@dataclass(frozen=True, slots=True)
class Making:
    """How an answer was made, so that it can be made once more: a request that was read, a reply, ids and time."""

    ask: Ask
    reply: Reply
    context: RequestContext


@dataclass(frozen=True, slots=True)
class _Known:
    """A request answered before: its plan and prompt, and the epoch of the station in which the plan was made."""

    plan: Plan
    ask: Ask
    reply: Reply
    prompt: PromptWords
    served: Served
    epoch: int
    behind: Callable[[], Played | None]


class Stage:
    """See the module's paragraph. ``faults``: played on every answer, before the reply's own; some of them
    need the ``tokenizer`` (another tokenisation of the same text). ``salt``, ``ordinal``: see ``fakellm.state``."""

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
        salt: str = "",
        ordinal: Callable[[bytes], int | None] | None = None,
        armed: ByHand | None = None,
    ) -> None:
        self.name = name
        self.layout = layout
        self.station = station
        self.source = source
        self.seed = seed
        self.faults = tuple(faults)
        self.tokenizer = tokenizer
        self.armed = armed
        self._now = now
        self._salt = f"{seed}/{name}/{salt}".encode()
        self._shared_ordinal = ordinal
        self._keeps_plans = plans
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._plans = Plans()
        self._shelf: Shelf[Played] = Shelf()
        self._counting = station if isinstance(station, Counting) else None
        self.flights = Board()
        if isinstance(station, Aborting):
            self.flights = station.flights = Board(station.engine_requests)
        self._ordinals: OrderedDict[bytes, int] = OrderedDict()
        self._floor = 0

    def answer(self, request: Request) -> Answer:
        """Answer one request. Never raises for what a request may hold: our own errors become clear 500 bodies."""
        try:
            return self._answer(request)
        except FakellmError as problem:
            return Answer(problem_wire(500, str(problem), "fakellm_error"), problem=str(problem))
        except Exception as broken:  # noqa: BLE001 - a defect of ours is told and journalled, never a traceback
            if ran_too_deep(broken, request.body):
                return self._beyond("the body is nested too deeply for this server")
            words = breakdown(broken)
            return Answer(problem_wire(500, words, "fakellm_defect"), problem=words)

    def _answer(self, request: Request) -> Answer:
        key = digest_of(request)
        ids = SeededIds(b"%b%b/%d" % (self._salt, key, self._ordinal(key)))
        context = RequestContext(self._now, ids)
        known = self._known.get(key) if self.armed is None or not self.armed.waits(self.name) else None
        if known is not None:
            if known.epoch == self._epoch():
                self._known.move_to_end(key)
                wire = known.plan.play(context, known.prompt)
                return self._engine_answer(wire, known.behind, known.served, known.ask, known.reply, context)
            del self._known[key]
        return self._fresh(request, key, context)

    def _beyond(self, words: str) -> Answer:
        """The refusal of a request beyond a limit of ours, in the vendor's spelling of an error."""
        return Answer(limit_wire(self.layout.error_body(400, words, "BadRequestError")))

    def resalt(self, salt: str) -> None:
        """Ids of its own from now on: a worker after the fork."""
        self._salt = f"{self.seed}/{self.name}/{salt}".encode()

    def reset(self) -> None:
        """Forget every request that was seen (ordinals and plans); the station's state stays."""
        self._known.clear()
        self._plans.clear()
        self._shelf.clear()
        self._ordinals.clear()
        self._floor = 0

    # ---------------------------------------------------------------- details

    def _fresh(self, request: Request, key: bytes, context: RequestContext) -> Answer:
        heard = self.station.receive(request, context)
        if isinstance(heard, Rendering):
            return Answer(_plain_wire(heard))
        if heard.n * len(heard.prompts) > MAX_CHOICES:
            return self._beyond(f"more than {MAX_CHOICES} choices are asked for at once")
        context.heard()
        try:
            reply = self.source.reply(heard)
        except Unmatched as unmatched:
            return Answer(problem_wire(501, unmatched.body, None), unmatched=True)
        if self.armed is not None and (by_hand := self.armed.take(self.name, heard, self.layout)):
            reply = replace(reply, faults=(*reply.faults, *by_hand))
        planned = self._planned(heard, reply, context)
        if isinstance(planned, Played):
            once = reply.key is None or planned.distortion.calls
            behind = self._behind(heard, reply, context, planned if once else None)
            return self._engine_answer(self._send(planned, context), behind, served_of(planned), heard, reply, context)
        behind = self._behind(heard, reply, context)
        prompt = PromptWords.of(heard.prompts[0].token_ids)
        told = planned.served
        served = Served(told.api, prompt.count, told.completion_tokens, told.finish_reasons, told.max_tokens)
        self._known[key] = _Known(planned.plan, heard, reply, prompt, served, self._epoch(), behind)
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        return self._engine_answer(planned.plan.play(context, prompt), behind, served, heard, reply, context)

    def _engine_answer(
        self,
        sent: Wire,
        behind: Callable[[], Played | None],
        served: Served,
        ask: Ask,
        reply: Reply,
        context: RequestContext,
    ) -> Answer:
        """An answer that takes its time is counted when it is over, any other now."""
        if sent.frames and sent.frames[-1].due_ms > 0:
            return Answer(sent, behind=behind, making=Making(ask, reply, context), served=served)
        self.count(served)
        return Answer(sent, behind=behind)

    def replay(self, making: Making) -> Answer:
        """The same answer made once more, with another reply; without its faults where they do not apply to what is
        left of it. Equal ones come from a plan."""
        try:
            return self._replayed(making)
        except FaultError:
            return self._replayed(making, Distortion())

    def _replayed(self, making: Making, distortion: Distortion | None = None) -> Answer:
        ask, reply, context = making.ask, making.reply, making.context.again()
        if distortion is None:
            planned = self._planned(ask, reply, context)
        else:
            planned = self._play(ask, reply, context, distortion)
        if isinstance(planned, Played):
            played = planned
            return Answer(self._send(played, context), behind=lambda: played, served=served_of(played))
        prompt = PromptWords.of(ask.prompts[0].token_ids)
        served = replace(planned.served, prompt_tokens=prompt.count)
        behind = self._behind(ask, reply, making.context.again())
        return Answer(planned.plan.play(context, prompt), behind=behind, served=served)

    def _behind(
        self, heard: Ask, reply: Reply, context: RequestContext, played: Played | None = None
    ) -> Behind[Played]:
        return Behind(self._shelf, lambda: self._play(heard, reply, context), _weight, played)

    def _play(self, ask: Ask, reply: Reply, context: RequestContext, distortion: Distortion | None = None) -> Played:
        if distortion is None:
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
        rendering = whole_when_done(self.station.render(played.told, played.heard, context), played)
        rendering = played.distortion.rendering(rendering, played.told)
        sent = played.distortion.wire(_plain_wire(rendering))
        dribble: Dribble | None = getattr(played.reply.timing, "dribble", None)
        return sent if dribble is None else dribbled(sent, dribble)

    def healthy(self, played: Played, context: Context | None = None) -> Told:
        """What the same request is told when nothing distorts it: the oracle of the conformance suite."""
        context = context or RequestContext(self._now, SeededIds("healthy"), played.reply.timing)
        generations = played.generations if played.heard is played.ask else played.reply.generate(played.ask)
        return self.station.tell(played.ask, generations, context)

    def healthy_rendering(self, played: Played) -> Rendering:
        """The healthy answer's messages (same ids every time)."""
        context = RequestContext(self._now, SeededIds("healthy"), played.reply.timing)
        return self.station.render(self.healthy(played, context), played.ask, context)

    # -------------------------------------------------------------- fast path

    def _plan_key(self, ask: Ask, reply: Reply) -> Hashable | None:
        """What the bytes of an answer depend on besides ids, time and the prompt's own ids; None = render afresh.

        Faults may draw chance by ordinal, so a reply with faults has no plan; nor has one whose packets are cut by
        length, which the ids in them could change.
        """
        if not self._keeps_plans or reply.key is None or self.faults or reply.faults:
            return None
        if getattr(reply.timing, "dribble", None) is not None or ask.n > MAX_PLANNED_CHOICES:
            return None
        shape: Hashable | None = getattr(self.station, "plan_key", _no_plan)(ask)
        return None if shape is None else (reply.key, self._epoch(), shape)

    def _planned(self, heard: Ask, reply: Reply, context: RequestContext) -> Planned | Played:
        """The plan of an answer, found or made; or the answer played afresh, where there is none."""
        key = self._plan_key(heard, reply)
        if key is None:
            return self._play(heard, reply, context)
        exact = (heard.sampling.max_tokens, len(heard.prompts[0].token_ids))
        found = self._plans.find(key, exact)
        if found is not None:
            return found
        played = self._play(heard, reply, context)
        wanted = self._plans.wanted(
            key, exact, max((len(choice.ids or ()) for choice in played.told.choices), default=0)
        )
        if wanted is None:
            return played
        plan = make_plan(lambda marks: self._marked(played, marks), played.reply.timing)
        return self._plans.keep(wanted, plan, served_of(played)) or played

    def _marked(self, played: Played, marks: Marks) -> Wire:
        """The answer with marks in place of ids, time and prompt."""
        told = played.told
        prompt = replace(told.prompts[0], token_ids=(marks.prompt_id,), text=None)
        usage = replace(told.usage, prompt_tokens=marks.count)
        return self._send(replace(played, told=replace(told, prompts=(prompt,), usage=usage)), marks)

    def in_flight(self, change: int) -> None:
        """A request came in (+1) or its answer has ended (-1)."""
        if self._counting is not None:
            self._counting.in_flight(change)

    def count(self, served: Served | None) -> None:
        """An engine's answer leaves at once, or is over."""
        if self._counting is not None and served is not None:
            self._counting.served(served)

    def _epoch(self) -> int:
        return getattr(self.station, "epoch", 0)

    def _ordinal(self, key: bytes) -> int:
        if self._shared_ordinal is not None and (shared := self._shared_ordinal(key)) is not None:
            return shared
        ordinal = self._ordinals.get(key, self._floor)
        self._ordinals[key] = ordinal + 1
        self._ordinals.move_to_end(key)
        if len(self._ordinals) > MAX_ORDINALS:  # whoever is forgotten begins beyond what it had: no id appears twice
            self._floor = max(self._floor, self._ordinals.popitem(last=False)[1])
        return ordinal


def whole_when_done(rendering: Rendering, played: Played) -> Rendering:
    """A whole answer leaves when its last step is due (a queued one, which the caller polls for, at once)."""
    if rendering.stream or played.reply.timing is None or played.heard.body.get("background"):
        return rendering
    due_ms = max((choice.steps[-1].due_ms for choice in played.told.choices if choice.steps), default=0.0)
    late = tuple(replace(message, due_ms=max(message.due_ms, due_ms)) for message in rendering.messages)
    return replace(rendering, messages=late)


def served_of(played: Played) -> Served:
    """An answer in numbers: of the truth that was told, whatever a fault made of it."""
    told = played.told
    return Served(
        played.ask.api,
        sum(len(prompt.token_ids) for prompt in played.heard.prompts),
        sum(choice.steps[-1].tokens[1] for choice in told.choices if choice.steps),
        tuple(choice.finish_reason for choice in told.choices),
        played.heard.sampling.max_tokens,
    )


def _no_plan(ask: Ask) -> None:
    return None


def _weight(played: Played) -> int:
    """Tokens of a truth, and some for what every answer has."""
    told = played.told
    prompts = sum(len(prompt.scores or ()) for prompt in told.prompts)
    return 16 + prompts + sum(len(choice.ids or ()) for choice in told.choices)


def _plain_wire(rendering: Rendering) -> Wire:
    frames: tuple[Frame, ...] = wire.frames(rendering)
    return Wire(rendering.status, rendering.headers, frames, rendering.stream, rendering.cut)
