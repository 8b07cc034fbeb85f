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
from .traits import Trait

if TYPE_CHECKING:
    from .station import SglangStation

Handler = Callable[[Request, "SglangStation", Context], Ask | Rendering]
ReadAsk = Callable[..., Ask]


@dataclass(frozen=True, slots=True)
class Route:
    """One path. ``since``: the trait that a version must have; ``access``: api (the key) | open | admin."""

    methods: tuple[str, ...]
    handler: Handler
    since: Trait | None = None
    access: str = "api"


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
