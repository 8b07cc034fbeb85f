"""The shape that every vLLM API keeps: how it hears a request and how it renders an answer.

One module an API (``chat``, ``completions`` ...) makes one :class:`Api`; the station knows them only by this shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...ask import Ask, Request
from ...message import Rendering
from ...tokenizer import Tokenizer
from ...told import Told
from ..base import Context, Flights, Launch, NoFlights
from .launch import Settings
from .metrics import Tally
from .shape import Shape
from .tell import Facts
from .traits import Traits
from .validate import Accepted


@dataclass(slots=True)
class Running:
    """A started server as its APIs see it: what was fixed at launch, and the state that routes may change.

    ``state``: everything mutable (stored responses, weight version, paused, asleep) in one dict.
    ``flights``: the answers on their way. ``accepted``: the kinds of chat that passed its checks.
    ``epoch`` grows with every change of state that shapes later answers: nothing rendered before may be reused.
    """

    traits: Traits
    shape: Shape
    settings: Settings
    launch: Launch
    tokenizer: Tokenizer
    facts: Facts
    asked_version: str
    fingerprint: str | None
    state: MutableMapping[str, Any] = field(default_factory=dict[str, Any])
    epoch: int = 0
    flights: Flights = field(default_factory=NoFlights)
    tally: Tally = field(default_factory=Tally)
    accepted: Accepted = field(default_factory=Accepted)


class Hears(Protocol):
    def __call__(self, request: Request, running: Running, context: Context) -> Ask | Rendering: ...


class Renders(Protocol):
    def __call__(self, told: Told, ask: Ask, running: Running, context: Context) -> Rendering: ...


def _everywhere(running: Running) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Api:
    """One engine API: its name in ``Ask.api``, its paths, and its two halves."""

    name: str
    paths: tuple[str, ...]
    hear: Hears
    render: Renders
    when: Callable[[Running], bool] = _everywhere
    """Whether this server has the API at all."""


Handler = Callable[[Request, Running, Context, Mapping[str, str]], Ask | Rendering]
"""One route; the last argument holds the path's parameters."""
