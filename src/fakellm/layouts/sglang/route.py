"""What a route of this layout is, and the two ways in which OpenAI routes refuse.

The type that route tables are made of. Knows no route.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...ask import Ask, Request
from ...message import Rendering
from ..base import Context
from . import answers
from .answers import EngineRefusal, Refusal
from .bodies import Body
from .traits import Span, Trait, Traits

if TYPE_CHECKING:
    from .station import SglangStation

Handler = Callable[[Request, "SglangStation", Context], Ask | Rendering]
ReadAsk = Callable[..., Ask]


@dataclass(frozen=True, slots=True)
class Route:
    """One path. ``since``: what a version must have, a trait or a span of versions; ``access``: api (the key) | open |
    admin; ``also``: further methods from a version on; ``allowed``: what a refusal of another method names, where the
    server has several routes of one path (it names the first one's)."""

    methods: tuple[str, ...]
    handler: Handler
    since: Trait | Span | None = None
    access: str = "api"
    also: tuple[Span, tuple[str, ...]] | None = None
    allowed: tuple[str, ...] = ()

    def held_by(self, traits: Traits) -> bool:
        """Whether the version has it."""
        if self.since is None:
            return True
        return (self.since.span if isinstance(self.since, Trait) else self.since).holds(traits.version)

    def methods_of(self, traits: Traits) -> tuple[str, ...]:
        """The methods it takes in a version."""
        more = self.also is not None and self.also[0].holds(traits.version)
        return (*self.methods, *(self.also[1] if more and self.also else ()))


def versions(first: int, last: int | None = None) -> Span:
    """0.5.``first`` and later, before 0.5.``last``."""
    return Span((0, 5, first), None if last is None else (0, 5, last), "")


def openai_ask(read_ask: ReadAsk, body: Body, request: Request, station: SglangStation) -> Ask | Rendering:
    """The ask of an OpenAI route, or its refusal: in old streams an event, else the error object."""
    try:
        return read_ask(body.sent, dict(body.values), request, station.engine)
    except EngineRefusal as refused:
        if body.values["stream"] and not station.traits.has(Trait.REFUSES_BEFORE_STREAM):
            return answers.events((answers.stream_error(refused.message, refused.kind, 400),))
        return answers.error(refused.message, refused.kind)
    except Refusal as refused:
        return answers.error(refused.message, refused.kind, refused.status)
