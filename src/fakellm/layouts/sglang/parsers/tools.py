"""SGLang's tool-call parsers for formats whose calls are JSON objects between markers.

Streaming tells a call's name as soon as its string is closed, then the arguments in as few pieces as SGLang does: only
what two readings in a row agree on, the rest when the object is complete. Pure; knows no wire.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..loose import elements, members
from .partial import NotJson, read_partial
from .reasoning import begun_at_end


@dataclass(frozen=True, slots=True)
class Format:
    """How calls are written. ``begin``/``end``: markers around one call (``end`` "" = none); ``separator``: between
    calls; ``closer``: an end marker that may straggle behind as text; ``strips``: text before the first call is
    stripped in whole answers; ``listed``: the calls stand in one array."""

    begin: str
    end: str
    separator: str
    closer: str = ""
    strips: bool = True
    listed: bool = False
    bare: bool = False


FORMATS: Mapping[str, Format] = {
    "qwen25": Format("<tool_call>\n", "\n</tool_call>", "\n", closer="</tool_call>"),
    "qwen": Format("<tool_call>\n", "\n</tool_call>", "\n", closer="</tool_call>"),
    "hermes": Format("<tool_call>", "</tool_call>", ""),
    "llama3": Format("<|python_tag|>", "", ";", bare=True),
    "mistral": Format("[TOOL_CALLS] [", "]", ", ", listed=True),
}
"""The parsers that are imitated."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call, or a piece of one: ``name`` stands only on the first piece."""

    index: int
    arguments: str
    name: str | None = None


@dataclass(slots=True)
class ToolParser:
    """Finds the calls of one answer. ``names``: the tools of the request; a call of another is dropped."""

    format: Format
    names: Sequence[str]
    indexes_by_call: bool = True
    _buffer: str = ""
    _straggling: str = ""
    _current: int = -1
    _named: bool = False
    _sent: list[str] = field(default_factory=list[str])
    _seen: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def whole(self, text: str) -> tuple[str, tuple[Call, ...]]:
        """(text outside the calls, the calls) of a whole answer."""
        if not self._has_call(text):
            return text, ()
        found: list[tuple[str, str]] = []
        for written in self._written(text):
            found.extend(self._calls_in(written))
        place = text.find(self.format.begin)
        outside = text[:place] if place >= 0 else ""
        calls = tuple(Call(number, arguments, name) for number, (name, arguments) in enumerate(found))
        return outside.strip() if self.format.strips else outside, calls

    def push(self, text: str) -> tuple[str, tuple[Call, ...]]:
        """(text outside, pieces of calls) that these characters make certain."""
        outside, calls = self._advance(text)
        if outside and self.format.closer:
            outside = self._without_closer(outside)
        return outside, calls

    def rest(self) -> Call | None:
        """The arguments that were seen and not yet told when the answer ended."""
        number = len(self._seen) - 1
        if number < 0 or number >= len(self._sent):
            return None
        expected = json.dumps(self._seen[number].get("arguments", {}), ensure_ascii=False)
        told = self._sent[number]
        left = expected[len(told) :] if expected.startswith(told) else ""
        return Call(number, left) if left else None

    def _has_call(self, text: str) -> bool:
        return self.format.begin in text or (self.format.bare and text.lstrip().startswith("{"))

    def _written(self, text: str) -> list[str]:
        if self.format.end and not self.format.listed:
            pattern = re.escape(self.format.begin) + "(.*?)" + re.escape(self.format.end)
            return re.findall(pattern, text, re.DOTALL)
        after = text.split(self.format.begin, 1)[-1]
        return ["[" + after] if self.format.listed else after.split(self.format.separator or "\0")

    def _calls_in(self, written: str) -> list[tuple[str, str]]:
        try:
            parsed: Any = json.loads(written.strip())
        except json.JSONDecodeError:
            return []
        found: list[tuple[str, str]] = []
        for row in map(members, elements(parsed) if isinstance(parsed, list) else [parsed]):
            if row.get("name") in self.names:
                arguments = row.get("parameters") or row.get("arguments", {})
                found.append((row["name"], json.dumps(arguments, ensure_ascii=False)))
        return found

    def _advance(self, text: str) -> tuple[str, tuple[Call, ...]]:
        self._buffer += text
        current = self._buffer
        follows = self._current > 0 and bool(self.format.separator) and current.startswith(self.format.separator)
        if not self._has_call(current) and not follows:
            if begun_at_end(current, self.format.begin):
                return "", ()
            self._buffer = ""
            return current.replace(self.format.end, "") if self.format.end else current, ()
        try:
            return "", self._piece(current, follows)
        except NotJson:
            return "", ()

    def _piece(self, current: str, follows: bool) -> tuple[Call, ...]:
        start = len(self.format.separator) if follows else self._start(current)
        if start >= len(current):
            return ()
        try:
            read, length, complete = read_partial(current[start:], strings=self._named)
        except NotJson:
            if not follows or self.format.begin not in current:
                raise
            start = self._start(current)
            read, length, complete = read_partial(current[start:], strings=self._named)
        call = dict(members(read))
        if not call:
            return ()
        if "name" in call and call["name"] not in self.names:
            self._forget()
            return ()
        if "parameters" in call:
            call["arguments"] = call["parameters"]
        if not self._named:
            return self._name(call)
        return self._arguments(call, complete, current[start + length :])

    def _start(self, current: str) -> int:
        place = current.find(self.format.begin)
        return place + len(self.format.begin) if place >= 0 else 0

    def _forget(self) -> None:
        self._buffer, self._current, self._named = "", -1, False
        if self._sent:
            self._sent.pop()

    def _name(self, call: dict[str, Any]) -> tuple[Call, ...]:
        name = call.get("name")
        if not name:
            return ()
        self._current = max(self._current, 0)
        while len(self._sent) <= self._current:
            self._sent.append("")
        self._named = True
        return (Call(self._current, "", name),)

    def _arguments(self, call: dict[str, Any], complete: bool, left: str) -> tuple[Call, ...]:
        arguments = call.get("arguments")
        if arguments is None:
            return ()
        number = self._current
        written = json.dumps(arguments, ensure_ascii=False)
        before = self._seen[number].get("arguments") if number < len(self._seen) else None
        told = len(self._sent[number])
        fresh: str | None = None
        if complete:
            fresh = written[told:]
            self._buffer = left
        elif before:
            earlier = json.dumps(before, ensure_ascii=False)
            if written != earlier:
                fresh = _common(earlier, written)[told:]
        while len(self._seen) <= number:
            self._seen.append({})
        self._seen[number] = call
        if complete:
            self._named = False
            self._current += 1
        if fresh is None:
            return ()
        self._sent[number] += fresh
        return (Call(number, fresh),)

    def _without_closer(self, outside: str) -> str:
        """Text without an end marker that arrives in pieces behind its call."""
        closer = self.format.closer
        self._straggling += outside
        if closer in self._straggling:
            cleaned = self._straggling.replace(closer, "")
            self._straggling = ""
            return cleaned
        held = begun_at_end(self._straggling, closer)
        shown = self._straggling[: len(self._straggling) - held]
        self._straggling = self._straggling[len(self._straggling) - held :]
        return shown


def _common(first: str, second: str) -> str:
    length = 0
    for left, right in zip(first, second, strict=False):
        if left != right:
            break
        length += 1
    return first[:length]
