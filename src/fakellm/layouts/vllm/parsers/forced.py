"""Forced tool choice: the whole answer is the arguments (a named function) or an array of calls (``required``).

The engine is bound to the schema, so no tool parser is asked. Streams up to 0.28 read the array as far as it goes and
cut the step's text at the brackets' level; 0.32 finds the calls' places and sends what is new of each.
Source: serving_chat.py up to 0.20.2, tool_parsers/streaming.py from 0.24.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, cast

from pydantic_core import from_json

from ...partial_json import NotJson, read_partial
from ..validate.containers import ListOf
from ..validate.flaws import Crash, Flaw, Objection
from ..validate.parts import MAYBE_OBJECT, MAYBE_TEXT, TEXT, WRAPPED, model
from ..validate.records import REQUIRED, Field
from ..validate.spelling import printed_flaws
from .deltas import Call, Delta

_DEFINITIONS = ListOf(
    model(Field("name", TEXT, REQUIRED), Field("description", MAYBE_TEXT), Field("parameters", MAYBE_OBJECT))
)
_BRACKETS = re.compile(r'["\[\]{}]')
_PARAMETERS = re.compile(r'.*"parameters":\s*(.*)', re.DOTALL)


def required_calls(text: str) -> list[tuple[str, str]]:
    """The calls of a whole ``required`` answer; [] when it is not an array of {name, parameters}."""
    try:
        read: Any = json.loads(text)
    except ValueError:
        return []
    if not isinstance(read, list):
        return []
    calls: list[tuple[str, str]] = []
    for call in cast("list[Any]", read):
        members = cast("dict[str, Any]", call) if isinstance(call, dict) else {}
        name, parameters = members.get("name"), members.get("parameters")
        if not isinstance(name, str) or not isinstance(parameters, dict | None):
            return []
        calls.append((name, json.dumps(parameters, ensure_ascii=False)))
    return calls


def checked_calls(text: str) -> list[tuple[str, str]]:
    """The same up to 0.16, which refuses what is not such an array; raises Objection in pydantic's words."""
    flaws: list[Flaw] = []
    try:
        read: Any = from_json(text)
    except ValueError as bad:
        flaws.append(Flaw("json_invalid", (), f"Invalid JSON: {bad}", text))
    else:
        _DEFINITIONS.check(read, (), flaws)
    if flaws:
        raise Objection(printed_flaws(f"list[{WRAPPED}]", flaws), plain=True)
    return required_calls(text)


class Named:
    """A named function: every step's text is a piece of its arguments. ``index``: up to 0.20.2 the call's index is the
    choice's."""

    def __init__(self, name: str, index: int) -> None:
        self._name = name
        self._index = index
        self.begun = False

    def step(self, text: str) -> Delta:
        function: dict[str, str | None] = {"arguments": text}
        if not self.begun:
            function = {"name": self._name, "arguments": text}
            self.begun = True
        return {"calls": [Call(self._index, function)]}


class Required:
    """``required`` up to 0.28. ``strings_known``: brackets in strings do not count, and the first arguments are cut by
    what stands before them (0.28). ``breaks``: text that cannot become JSON raises Crash (up to 0.12)."""

    def __init__(self, *, strings_known: bool, breaks: bool = False) -> None:
        self._strings_known = strings_known
        self._breaks = breaks
        self._named = False

    def step(self, text: str, before: str, so_far: str) -> Delta | None:
        if not so_far:
            return None
        try:
            read: Any = read_partial(so_far)[0]
        except NotJson:
            read = None
            if self._breaks:
                _check_brackets(so_far)
        if not isinstance(read, list) or not read:
            self._named = False
            return None
        calls = cast("list[Any]", read)
        _, ends_call = self._inside(text, before)
        call = _object(calls[-1])
        if not (ends_call or ("name" in call and "parameters" in call)):
            self._named = False
            return None
        if self._named:
            fresh, _ = self._inside(text, before)
            return {"calls": [Call(len(calls) - 1, {"name": None, "arguments": fresh})]} if fresh else None
        if ends_call and "parameters" not in call and len(calls) > 1:
            call = _object(calls[-2])
        self._named = True
        function: dict[str, str | None] = {"name": call.get("name"), "arguments": self._first_arguments(before, so_far)}
        return {"calls": [Call(len(calls) - 1, function)]}

    def _first_arguments(self, before: str, so_far: str) -> str:
        found = _PARAMETERS.match(so_far)
        if found is None:
            return ""
        return self._inside(found.group(1), so_far[: found.start(1)] if self._strings_known else before)[0]

    def _inside(self, text: str, before: str) -> tuple[str, bool]:
        """The text as long as a brace is open, and whether the last brace closed the outermost one."""
        level = _Level(self._strings_known)
        for character in before:
            level.push(character)
        shown = ""
        closed = False
        for character in text:
            if level.push(character):
                closed = level.depth == 0
            if level.depth != 0:
                shown += character
            elif character == "," and not level.in_string:
                break
        return shown, closed


def _check_brackets(text: str) -> None:
    """What nobody catches of the library that reads unfinished JSON; raises Crash. Where the first bracket comes before
    the first quote, it closes what is open and lets the JSON decoder say what is wrong."""
    marks = [(found.start(), found.group()) for found in _BRACKETS.finditer(text)]
    if not marks or marks[0][1] == '"':
        return
    level = _Level(strings_known=True)
    stack: list[tuple[int, str]] = []
    for place, character in enumerate(text):
        if not level.push(character) and (level.in_string or character not in "[]"):
            continue
        if character in "{[":
            stack.append((place, character))
        elif not stack:
            raise Crash("IndexError", "pop from empty list")
        else:
            opened, mark = stack.pop()
            if mark + character not in ("{}", "[]"):
                wanted = "{" if character == "}" else "["
                raise Crash("AssertionError", f"Expected '{wanted}' at index {opened}, got '{mark}'")
    closed = text + ('"' if level.in_string else "") + "".join("}" if mark == "{" else "]" for _, mark in stack[::-1])
    try:
        json.loads(closed)
    except ValueError as bad:
        raise Crash("ValueError", str(bad)) from None


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


class _Level:
    """How many braces are open."""

    def __init__(self, strings_known: bool) -> None:
        self.depth = 0
        self.in_string = False
        self._escaped = False
        self._strings_known = strings_known

    def push(self, character: str) -> bool:
        """Take a character; is it a brace that counts?"""
        if self._strings_known:
            if self._escaped:
                self._escaped = False
                return False
            if self.in_string and character == "\\":
                self._escaped = True
                return False
            if character == '"':
                self.in_string = not self.in_string
                return False
            if self.in_string:
                return False
        if character not in "{}":
            return False
        self.depth += 1 if character == "{" else -1
        return True


@dataclass(slots=True)
class _Place:
    """Where one call stands in the array: its name once complete (and where it ended), its parameters' span."""

    name: str | None = None
    name_end: int = 0
    start: int | None = None
    end: int | None = None

    def ready(self, length: int) -> bool:
        """Could the call be announced when so many characters were there?"""
        return self.name is not None and self.name_end <= length and self.start is not None and self.start < length


class RequiredPlaces:
    """``required`` in 0.32: stateless but for the two texts."""

    def step(self, text: str, before: str, so_far: str) -> Delta | None:
        calls: list[Call] = []
        for index, place in enumerate(places_of(so_far)):
            if place.name is None or place.start is None:
                break
            end = len(so_far) if place.end is None else place.end
            if place.ready(len(before)):
                fresh = so_far[min(end, len(before)) : end]
                if fresh:
                    calls.append(Call(index, {"name": None, "arguments": fresh}))
                continue
            calls.append(Call(index, {"name": place.name, "arguments": so_far[place.start : end]}))
        return {"calls": calls} if calls else None


def places_of(text: str) -> list[_Place]:
    """The calls of an array that is still being written. Only the level of the array's elements is read, so nothing
    inside strings or nested values confuses it; text after the array is not looked at."""
    return _Scan(text).places


class _Scan:
    def __init__(self, text: str) -> None:
        self.text = text
        self.places: list[_Place] = []
        self._key: str | None = None
        self._expects = "key"
        self._start = 0
        self._depth = 0
        self._run()

    def _run(self) -> None:
        at = 0
        while at < len(self.text):
            character = self.text[at]
            if character == '"':
                end = _string_end(self.text, at)
                self._string(at, end)
                if end is None:
                    return
                at = end
                continue
            if character in "{[" and not self._open(at, character):
                return
            if character in "}]" and not self._close(at):
                return
            if self._depth == 2 and character not in "{}[]":
                self._inside(at, character)
            at += 1

    def _open(self, at: int, character: str) -> bool:
        if character != ("[", "{")[self._depth] if self._depth < 2 else False:
            return False
        if self._depth == 1:
            self.places.append(_Place())
            self._expects, self._key = "key", None
        elif self._depth == 2 and self._expects == "value":
            self._begin(at, "container")
        self._depth += 1
        return True

    def _close(self, at: int) -> bool:
        if self._depth == 2 and self._expects == "scalar":
            self._end(at)
        self._depth -= 1
        if self._depth == 2 and self._expects == "container":
            self._end(at + 1)
        return self._depth > 0

    def _string(self, at: int, end: int | None) -> None:
        if self._depth != 2:
            return
        if self._expects == "value":
            self._begin(at, "string")
        if end is None:
            return
        if self._expects == "key":
            self._key = self.text[at + 1 : end - 1]
            self._expects = "colon"
        elif self._expects == "string":
            self._end(end)

    def _inside(self, at: int, character: str) -> None:
        if character == ":" and self._expects == "colon":
            self._expects = "value"
        elif character == ",":
            if self._expects == "scalar":
                self._end(at)
            self._expects, self._key = "key", None
        elif character.isspace():
            if self._expects == "scalar":
                self._end(at)
        elif self._expects == "value":
            self._begin(at, "scalar")

    def _begin(self, at: int, kind: str) -> None:
        self._start = at
        if self._key == "parameters":
            self.places[-1].start = at
        self._expects = kind

    def _end(self, at: int) -> None:
        place = self.places[-1]
        if self._key == "parameters":
            place.end = at
        elif self._key == "name" and self._expects == "string":
            try:
                place.name, place.name_end = json.loads(self.text[self._start : at]), at
            except ValueError:
                place.name = None
        self._expects = "after"


def _string_end(text: str, at: int) -> int | None:
    """The place behind the string that begins here, or None while it is open."""
    place = at + 1
    while place < len(text):
        if text[place] == "\\":
            place += 2
            continue
        if text[place] == '"':
            return place + 1
        place += 1
    return None
