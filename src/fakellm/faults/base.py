"""What a fault is: one small named unit with the family's one signature ``distort(subject, context) -> subject``.

A fault works on one of four subjects on the way from request to bytes: ``ask`` (the request's JSON body, for flags
that a server ignores: the layout reads it again without them) and ``told`` count as the layer *meaning*, ``rendering``
is *layout*, ``wire`` is *transport*. It is made by one of the decorators ``on_ask``, ``on_told``, ``on_rendering``,
``on_wire``, which turn a function into a frozen :class:`Fault`; ``registry.py`` collects them. A fault never sees the
Generation, a clock or a socket, and draws chance only from ``context.rng``. This module knows no vendor.

    @on_told("completion-ids-doubled", family="completion-ids", may=REFUSE, values=("completion_token_ids",))
    def completion_ids_doubled(told: Told, context: FaultContext[Parameters]) -> Told:
        '''Every step's completion ids are sent twice. ...'''
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from ..ask import Ask
from ..errors import FaultError
from ..layouts.base import Accessor, Layout
from ..message import Rendering, Wire
from ..reading.places import API_PLACES
from ..tokenizer import Tokenizer
from ..told import Told

Hook = Literal["ask", "told", "rendering", "wire"]
HOOKS: tuple[Hook, ...] = ("ask", "told", "rendering", "wire")
"""In the order in which they are applied."""
Layer = Literal["meaning", "layout", "transport"]
LAYERS: dict[Hook, Layer] = {"ask": "meaning", "told": "meaning", "rendering": "layout", "wire": "transport"}

ClientMay = Literal["recover", "null", "refuse", "as-sent"]
May = tuple[ClientMay, ...]
RECOVER: May = ("recover",)
NULL: May = ("null",)
REFUSE: May = ("refuse",)
AS_SENT: May = ("as-sent",)
RECOVER_OR_REFUSE: May = ("recover", "refuse")


class Parameters(BaseModel):
    """What every fault takes in a scenario file."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    times: Annotated[int | None, Field(ge=1, description="only on the first so many requests; null = on all")] = None
    probability: Annotated[float, Field(ge=0, le=1, description="chance per request, drawn under the seed")] = 1.0


class OnChoice(Parameters):
    """A fault on the sequences of one choice or of all."""

    choice: Annotated[int | None, Field(ge=0, description="only the choice with this index; null = all")] = None


class AtToken(OnChoice):
    """A fault at one position of a sequence."""

    at: Annotated[int, Field(description="position of the token: 0 is the first, -1 the last")] = -1


Body = Mapping[str, Any]
"""The JSON body of a request: what faults of the hook ``ask`` work on."""
P_co = TypeVar("P_co", bound=Parameters, covariant=True)
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class FaultContext(Generic[P_co]):
    """What a fault may look at besides its subject.

    ``ordinal``: how many requests the reply served before this one. ``told``: what the rendering was made from, where a
    layout fault must tell something that the layout leaves out; None before there is any.
    """

    ask: Ask
    layout: Layout
    rng: Random
    parameters: P_co
    ordinal: int = 0
    tokenizer: Tokenizer | None = None
    told: Told | None = None

    def accessors(self, value: str) -> tuple[Accessor, ...]:
        """Where the layout puts a value in this api and mode."""
        return accessors_of(self.ask, self.layout, value)


Applies = Callable[[Ask, Layout], str | None]
"""None = the fault applies; else why it does not, in words that complete "it does not apply here: "."""
Judge = Callable[[Ask, Any], May]
"""(ask, parameters) -> what a client may do, where that depends on the request."""


def always(ask: Ask, layout: Layout) -> str | None:
    """The fault makes sense on every answer."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault. ``client_may``: every answer that is right somewhere; ``judge`` narrows it for one request.

    ``values``: the captured values that it touches (empty = the answer as a whole). ``text``: its page.
    """

    id: str
    hook: Hook
    family: str
    client_may: May
    values: tuple[str, ...]
    parameters: type[Parameters]
    applies: Applies
    distort: Callable[[Any, FaultContext[Any]], Any]
    judge: Judge | None
    text: str

    @property
    def layer(self) -> Layer:
        return LAYERS[self.hook]

    def may(self, ask: Ask, parameters: Parameters) -> May:
        """What a client may do with the answer to this request (CONFORMANCE section 2)."""
        return self.client_may if self.judge is None else self.judge(ask, parameters)


class Maker(Generic[S]):
    """The decorator of one hook: it turns a function into a :class:`Fault` of that hook."""

    def __init__(self, hook: Hook) -> None:
        self._hook: Hook = hook

    def __call__(
        self,
        id: str,
        *,
        family: str,
        may: May,
        values: tuple[str, ...] = (),
        parameters: type[Parameters] = Parameters,
        applies: Applies = always,
        judge: Judge | None = None,
    ) -> Callable[[Callable[[S, FaultContext[Any]], S]], Fault]:
        """Name the fault and say what it takes, where it applies and what a client may do with it."""

        def wrap(distort: Callable[[S, FaultContext[Any]], S]) -> Fault:
            return Fault(
                id=id,
                hook=self._hook,
                family=family,
                client_may=may,
                values=values,
                parameters=parameters,
                applies=applies,
                distort=distort,
                judge=judge,
                text=distort.__doc__ or "",
            )

        return wrap


on_ask = Maker[Body]("ask")
on_told = Maker[Told]("told")
on_rendering = Maker[Rendering]("rendering")
on_wire = Maker[Wire]("wire")


def accessors_of(ask: Ask, layout: Layout, value: str) -> tuple[Accessor, ...]:
    """Where a layout puts a value for the api and mode of a request; empty = nowhere.

    An API that the layout's table does not speak of has its values where the API itself keeps them.
    """
    listed = layout.accessors.get((ask.api, ask.stream))
    if listed is None:
        listed = API_PLACES.get((ask.api, ask.stream), ())
    return tuple(place for place in listed if place.value == value)


def out_of_range(what: str, at: int, length: int) -> FaultError:
    """The error for a position that no sequence of the answer has (composition adds which fault it was)."""
    return FaultError(f"position {at} is outside of the answer's {length} {what}", hint="0 is the first, -1 the last")
