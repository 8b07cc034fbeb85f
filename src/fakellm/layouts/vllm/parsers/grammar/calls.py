"""Events become deltas: text at once, tool names when they are complete, arguments as far as they cannot change.

The arguments are written as <parameter=NAME>VALUE</parameter>; clients get them as JSON, which grows with every step.
Source: vllm/parser/engine/parser_engine.py and the argument converter of vllm/parser/qwen3.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..deltas import Call, Delta
from .coerce import coerced, types_of
from .machine import Event, Kind

_PARAMETER = re.compile(r"<\s*parameter\s*=\s*([^>]*)>(.*?)(?:<\s*/\s*parameter\s*>|(?=<\s*parameter\s*=))", re.DOTALL)
_UNFINISHED = re.compile(r"<\s*parameter\s*=\s*([^>]+)>(.*)$", re.DOTALL)
Schemas = Mapping[str, Mapping[str, Any]]
"""Tool name -> parameter name -> JSON schema."""


@dataclass(slots=True)
class _Slot:
    """One call. ``values``: the parameters that are complete, which end at ``place``."""

    name: str = ""
    raw: str = ""
    announced: bool = False
    sent: str = ""
    values: dict[str, str] = field(default_factory=dict[str, str])
    place: int = 0


class Calls:
    """The deltas of one answer. ``strips``: values lose all blanks around them (0.24), not only the newlines of the
    template. ``suppressed``: tool choice is none, calls are left out. ``later_first``: text that waited behind a call's
    mark precedes the step's own, even where it came after it (up to 0.28)."""

    def __init__(
        self, schemas: Schemas, *, strips: bool = False, suppressed: bool = False, later_first: bool = False
    ) -> None:
        self._schemas = schemas
        self._strips = strips
        self._suppressed = suppressed
        self._later_first = later_first
        self._slots: list[_Slot] = []
        self._later = ""
        self._shown = False
        self.reasoning_ended = False

    @property
    def found(self) -> list[tuple[str, str]]:
        """Every call so far: name and arguments as JSON."""
        calls: list[tuple[str, str]] = []
        for slot in self._slots:
            name = slot.name.strip()
            if name:
                calls.append((name, _written(self._arguments(slot, partial=False)) if slot.raw.strip() else "{}"))
        return calls

    def delta(self, events: Sequence[Event], *, finished: bool = False) -> Delta | None:
        """The delta of one step's events, or None when there is nothing to say."""
        if not events and not self._later:
            return None
        carried = self._later
        content: list[str] = []
        reasoning = ""
        calls: list[Call] = []
        seen_call = False
        for event in events:
            if event.kind is Kind.TEXT:
                if seen_call:
                    self._later += event.text
                else:
                    content.append(event.text)
            elif event.kind is Kind.REASONING:
                reasoning += event.text
            elif event.kind is Kind.REASONING_END:
                self.reasoning_ended = True
            elif not self._suppressed:
                seen_call = True
                self._call_event(event, calls)
        calls = _merged(calls)
        if self._later and (not seen_call or not calls):
            if self._later_first:
                carried = self._later
            content = [carried, *content, self._later[len(carried) :]]
            self._later = ""
        return _delta(self._content("".join(content), finished), reasoning, calls)

    def _content(self, text: str, finished: bool) -> str:
        """Blanks alone wait until it is known whether tool calls follow, which swallow them."""
        if self._shown or not text:
            return text
        if text.strip():
            self._shown = True
            return text
        if self._slots:
            return ""
        if not finished:
            self._later = text
            return ""
        return text

    def _call_event(self, event: Event, calls: list[Call]) -> None:
        while len(self._slots) <= event.call:
            self._slots.append(_Slot())
        slot = self._slots[event.call]
        if event.kind is Kind.NAME:
            slot.name += event.text
        elif event.kind is Kind.ARGUMENTS:
            slot.raw += event.text
            if not slot.announced and slot.name:
                slot.announced = True
                calls.append(Call(event.call, {"name": slot.name}))
            elif slot.announced and event.text and (fresh := self._fresh(slot)):
                calls.append(Call(event.call, {"arguments": fresh}))
        elif event.kind is Kind.CALL_END:
            rest = self._rest(slot)
            if not slot.announced and slot.name:
                slot.announced = True
                calls.append(Call(event.call, {"name": slot.name, "arguments": rest}))
            elif slot.announced and rest:
                calls.append(Call(event.call, {"arguments": rest}))

    def _fresh(self, slot: _Slot) -> str:
        safe = _safe_beginning(self._arguments(slot, partial=True), self._growing(slot.name))
        if not safe or not safe.startswith(slot.sent):
            return ""
        fresh, slot.sent = safe[len(slot.sent) :], safe
        return fresh

    def _rest(self, slot: _Slot) -> str:
        whole = _written(self._arguments(slot, partial=False))
        if len(whole) <= len(slot.sent) or not whole.startswith(slot.sent):
            return ""
        rest, slot.sent = whole[len(slot.sent) :], whole
        return rest

    def _growing(self, name: str) -> set[str] | None:
        """Parameters that stay strings, whose text may be sent before it is complete; None = all (no schema)."""
        schemas = self._schemas.get(name)
        return {key for key, schema in schemas.items() if types_of(schema) == {"string"}} if schemas else None

    def _arguments(self, slot: _Slot, *, partial: bool) -> dict[str, Any]:
        """The arguments so far. Complete parameters are looked for once: a parameter needs the word twice."""
        first = slot.raw.find("parameter", slot.place)
        if first >= 0 and slot.raw.find("parameter", first + 1) >= 0:
            for match in _PARAMETER.finditer(slot.raw, slot.place):
                slot.values[match.group(1)] = self._value(match.group(2))
                slot.place = match.end()
        arguments: dict[str, Any] = dict(slot.values)
        if partial and (match := _UNFINISHED.search(slot.raw, slot.place)):
            arguments[match.group(1)] = self._value(match.group(2))
        for key, schema in self._schemas.get(slot.name, {}).items():
            if key in arguments:
                arguments[key] = coerced(arguments[key], schema)
        return arguments

    def _value(self, text: str) -> str:
        if self._strips:
            return text.strip()
        return text.removeprefix("\n").removesuffix("\n")


def _delta(content: str, reasoning: str, calls: list[Call]) -> Delta | None:
    delta: Delta = {}
    if content:
        delta["content"] = content
    if reasoning:
        delta["reasoning"] = reasoning
    if calls:
        delta["calls"] = calls
    return delta or None


def _merged(calls: list[Call]) -> list[Call]:
    """One element per call: pieces of the same call become one."""
    merged: dict[int, Call] = {}
    for call in calls:
        known = merged.setdefault(call.index, call)
        if known is call:
            continue
        for key, value in call.function.items():
            earlier = known.function.get(key)
            known.function[key] = (
                value if earlier is None else earlier + (value or "") if key == "arguments" else earlier
            )
    return list(merged.values())


def _safe_beginning(arguments: Mapping[str, Any], growing: set[str] | None) -> str:
    """How much of unfinished JSON cannot change: up to the last value, and of a string value its text so far."""
    if not arguments:
        return ""
    *before, (key, value) = arguments.items()
    name = _written(key)
    start = f"{_written(dict(before))[:-1]}{', ' if before else ''}{name}: "
    grows = isinstance(value, str) and (growing is None or name[1:-1] in growing)
    return start + _written(value)[:-1] if grows else start


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
