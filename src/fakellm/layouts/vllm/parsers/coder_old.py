"""The qwen3_coder tool parser up to 0.20.2: it looks at the whole text so far and sends one thing a step.

A step sends a call's name, the opening brace, a complete parameter or the closing brace, whatever more it holds; up to
0.16 that loses braces and parameters when steps hold several tokens. Source: qwen3coder_tool_parser.py of 0.10.2 to
0.20.2.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from ....tokenizer import Tokenizer
from .deltas import Call, Delta
from .grammar.calls import Schemas
from .hermes import CLOSE, OPEN
from .stream import Step

FUNCTION, FUNCTION_END = "<function=", "</function>"
PARAMETER, PARAMETER_END = "<parameter=", "</parameter>"
_COMPLETE = re.compile(r"<tool_call>.*?</tool_call>", re.DOTALL)
_CALLS = re.compile(r"<tool_call>(.*?)</tool_call>|<tool_call>(.*?)$", re.DOTALL)
_FUNCTIONS = re.compile(r"<function=(.*?)</function>|<function=(.*)$", re.DOTALL)
_PARAMETERS = re.compile(r"<parameter=(.*?)(?:</parameter>|(?=<parameter=)|(?=</function>)|$)", re.DOTALL)
_STRINGS = ("string", "str", "text", "varchar", "char", "enum")
_INTEGERS = ("int", "uint", "long", "short", "unsigned")
_UNWRITABLE = (TypeError, ValueError, OverflowError, RecursionError)


class OldCoder:
    """One stream. ``bursts``: a step may hold more than one parameter, and the brace always comes first (0.20.2)."""

    def __init__(self, tokenizer: Tokenizer, schemas: Schemas, *, bursts: bool) -> None:
        self._schemas = schemas
        self._bursts = bursts
        self._open_id, self._close_id = tokenizer.id_of(OPEN.encode()), tokenizer.id_of(CLOSE.encode())
        self.read: list[dict[str, str]] = []
        self.sent: list[str] = []
        self._restart()

    def _restart(self) -> None:
        self._place = 0
        self._started = self._inside = False
        self._name = ""
        self._next()

    def _next(self) -> None:
        self._named = self._opened = self._closed = False
        self._parameters = 0

    @property
    def begun(self) -> bool:
        return bool(self.read)

    def expected(self) -> tuple[int, str] | None:
        return (len(self.read) - 1, self.read[-1]["arguments"]) if self.read else None

    def finish(self) -> Delta | None:
        return None

    # -------------------------------------------------------------------- whole

    def whole(self, text: str) -> tuple[list[tuple[str, str]] | None, str | None]:
        if FUNCTION not in text:
            return None, text
        try:
            calls = [self._called(function) for function in _functions(text)]
        except _UNWRITABLE:
            return None, text
        found = [call for call in calls if call is not None]
        start = text.find(OPEN if OPEN in text else FUNCTION)
        return (found, text[:start] or None) if found else (None, text)

    def _called(self, function: str) -> tuple[str, str] | None:
        """Name and arguments of ``NAME>PARAMETERS``; raises ValueError for what the server fails on."""
        name, close, parameters = function.partition(">")
        if not close:
            if self._bursts:
                return None
            raise ValueError("no name")
        found: dict[str, Any] = {}
        for parameter in _PARAMETERS.findall(parameters):
            key, close, value = parameter.partition(">")
            if not close:
                raise ValueError("no parameter name")
            found[key] = self._converted(name, key, _unwrapped(value))
        return name, json.dumps(found, ensure_ascii=False)

    # ------------------------------------------------------------------- stream

    def step(self, step: Step) -> Delta | None:
        if not step.before:
            self._restart()
        if not step.text:
            return self._silent(step)
        if self._closed and not self._inside and step.so_far.count(CLOSE) > self._place:
            self._place += 1
            self._next()
            self._started = self._started and self._place < step.so_far.count(OPEN)
            return None
        if not self._started:
            return self._outside(step)
        text = self._call_text(step.so_far)
        if text is None:
            return None
        if not self._named:
            return self._header(text)
        return self._body(text, step.text) if self._inside else None

    def _silent(self, step: Step) -> Delta | None:
        """A step without text: an empty delta where it is the end of something."""
        if not step.ids or self._close_id in step.ids:
            return None
        if self.read and _COMPLETE.search(step.so_far):
            return {"content": ""} if step.so_far.count(OPEN) == step.so_far.count(CLOSE) else None
        return {"content": ""} if step.so_far and not self._started else None

    def _outside(self, step: Step) -> Delta | None:
        if self._open_id in step.ids or OPEN in step.text:
            self._started = True
            before = step.text[: max(step.text.find(OPEN), 0)]
            return {"content": before} if before else None
        if step.so_far.rstrip().endswith(CLOSE) and not step.text.strip():
            return None
        return {"content": step.text}

    def _call_text(self, so_far: str) -> str | None:
        """From the mark of the call that is being sent to its end, or as far as it has come."""
        start = -len(OPEN)
        for _ in range(self._place + 1):
            start = so_far.find(OPEN, start + len(OPEN))
            if start < 0:
                return None
        end = so_far.find(CLOSE, start)
        return so_far[start:] if end < 0 else so_far[start : end + len(CLOSE)]

    def _header(self, text: str) -> Delta | None:
        _, function, rest = text.partition(FUNCTION)
        name, close, _ = rest.partition(">")
        if not function or not close:
            return None
        self._name = name
        self._named = self._inside = True
        if self._bursts or all(call["name"] != name for call in self.read):
            self.read.append({"name": name, "arguments": "{}"})
        if self._bursts:
            self.sent.append("")
        return {"calls": [Call(self._place, {"name": name, "arguments": ""}, own_id=True)]}

    def _body(self, text: str, fresh: str) -> Delta | None:
        if not self._opened:
            self._opened = True
            if self._bursts or PARAMETER not in fresh:
                return self._piece("{")
        ended = not self._closed and FUNCTION_END in text
        if ended and not self._bursts:
            return self._end(text)
        parameters = self._complete_parameters(text)
        if parameters:
            return self._piece("".join(parameters))
        return self._end(text) if ended else None

    def _complete_parameters(self, text: str) -> list[str]:
        """The parameters that are complete and were not sent: all of them, or one (up to 0.16)."""
        starts = [match.end() for match in re.finditer(PARAMETER, text)]
        found: list[str] = []
        while self._parameters < len(starts) and (self._bursts or not found):
            name, close, value = text[starts[self._parameters] :].partition(">")
            value = value.removeprefix("\n")
            end = self._value_end(value, text) if close else None
            if end is None:
                break
            converted = self._written(name, value[:end].removesuffix("\n"))
            found.append(f'{", " if self._parameters else ""}"{name}": {converted}')
            self._parameters += 1
        return found

    def _value_end(self, value: str, text: str) -> int | None:
        places = [value.find(mark) for mark in (PARAMETER_END, PARAMETER, FUNCTION_END)]
        if places[0] >= 0:
            return places[0]
        others = [place for place in places if place >= 0]
        if others:
            return min(others)
        if self._bursts:
            end = value.find(CLOSE)
            return end if end >= 0 else None
        return len(value) if CLOSE in text else None

    def _end(self, text: str) -> Delta:
        self._closed = True
        self._inside = False
        function, end, _ = text.partition(FUNCTION)[2].partition(FUNCTION_END)
        try:
            called = self._called(function) if end else None
        except _UNWRITABLE:
            called = None
        if called is not None:
            known = (
                self.read[self._place :] if self._bursts else [call for call in self.read if call["name"] == called[0]]
            )
            for call in known[:1]:
                call["arguments"] = called[1]
        return self._piece("}")

    def _piece(self, text: str) -> Delta:
        if self._place < len(self.sent):
            self.sent[self._place] += text
        return {"calls": [Call(self._place, {"arguments": text})]}

    # ------------------------------------------------------------------- values

    def _written(self, key: str, value: str) -> str:
        try:
            return json.dumps(self._converted(self._name, key, value), ensure_ascii=False)
        except _UNWRITABLE:
            return json.dumps(value, ensure_ascii=False)

    def _converted(self, function: str, key: str, value: str) -> Any:
        schema = self._schemas.get(function, {}).get(key)
        return _converted(value, schema, any_of=self._bursts)


def _functions(text: str) -> list[str]:
    calls = [first or second for first, second in _CALLS.findall(text)] or [text]
    return [first or second for call in calls for first, second in _FUNCTIONS.findall(call)]


def _unwrapped(value: str) -> str:
    return value.removeprefix("\n").removesuffix("\n")


def _converted(value: str, schema: Mapping[str, Any] | None, *, any_of: bool) -> Any:
    """The value as its schema's type says; a string where it cannot be. ``any_of``: such a schema is an object's."""
    if value.lower() == "null":
        return None
    kind = "string"
    if schema is not None and "type" in schema:
        kind = str(schema["type"]).strip().lower()
    elif schema is not None and any_of and "anyOf" in schema:
        kind = "object"
    if kind in _STRINGS:
        return value
    if kind in ("boolean", "bool", "binary"):
        return value.lower() == "true"
    try:
        if kind.startswith(_INTEGERS):
            return int(value)
        if kind.startswith(("num", "float")):
            number = float(value)
            return int(number) if number == int(number) else number
    except ValueError:
        return value
    if kind in ("object", "array", "arr") or kind.startswith(("dict", "list")):
        try:
            return json.loads(value)
        except ValueError:
            pass
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError):
        return value
