"""The contract that every layout keeps: names, launch, and the four steps receive -> tell -> render.

A :class:`Layout` is vendor + version (a frozen set of traits). ``start(launch)`` gives a :class:`Station`: that server
with its launch options, tokenizer and own state (stored responses, weight version, sleeping or not). A station
never sees a scenario, a fault or a socket: time, ids and chance come in through :class:`Context`.

    station = registry.find("vllm-0.32.0").start(launch)
    heard   = station.receive(request, context)      # Ask (an engine is needed) or Rendering (refusal, utility route)
    told    = station.tell(ask, generations, context)
    answer  = station.render(told, ask, context)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from ..ask import Ask, Request
from ..generation import Choice, Generation
from ..message import Rendering
from ..tokenizer import Tokenizer
from ..told import Told

EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Launch:
    """How a server was started.

    ``options``: the vendor's own command line, as words (``["--max-model-len", "1024"]``). ``env``: the environment
    variables that change the wire. ``model``: the served name, None = any name is served and echoed. ``model_path``:
    what the answers show as root. ``engine``: what the engine reports besides tokens (golden README, ``engine``).
    ``extra``: facts of a golden ``server.json`` that only its vendor understands (Dynamo: ``options`` of its worker).
    """

    tokenizer: Tokenizer
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    model: str | None = None
    max_model_len: int | None = None
    model_path: str | None = None
    engine: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    extra: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


class Context(Protocol):
    """What is not a function of the request: the clock and the random ids, both fixed in tests and fidelity runs."""

    def now(self) -> float:
        """Seconds since 1970."""
        ...

    def hex(self, digits: int) -> str:
        """A fresh random hex string, unique within the server's life: the last so many digits of a uuid4 (longer ones
        hold several)."""
        ...

    def timing(self) -> Any:
        """The reply's timing (first_token_ms, between_ms, ...) or None: everything is due at once."""
        ...


@dataclass(frozen=True, slots=True)
class Accessor:
    """Where one value lives for one api and mode.

    ``value``: prompt_token_ids | completion_token_ids | logprobs | prompt_logprobs | top_logprobs | text |
    finish_reason | usage. ``path``: keys from the top of the body or event (``choices[].logprobs.content[].logprob``;
    ``[]`` = every element). ``flags``: the request fields that switch it on (``{"logprobs": True}``). ``messages``:
    the kinds of message that carry it in streams. ``eos``: whether the end token is in it. ``loss``: words for what
    this place loses even when healthy, or None.
    """

    value: str
    path: str
    flags: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    messages: tuple[str, ...] = ()
    eos: bool = True
    loss: str | None = None


AccessorTable = Mapping[tuple[str, bool], Sequence[Accessor]]
"""(api, stream) -> accessors. An api or mode that is not there is not served."""


@runtime_checkable
class Station(Protocol):
    """One running server of a layout: see the module's paragraph."""

    def receive(self, request: Request, context: Context) -> Ask | Rendering: ...

    def tell(self, ask: Ask, generations: Sequence[Generation], context: Context) -> Told: ...

    def render(self, told: Told, ask: Ask, context: Context) -> Rendering: ...


@dataclass(frozen=True, slots=True)
class Served:
    """One engine answer in numbers, for a station that counts (``/metrics``)."""

    api: str
    prompt_tokens: int
    completion_tokens: int
    finish_reasons: tuple[str | None, ...]
    max_tokens: int | None = None


@runtime_checkable
class Counting(Protocol):
    """A station that wants to know what it served and what is in flight (``/metrics``, ``/load``)."""

    def served(self, served: Served) -> None:
        """An engine answer is on its way."""
        ...

    def in_flight(self, change: int) -> None:
        """A request came in (+1) or its answer has ended (-1)."""
        ...


@dataclass(frozen=True, slots=True)
class Which:
    """The requests that an abort means. ``ids``: as the engine knows them, None = all that are in flight; ``prefix``:
    an id that is in flight also means every other that begins with it (SGLang)."""

    ids: tuple[str, ...] | None = None
    prefix: bool = False


class Flights(Protocol):
    """The answers of one station that are on their way and will take a while."""

    def requests(self) -> int:
        """How many requests the engine has in hand, counted as it counts them (``Aborting.engine_requests``)."""
        ...

    def abort(self, which: Which) -> int:
        """End those at once, with what they have so far; how many choices that were in this process."""
        ...


class NoFlights:
    """The flights of a station that nobody serves."""

    def requests(self) -> int:
        return 0

    def abort(self, which: Which) -> int:
        return 0


@runtime_checkable
class Aborting(Protocol):
    """A station whose routes end answers that are on their way. ``flights`` is given to it before its first request."""

    flights: Flights

    def engine_ids(self, ask: Ask, context: Context) -> Sequence[str]:
        """The id by which the engine knows each choice, in choice order; ``context`` draws what the answer drew."""
        ...

    def engine_requests(self, ask: Ask) -> int:
        """As how many requests the engine counts this one."""
        ...

    def aborted(self, choice: Choice, steps: int) -> Choice:
        """What the engine leaves of a choice when it is told to give up after so many steps (0 = not begun)."""
        ...


@dataclass(frozen=True, slots=True)
class Offer:
    """One path of a server. ``path``: with ``{name}`` parameters; ``members``: what its JSON body may hold in this
    version, each with its type in the layout's own word ("" = not told), None = it has no body; ``required``: those
    that must be there."""

    methods: tuple[str, ...]
    path: str
    members: Mapping[str, str] | None = None
    required: tuple[str, ...] = ()


@runtime_checkable
class Offering(Protocol):
    """A station that says what it serves (the admin API's ``openapi.json``)."""

    def offers(self) -> Sequence[Offer]:
        """Every path of this server as it was launched."""
        ...


@dataclass(frozen=True, slots=True)
class Layout:
    """A vendor's wire at one version.

    ``evidence``: captured | source | documents: how it is known. ``options``: the launch options that the vendor knows
    (name -> does it change the wire), for "did you mean". ``start`` makes a station and raises LayoutError for unknown
    or unusable options. ``error_body``: the vendor's own spelling of an error (status, message, kind) -> JSON value,
    for faults that need one. ``routes``: the paths it answers; ``left_out``: those that the real server has besides,
    with the reason why not here (both empty where nobody has compared them).
    """

    name: str
    vendor: str
    version: tuple[int, ...]
    evidence: str
    accessors: AccessorTable
    start: Callable[[Launch], Station]
    error_body: Callable[[int, str, str], Any]
    notes: str = ""
    routes: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
