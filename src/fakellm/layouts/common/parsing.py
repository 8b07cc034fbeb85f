"""Taking an answer's text apart: reasoning between marks, tool calls between marks, content around them.

A call is told whole, when its end mark has come; until then everything from its first mark is held (a part of kind
content with the mark ``held``). Reasoning passes through as it comes. The arguments of a call are the very characters
that the model wrote. Knows no wire; :class:`AnswerParser` serves one choice.

>>> parser = AnswerParser(Marks())
>>> [(part.kind, part.text) for part in parser.push("<think>Hm.</think>Yes.", finished=True)]
[('reasoning', 'Hm.'), ('content', 'Yes.')]
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from ...told import Part

HELD = Part("content", marks=("held",))
"""From here on the step's tokens wait: they are told with the call that they belong to, or with what follows."""


@dataclass(frozen=True, slots=True)
class Marks:
    """What stands around reasoning and calls; "" = this server does not look for it. ``waits``: a reasoning mark may
    come in pieces and is waited for (else it must come in one step, as one token does)."""

    think: str = "<think>"
    end_think: str = "</think>"
    call: str = "<tool_call>"
    end_call: str = "</tool_call>"
    waits: bool = False


class AnswerParser:
    """One choice's parser. ``thinking``: the text so far ends inside reasoning."""

    def __init__(self, marks: Marks, *, tools: bool = True) -> None:
        self._marks = marks
        self._tools = tools and bool(marks.call)
        self.thinking = False
        self._pending: str = ""
        self._held = ""
        self._calls = 0

    def push(self, text: str, *, finished: bool) -> tuple[Part, ...]:
        """What these characters make certain, in order."""
        found: list[Part] = []
        for kind, piece in self._split(text, finished):
            if kind == "reasoning":
                found.append(Part(kind, piece))
            elif self._tools:
                found += self._content(piece)
            else:
                found.append(Part("content", piece))
        if finished and self._held:
            found += [*([HELD] if found else []), *self._rest()]
        if self._held:
            found.append(HELD)
        return tuple(found)

    def _split(self, text: str, finished: bool) -> Iterator[tuple[str, str]]:
        """(kind, piece) of reasoning and content; marks are dropped, stray end marks too."""
        marks = self._marks
        text = self._pending + text
        self._pending = ""
        if not marks.think:
            yield from [("content", text)] if text else []
            return
        while text:
            wanted = (marks.end_think,) if self.thinking else (marks.think, marks.end_think)
            places = [(text.find(mark), mark) for mark in wanted if mark in text]
            if not places:
                shown = len(text) if finished or not marks.waits else len(text) - begun(text, wanted)
                self._pending = text[shown:]
                if text[:shown]:
                    yield self._kind(), text[:shown]
                return
            place, mark = min(places)
            if text[:place]:
                yield self._kind(), text[:place]
            self.thinking = mark == marks.think
            text = text[place + len(mark) :]

    def _kind(self) -> str:
        return "reasoning" if self.thinking else "content"

    def _content(self, piece: str) -> Iterator[Part]:
        """Content and whole calls; what may be or is a call that has not ended stays held."""
        self._held += piece
        while self._held:
            before, mark, after = self._held.partition(self._marks.call)
            if not mark:
                stray = self._held.replace(self._marks.end_call, "")
                shown = len(stray) - begun(stray, (self._marks.call,))
                if stray[:shown]:
                    yield Part("content", stray[:shown])
                self._held = stray[shown:]
                return
            if before:
                yield Part("content", before)
            inside, end, rest = after.partition(self._marks.end_call)
            if not end:
                self._held = mark + after
                return
            self._held = rest
            yield from self._called(inside)

    def _called(self, inside: str) -> Iterator[Part]:
        for name, arguments in calls_in(inside):
            yield Part("tool", arguments, self._calls, name)
            self._calls += 1

    def _rest(self) -> list[Part]:
        """The answer is over: a begun mark was text after all, a begun call is told if closing it makes it one."""
        held, self._held = self._held, ""
        if not held.startswith(self._marks.call):
            return [Part("content", held)]
        return list(self._called(closed(held[len(self._marks.call) :]))) or [Part("content", "")]


def begun(text: str, marks: tuple[str, ...]) -> int:
    """How many characters at the end of a text may be the beginning of a mark (never all of one)."""
    longest = min(len(text), max(len(mark) for mark in marks) - 1)
    for length in range(longest, 0, -1):
        if any(len(mark) > length and mark.startswith(text[-length:]) for mark in marks):
            return length
    return 0


def calls_in(written: str) -> list[tuple[str, str]]:
    """(name, arguments as written) of one call or an array of them; nothing when it is no JSON.

    >>> calls_in('{"name": "add", "arguments": {"a":  1}}')
    [('add', '{"a":  1}')]
    """
    text = written.strip()
    try:
        parsed: Any = json.loads(text)
    except ValueError:
        return []
    rows = cast("list[Any]", parsed) if isinstance(parsed, list) else [parsed]
    found: list[tuple[str, str]] = []
    for row, source in zip(rows, _sources(text, isinstance(parsed, list)), strict=False):
        if isinstance(row, dict) and isinstance(cast("dict[str, Any]", row).get("name"), str):
            members = raw_members(source)
            arguments = members.get("arguments", members.get("parameters", "{}"))
            found.append((cast("dict[str, str]", row)["name"], arguments))
    return found


def _sources(text: str, listed: bool) -> list[str]:
    return _elements(text) if listed else [text]


def closed(text: str) -> str:
    """A JSON text that was cut off, with what is open closed.

    >>> closed('{"name": "add", "arguments": {"a": "x')
    '{"name": "add", "arguments": {"a": "x"}}'
    """
    open_ones: list[str] = []
    quoted = escaped = False
    for character in text:
        if quoted:
            quoted = escaped or character != '"'
            escaped = not escaped and character == "\\"
        elif character == '"':
            quoted = True
        elif character in "{[":
            open_ones.append("}" if character == "{" else "]")
        elif character in "}]" and open_ones:
            open_ones.pop()
    return text + ('"' if quoted else "") + "".join(reversed(open_ones))


def raw_members(text: str) -> dict[str, str]:
    """The members of a JSON object, each value as it is written."""
    return {str(name): text[start:end] for name, start, end in _members(text, 0)}


def span_of(text: str, path: tuple[str | int, ...]) -> tuple[int, int]:
    """Where the value at this path stands in a JSON text (of a member written twice, the last)."""
    start = _skip(text, 0)
    end = len(text)
    for step in path:
        start, end = next((one, two) for name, one, two in reversed(list(_members(text, start))) if name == step)
    return start, end


def _elements(text: str) -> list[str]:
    return [text[start:end] for _, start, end in _members(text, 0)]


def _members(text: str, place: int) -> Iterator[tuple[str | int, int, int]]:
    """(name or number, start, end) of every value of the object or list that begins here."""
    decoder = json.JSONDecoder()
    listed = text[place] == "["
    place = _skip(text, place + 1)
    number = 0
    while text[place] not in "}]":
        name: str | int = number
        if not listed:
            name, place = decoder.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)
        _, end = decoder.raw_decode(text, place)
        yield name, place, end
        number += 1
        place = _skip(text, end)
        place = _skip(text, place + 1) if text[place] == "," else place


def _skip(text: str, place: int) -> int:
    while text[place] in " \t\r\n":
        place += 1
    return place
