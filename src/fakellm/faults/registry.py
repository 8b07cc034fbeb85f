"""The catalogue: every fault by its id, and how a scenario's ``faults:`` entry names one.

Faults stand as frozen values in the family modules listed in ``MODULES``; adding one touches one of them and its
test. User faults come by the entry point ``fakellm.faults`` (version 0: a module or a list of faults). An entry is a
bare id or ``{id: {parameter: value}}``; whatever is wrong with it is told with the place and the closest known word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType, ModuleType
from typing import Any, cast

from pydantic import ValidationError

from ..ask import Ask
from ..errors import FaultError, did_you_mean
from .base import Fault, May, Parameters

MODULES = (
    "meaning_prompt",
    "meaning_ids",
    "meaning_logprobs",
    "meaning_values",
    "meaning_tokens",
    "meaning_flags",
    "meaning_usage",
    "meaning_turns",
    "layout_absent",
    "layout_places",
    "layout_logprobs",
    "layout_prompt_logprobs",
    "layout_choices",
    "layout_finish",
    "layout_envelope",
    "layout_errors",
    "transport_events",
    "transport_packets",
    "transport_headers",
    "transport_json",
)
"""The families, in the order in which the catalogue lists them."""


@dataclass(frozen=True, slots=True)
class FaultCall:
    """A fault asked for, with its parameters. ``optional``: left out where it does not apply (``--chaos``)."""

    fault: Fault
    parameters: Parameters
    optional: bool = False

    def may(self, ask: Ask) -> May:
        """What a client may do with the answer to this request."""
        return self.fault.may(ask, self.parameters)

    def to_entry(self) -> str | dict[str, Any]:
        """The entry of a scenario file that asks for the same."""
        given = self.parameters.model_dump(exclude_defaults=True)
        return {self.fault.id: given} if given else self.fault.id


@cache
def faults() -> Mapping[str, Fault]:
    """Every known fault by id; raises FaultError when two have the same."""
    known: dict[str, Fault] = {}
    for name in MODULES:
        _add(known, _members(import_module(f".{name}", __package__)))
    for point in entry_points(group="fakellm.faults"):
        loaded: Any = point.load()
        _add(known, _members(loaded) if isinstance(loaded, ModuleType) else cast(Iterable[Fault], loaded))
    return MappingProxyType(known)


def _members(module: ModuleType) -> Iterable[Fault]:
    return [member for member in vars(module).values() if isinstance(member, Fault)]


def _add(known: dict[str, Fault], more: Iterable[Fault]) -> None:
    for fault in more:
        if fault.id in known:
            raise FaultError(f"two faults have the id {fault.id!r}", hint="rename the one of your plug-in")
        known[fault.id] = fault


def find(id: str, *, where: str | None = None) -> Fault:
    """The fault with this id; raises FaultError with the closest one."""
    fault = faults().get(id)
    if fault is None:
        hint = did_you_mean(id, faults()) or "`fakellm faults` lists them"
        raise FaultError(f"there is no fault {id!r}", where=where, hint=hint)
    return fault


def parse(entry: Any, where: str | None = None) -> FaultCall:
    """Read one entry of ``faults:``. ``where`` names file, line and field in the error (FaultError)."""
    if isinstance(entry, str):
        return FaultCall(find(entry, where=where), _parameters(find(entry, where=where), {}, where))
    if isinstance(entry, Mapping):
        row = cast(Mapping[Any, Any], entry)
        if len(row) == 1:
            ((name, given),) = row.items()
            fault = find(str(name), where=where)
            return FaultCall(fault, _parameters(fault, {} if given is None else given, where))
    raise FaultError(
        "a fault is written as its id, or as {id: {parameter: value}}",
        where=where,
        hint="one entry of the list for each fault, for example: - late-eos-score",
    )


def _parameters(fault: Fault, given: Any, where: str | None) -> Parameters:
    if not isinstance(given, Mapping):
        raise FaultError(
            f"the parameters of {fault.id} must be a mapping, not {given!r}",
            where=where,
            hint=f"for example {fault.id}: {{times: 1}}",
        )
    row = cast(Mapping[Any, Any], given)
    known = fault.parameters.model_fields
    for name in row:
        if name not in known:
            hint = did_you_mean(str(name), known) or f"it takes {', '.join(known)}"
            raise FaultError(f"{fault.id} has no parameter {name!r}", where=where, hint=hint)
    try:
        return fault.parameters.model_validate(dict(row))
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        problem = f"{fault.id}: {name}: {first['msg']}" if name else f"{fault.id}: {first['msg']}"
        raise FaultError(problem, where=where, hint=f"`fakellm explain {fault.id}` lists its parameters") from None
