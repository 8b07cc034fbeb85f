"""The tool-call formats that are imitated, by SGLang's names: how calls are marked, and how whole answers are read."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from ..traits import Trait
from .partial import NotJson
from .reasoning import begun_at_end
from .tool_stream import Call, ClosedToolParser, ToolParser

_DECODER = json.JSONDecoder()


class Qwen(ClosedToolParser):
    """Qwen 2.5 and 3: one JSON object in each ``<tool_call>`` block, on lines of its own."""

    begin: ClassVar[str] = "<tool_call>\n"
    end: ClassVar[str] = "\n</tool_call>"
    separator: ClassVar[str] = "\n"
    closer: ClassVar[str] = "</tool_call>"
    _block: ClassVar[re.Pattern[str]] = re.compile(r"<tool_call>\n(.*?)\n</tool_call>", re.DOTALL)

    def whole(self, text: str) -> tuple[str, tuple[Call, ...]]:
        calls: list[Call] = []
        for block in self._block.findall(text):
            try:
                calls += self.known(json.loads(block.strip()))
            except json.JSONDecodeError:
                continue
        return text[: text.find(self.begin)].strip(), tuple(calls)

    def push(self, text: str) -> tuple[str, tuple[Call, ...]]:
        outside, calls = super().push(text)
        return self._without_closer(outside), calls


class Hermes(ClosedToolParser):
    """One JSON object, or a list of them, in each ``<tool_call>`` block; one that is no JSON spoils all."""

    begin: ClassVar[str] = "<tool_call>"
    end: ClassVar[str] = "</tool_call>"
    closer: ClassVar[str] = "</tool_call>"
    _block: ClassVar[re.Pattern[str]] = re.compile(r"<tool_call>(.*?)</tool_call>|<tool_call>(.*)", re.DOTALL)

    def whole(self, text: str) -> tuple[str, tuple[Call, ...]]:
        calls: list[Call] = []
        try:
            for closed, opened in self._block.findall(text):
                if closed or opened:
                    calls += self.known(json.loads((closed or opened).strip()))
        except (json.JSONDecodeError, NotJson):
            return text, ()
        return text[: text.find(self.begin)].strip(), tuple(calls)

    def push(self, text: str) -> tuple[str, tuple[Call, ...]]:
        self._buffer += text
        current = self._buffer
        place = current.find(self.begin)
        if place < 0:
            place = len(current) - begun_at_end(current, self.begin)
            self._buffer = current[place:]
            return self._without_closer(current[:place]), ()
        if place > 0:
            self._buffer = current[place:]
            return current[:place], ()
        outside, calls = self._advance()
        return self._without_closer(outside), calls


class Llama(ToolParser):
    """Llama 3: JSON objects behind ``<|python_tag|>`` or from the first character, with semicolons between; Python's
    spelling of a dict is understood too."""

    begin: ClassVar[str] = "<|python_tag|>"
    separator: ClassVar[str] = ";"
    _keys: ClassVar[re.Pattern[str]] = re.compile(r"'([^']*)':")
    _values: ClassVar[re.Pattern[str]] = re.compile(r":\s*'([^']*)'")

    def has_call(self, text: str) -> bool:
        return self.begin in text or text.startswith("{")

    def whole(self, text: str) -> tuple[str, tuple[Call, ...]]:
        before, marker, written = text.partition(self.begin)
        if not marker:
            before, written = "", text
        found: list[Any] = []
        place = end = 0
        while place < len(written):
            read = self._object_at(written, place)
            if read is not None:
                value, length = read
                found.append(value)
                place = end = place + length + len(self.separator)
                continue
            place = written.find('{"name":', place + 1)
            if place < 0:
                break
        return before + written[end:].strip(), self.known(found)

    def push(self, text: str) -> tuple[str, tuple[Call, ...]]:
        self._buffer += text
        if self.traits.has(Trait.TOOL_DICTS):
            self._buffer = self._values.sub(r': "\1"', self._keys.sub(r'"\1":', self._buffer))
        return self._advance()

    def _object_at(self, written: str, place: int) -> tuple[Any, int] | None:
        """(value, length) of the JSON value or Python dict that begins here."""
        try:
            return _DECODER.raw_decode(written[place:])
        except json.JSONDecodeError:
            end = _closed_at(written, place, "{}", strings=False) if self.traits.has(Trait.TOOL_DICTS) else None
        if end is None:
            return None
        try:
            value: Any = ast.literal_eval(written[place:end].strip())
            return (json.loads(json.dumps(value)), end - place) if isinstance(value, dict) else None
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            return None


class Mistral(ToolParser):
    """Mistral: one array of JSON objects behind ``[TOOL_CALLS]``, or a name and ``[ARGS]`` before each object."""

    begin: ClassVar[str] = "[TOOL_CALLS] ["
    end: ClassVar[str] = "]"
    _marker: ClassVar[str] = "[TOOL_CALLS"
    _compact: ClassVar[re.Pattern[str]] = re.compile(r"\[TOOL_CALLS\]?\s*(.*?)\[ARGS\]?\s*", re.DOTALL)

    def has_call(self, text: str) -> bool:
        return (self._marker if self.traits.has(Trait.TOOL_DICTS) else self.begin) in text

    def whole(self, text: str) -> tuple[str, tuple[Call, ...]]:
        compact = self.traits.has(Trait.TOOL_DICTS)
        place = text.find(self._marker if compact else self.begin)
        outside, part = text[:place].strip(), text[place:]
        if self.begin not in part:
            return self._compact_calls(outside, part)
        start = part.find(self.begin) + len(self.begin) - 1
        end = _closed_at(part, start, "[]")
        if end is None:
            return outside, ()
        try:
            calls = self.known(json.loads(part[start:end]))
        except json.JSONDecodeError:
            calls = ()
        return (_joined(outside, part[end:]) if compact else outside), calls

    def push(self, text: str) -> tuple[str, tuple[Call, ...]]:
        self._buffer += text
        current = self._buffer
        if not self.traits.has(Trait.TOOL_DICTS):
            return self._advance()
        place = current.find(self._marker)
        if place < 0:
            if begun_at_end(current, self._marker):
                return "", ()
            self._buffer = ""
            return current.replace(self.end, ""), ()
        if place > 0:
            self._buffer = current[place:]
            return current[:place], ()
        found = self._compact_at(current)
        if found is not None:
            return self._whole_call(current, *found)
        return self._advance() if self.begin in current else ("", ())

    def _whole_call(self, current: str, name: str, arguments: Any, end: int) -> tuple[str, tuple[Call, ...]]:
        """A compact call, which is told at once: its name, then all arguments."""
        if name not in self.names:
            self._buffer = ""
            return current, ()
        if self._current == -1:
            self._current, self._seen, self._sent = 0, [], []
        self._see({"name": name, "arguments": arguments})
        while len(self._sent) <= self._current:
            self._sent.append("")
        number, written = self._current, json.dumps(arguments, ensure_ascii=False)
        self._sent[number] = written
        self._buffer, self._named = current[end:], False
        self._current += 1
        return "", (Call(number, "", name), Call(number, written))

    def _compact_calls(self, outside: str, part: str) -> tuple[str, tuple[Call, ...]]:
        calls: list[Call] = []
        left = part
        while found := self._compact_at(left):
            name, arguments, end = found
            calls += self.known({"name": name, "arguments": arguments})
            left = left[end:].strip()
            if not self.traits.has(Trait.TOOL_COMPACT_ALL):
                return _joined(outside, left), tuple(calls)
        return (_joined(outside, left), tuple(calls)) if calls else (outside, ())

    def _compact_at(self, text: str) -> tuple[str, Any, int] | None:
        """(name, arguments, end) of the first compact call, once its arguments are all there."""
        match = self._compact.search(text)
        if match is None or not match.group(1).strip() or text[match.end() : match.end() + 1] not in ("{", "["):
            return None
        start = match.end()
        end = _closed_at(text, start, "{}" if text[start] == "{" else "[]")
        if end is None:
            return None
        try:
            return match.group(1).strip(), json.loads(text[start:end]), end
        except json.JSONDecodeError:
            return None


class JsonArray(ToolParser):
    """A JSON array of calls without any marker: what a forced tool choice binds the engine to where the server does not
    force its own format."""

    begin: ClassVar[str] = "["
    end: ClassVar[str] = "]"
    separator: ClassVar[str] = ","

    def has_call(self, text: str) -> bool:
        return "[" in text or "{" in text

    def whole(self, text: str) -> tuple[str, tuple[Call, ...]]:
        """All calls, whatever their names, or the text."""
        try:
            found: Any = json.loads(text)
            calls = tuple(
                Call(number, json.dumps(row["parameters"], ensure_ascii=False), row["name"])
                for number, row in enumerate(found)
            )
        except (json.JSONDecodeError, TypeError, KeyError):
            return text, ()
        return "", calls

    def finish(self) -> tuple[str, tuple[Call, ...]]:
        if not self.traits.has(Trait.TOOL_ARRAY_DRAINED):
            return "", ()
        outside, calls = "", list[Call]()
        while True:
            more, pieces = self.push("")
            outside += more
            told = [piece for piece in pieces if piece.name or piece.arguments]
            if not told:
                return outside, tuple(calls)
            calls += told


FORMATS: Mapping[str, type[ToolParser]] = MappingProxyType(
    {"qwen25": Qwen, "qwen": Qwen, "hermes": Hermes, "llama3": Llama, "mistral": Mistral}
)
"""The parsers that are imitated."""


def _joined(outside: str, trailing: str) -> str:
    return f"{outside} {trailing.strip()}".strip() if trailing.strip() else outside


def _closed_at(text: str, start: int, brackets: str, *, strings: bool = True) -> int | None:
    """The end of the bracketed value that begins at ``start``; ``strings``: brackets inside of strings do not count."""
    opening, closing = brackets
    depth, inside, escaped = 0, False, False
    for place in range(start, len(text)):
        letter = text[place]
        if escaped:
            escaped = False
        elif strings and letter == "\\":
            escaped = True
        elif strings and letter == '"':
            inside = not inside
        elif not inside and letter == opening:
            depth += 1
        elif not inside and letter == closing:
            depth -= 1
            if depth == 0:
                return place + 1
    return None
