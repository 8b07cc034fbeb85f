"""Faults asked for by a reply become one :class:`Distortion` for one request: meaning, then layout, then transport.

Within a layer the order is that of the scenario. Everything is decided here by the seed, the fault's id, its place in
the list and the request's ordinal, so that the same seed gives the same bytes on any machine: whether a fault with a
probability happens, and what it draws. An empty Distortion changes nothing. Knows neither truth nor server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import orjson

from ..ask import Ask, Request
from ..errors import FakellmError, FaultError
from ..layouts.base import Layout
from ..message import Rendering, Wire
from ..tokenizer import Tokenizer
from ..told import Told
from .base import HOOKS, Body, FaultContext, Hook, Layer
from .registry import FaultCall, faults, parse


@dataclass(frozen=True, slots=True)
class Active:
    """A fault that happens on this request, with what it may look at."""

    call: FaultCall
    context: FaultContext[Any]


@dataclass(frozen=True, slots=True)
class Distortion:
    """What happens to one answer. The four methods take a subject and give it back distorted, or as it was."""

    active: tuple[Active, ...] = ()
    heard: Ask | None = None

    def __bool__(self) -> bool:
        return bool(self.active)

    @property
    def calls(self) -> tuple[FaultCall, ...]:
        """The faults that happen on this request, in the order in which they are applied."""
        return tuple(active.call for active in self.active)

    def touches(self, *layers: Layer) -> bool:
        """Whether any fault works on one of these layers (without meaning and layout the fast path may serve)."""
        return any(active.call.fault.layer in layers for active in self.active)

    def ask(self, ask: Ask) -> Ask:
        """What the server understands of the request: flags that it ignores are gone. The truth stays with the ask."""
        return ask if self.heard is None else self.heard

    def body(self, body: Body) -> Body:
        """The request's JSON body without the flags that are ignored."""
        return self._apply("ask", body)

    def told(self, told: Told) -> Told:
        return self._apply("told", told)

    def rendering(self, rendering: Rendering, told: Told | None = None) -> Rendering:
        """``told``: what it was rendered from; without it faults know only what the layout shows."""
        return self._apply("rendering", rendering, told)

    def wire(self, wire: Wire) -> Wire:
        return self._apply("wire", wire)

    def _apply(self, hook: Hook, subject: Any, told: Told | None = None) -> Any:
        for active in self.active:
            fault = active.call.fault
            if fault.hook != hook:
                continue
            # A fresh generator each time: applying the same Distortion twice gives the same bytes twice.
            context = replace(active.context, rng=_copy(active.context.rng), told=told)
            try:
                subject = fault.distort(subject, context)
            except FakellmError as problem:
                raise FaultError(problem.message, where=f"fault {fault.id}", hint=problem.hint) from problem
        return subject


def _copy(rng: Random) -> Random:
    twin = Random()
    twin.setstate(rng.getstate())
    return twin


def compose(
    calls: Sequence[FaultCall | str | dict[str, Any]],
    ask: Ask,
    layout: Layout,
    *,
    seed: int = 0,
    ordinal: int = 0,
    tokenizer: Tokenizer | None = None,
    receive: Callable[[Request], Ask | Rendering] | None = None,
) -> Distortion:
    """The faults of a reply, made ready for one request.

    ``receive``: how the station reads a request, needed by faults that ignore flags: the request is read again without
    them, so that the layout answers as it answers a request without the flag. ``ordinal``: how many requests the
    reply served before this one (``times`` and chance count by it). Raises FaultError naming the reason where a fault
    does not apply to this request on this layout. Faults see the request as the server understood it, after the flags
    that other faults made it ignore.
    """
    active: list[Active] = []
    for number, entry in enumerate(calls):
        call = entry if isinstance(entry, FaultCall) else parse(entry)
        reason = call.fault.applies(ask, layout)
        if reason is not None:
            if call.optional:
                continue
            raise FaultError(
                f"it does not apply here: {reason}",
                where=f"fault {call.fault.id}",
                hint=f"`fakellm explain {call.fault.id}` says where it does",
            )
        rng = Random(f"{seed}/{call.fault.id}/{number}/{ordinal}")
        given = call.parameters
        chance = rng.random()
        if (given.times is None or ordinal < given.times) and chance < given.probability:
            context = FaultContext(ask, layout, rng, given, ordinal, tokenizer)
            active.append(Active(call, context))
    active.sort(key=lambda each: HOOKS.index(each.call.fault.hook))
    heard = _heard(Distortion(tuple(active)), ask, receive)
    if heard is None:
        return Distortion(tuple(active))
    return Distortion(tuple(replace(each, context=replace(each.context, ask=heard)) for each in active), heard)


def _heard(distortion: Distortion, ask: Ask, receive: Callable[[Request], Ask | Rendering] | None) -> Ask | None:
    """The request read again without the flags that are ignored, None when none is."""
    ignoring = [call.fault.id for call in distortion.calls if call.fault.hook == "ask"]
    if not ignoring:
        return None
    where = f"fault {ignoring[0]}"
    if receive is None:
        raise FaultError("nothing is there to read the request again", where=where, hint="pass receive= to compose")
    body = distortion.body(ask.body)
    heard = receive(replace(ask.request, body=orjson.dumps(body)))
    if isinstance(heard, Rendering):
        raise FaultError(f"without these flags the server refuses the request: {', '.join(ignoring)}", where=where)
    return heard


def chaos(seed: int, *, most: int = 3) -> list[FaultCall]:
    """A random handful of faults for soak tests, the same for the same seed on any machine.

    Each is optional: where it does not apply it is left out. ``[call.to_entry() for call in chaos(7)]`` is what a
    scenario file would say, and the line that ``--chaos`` prints.
    """
    rng = Random(f"chaos/{seed}")
    known = sorted(faults())
    count = 1 + int(rng.random() * most)
    names: list[str] = []
    while len(names) < count:
        name = known[int(rng.random() * len(known))]
        if name not in names:
            names.append(name)
    return [replace(parse(name), optional=True) for name in names]
