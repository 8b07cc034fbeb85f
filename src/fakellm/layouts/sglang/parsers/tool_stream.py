"""The stream side of SGLang's tool parsers whose calls are JSON objects behind a marker.

A call's name is told as soon as its string is closed, then its arguments in as few pieces as SGLang does: only what two
readings in a row agree on, the rest when the object is complete. A call of a tool that was not offered is dropped. What
goes wrong in a reading is silence, and the next piece of text tries again. Pure; knows no format and no wire.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..loose import elements, members
from ..traits import Trait, Traits
from .partial import NotJson, read_partial
from .reasoning import begun_at_end


@dataclass(frozen=True, slots=True)
class Call:
    """One call, or a piece of one: ``name`` stands only on the first piece."""

    index: int
    arguments: str
    name: str | None = None


class ToolParser:
    """Finds the calls of one answer. ``names``: the tools of the request, in its order."""

    begin: ClassVar[str] = ""
    end: ClassVar[str] = ""
    separator: ClassVar[str] = ", "

    def __init__(self, names: Sequence[str], traits: Traits) -> None:
        self.names = names
        self.traits = traits
        self._buffer = ""
        self._current = -1
        self._named = False
        self._sent: list[str] = []
        self._seen: list[dict[str, Any]] = []

    def has_call(self, text: str) -> bool:
        """The text holds the marker of a call."""
        return self.begin in text

    def whole(self, text: str) -> tuple[str, tuple[Call, ...]]:
        """(text outside of the calls, the calls) of a whole answer that has a marker."""
        raise NotImplementedError

    def push(self, text: str) -> tuple[str, tuple[Call, ...]]:
        """(text outside, pieces of calls) that these characters make certain."""
        self._buffer += text
        return self._advance()

    def finish(self) -> tuple[str, tuple[Call, ...]]:
        """What the end of the answer makes certain."""
        return "", ()

    def rest(self) -> Call | None:
        """The arguments that were seen and not yet told when the answer ended."""
        number = len(self._seen) - 1
        if number < 0 or number >= len(self._sent):
            return None
        expected = json.dumps(self._seen[number].get("arguments", {}), ensure_ascii=False)
        told = self._sent[number]
        left = expected.replace(told, "", 1) if told in expected else ""
        return Call(number, left) if left else None

    def known(self, found: Any) -> tuple[Call, ...]:
        """The calls of offered tools among parsed objects, of a whole answer; raises NotJson for what is no object."""
        calls: list[Call] = []
        for value in elements(found) if isinstance(found, list) else [found]:
            if not isinstance(value, dict):
                raise NotJson(str(value))
            row = members(value)
            if row.get("name") in self.names:
                arguments = row.get("parameters") or row.get("arguments", {})
                calls.append(Call(self._index(row["name"]), json.dumps(arguments, ensure_ascii=False), row["name"]))
        return tuple(calls)

    def _index(self, name: str) -> int:
        if self.traits.has(Trait.TOOL_INDEX_ABSENT):
            return -1
        return max(place for place, known in enumerate(self.names) if known == name)

    def _advance(self) -> tuple[str, tuple[Call, ...]]:
        current = self._buffer
        if not self.has_call(current) and not self._follows(current):
            if begun_at_end(current, self.begin):
                return "", ()
            self._buffer = ""
            return current.replace(self.end, "") if self.end else current, ()
        try:
            return "", self._pieces(current)
        except NotJson:
            return "", ()

    def _follows(self, current: str) -> bool:
        return self._current > 0 and current.startswith(self.separator)

    def _pieces(self, current: str) -> tuple[Call, ...]:
        follows = self._follows(current)
        if not self.traits.has(Trait.TOOL_SEPARATOR_FIRST):
            follows = follows and self.begin not in current
        start = len(self.separator) if follows else self._start(current)
        if start >= len(current):
            return ()
        try:
            read, length, complete = read_partial(current[start:], strings=self._named)
        except NotJson:
            start = self._start(current)
            fallen = follows and self.traits.has(Trait.TOOL_SEPARATOR_FALLBACK) and self.begin in current
            if not fallen or start >= len(current):
                raise
            read, length, complete = read_partial(current[start:], strings=self._named)
        return self._told(dict(members(read)), complete, current[start + length :])

    def _told(self, call: dict[str, Any], complete: bool, left: str) -> tuple[Call, ...]:
        if "name" in call and call["name"] not in self.names:
            self._forget()
            return ()
        if "parameters" in call:
            if "arguments" in call:
                raise NotJson(left)
            call["arguments"] = call["parameters"]
        if not call:
            return ()
        pieces = self._arguments(call, complete, left) if self._named else self._name(call)
        if self.traits.has(Trait.TOOL_STATE_CLEARED) and self._current >= 0:
            self._see(call)
        return pieces

    def _start(self, current: str) -> int:
        place = current.find(self.begin)
        return place + len(self.begin) if place >= 0 else 0

    def _forget(self) -> None:
        self._buffer, self._current, self._named = "", -1, False
        if self._sent:
            self._sent.pop()

    def _see(self, call: dict[str, Any]) -> None:
        while len(self._seen) <= self._current:
            self._seen.append({})
        self._seen[self._current] = call

    def _name(self, call: dict[str, Any]) -> tuple[Call, ...]:
        name = call.get("name")
        if not name:
            return ()
        if self._current == -1:
            self._current = 0
            self._sent.append("")
        while len(self._sent) <= self._current:
            self._sent.append("")
        self._named = True
        return (Call(self._current, "", name),)

    def _arguments(self, call: dict[str, Any], complete: bool, left: str) -> tuple[Call, ...]:
        arguments = call.get("arguments")
        if arguments is None or (not arguments and not self.traits.has(Trait.TOOL_EMPTY_ARGUMENTS)):
            return ()
        number = self._current
        written = self._written(arguments)
        before = self._seen[number].get("arguments") if number < len(self._seen) else None
        told = len(self._sent[number])
        fresh: str | None = None
        if complete:
            fresh = written[told:]
            self._buffer = left
        elif before:
            earlier = self._written(before)
            if written != earlier:
                fresh = _common(earlier, written)[told:]
        cleared = self.traits.has(Trait.TOOL_STATE_CLEARED)
        if not cleared:
            self._see(call)
        if complete:
            self._named = False
            self._current += 1
            if cleared:
                self._sent[number] = ""
                self._seen[number:] = [{}] * min(1, len(self._seen) - number)
        if fresh is None:
            return ()
        if not (cleared and complete):
            self._sent[number] += fresh
        return (Call(number, fresh),)

    def _written(self, arguments: Any) -> str:
        return json.dumps(arguments, ensure_ascii=self.traits.has(Trait.TOOL_ARGUMENTS_ESCAPED))


class ClosedToolParser(ToolParser):
    """A format whose end marker may straggle in behind its call, in pieces, as text. ``closer``: that marker."""

    closer: ClassVar[str] = ""

    def __init__(self, names: Sequence[str], traits: Traits) -> None:
        super().__init__(names, traits)
        self._straggling = ""

    def _without_closer(self, outside: str) -> str:
        if not outside:
            return ""
        self._straggling += outside
        if self.closer in self._straggling:
            cleaned = self._straggling.replace(self.closer, "")
            self._straggling = ""
            return cleaned
        place = len(self._straggling) - begun_at_end(self._straggling, self.closer)
        shown, self._straggling = self._straggling[:place], self._straggling[place:]
        return shown


def _common(first: str, second: str) -> str:
    length = 0
    for left, right in zip(first, second, strict=False):
        if left != right:
            break
        length += 1
    return first[:length]
