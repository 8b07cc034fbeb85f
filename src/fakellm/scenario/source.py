"""Text of a scenario file to plain data, with the line of every value.

YAML is read event by event (libyaml where it is there), so that what we do not want never takes effect: aliases,
anchors, tags, merge keys and duplicate keys are refused where they stand. Plain scalars become null, booleans and
decimal numbers as YAML 1.2 has them; ``NO``, ``on``, ``0x1F`` and dates stay strings. ``.json`` files are read as JSON.
This module knows nothing of what a scenario means and reads no file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

import yaml

from ..errors import ScenarioError

Path = tuple[str | int, ...]
MAX_DEPTH = 64
"""Nesting that no honest scenario has."""

_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_PLAIN_TAGS = frozenset((None, "!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"))
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _no_lines() -> dict[Path, int]:
    return {}


@dataclass(frozen=True, slots=True)
class Source:
    """Plain data and where it came from. ``file``: the name that messages show; ``lines``: path of a value -> line."""

    data: Any
    file: str
    lines: dict[Path, int] = field(default_factory=_no_lines)

    def where(self, path: Path) -> str:
        """``file.yaml:12, field replies[0].when.api``; the line is that of the nearest value that has one."""
        line = next((self.lines[path[:end]] for end in range(len(path), -1, -1) if path[:end] in self.lines), None)
        place = f"{self.file}:{line}" if line is not None else self.file
        return f"{place}, field {spell(path)}" if path else place


def spell(path: Path) -> str:
    """``("replies", 0, "when")`` as ``replies[0].when``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def parse_scalar(text: str) -> Any:
    """The value of a plain (unquoted) scalar; raises ValueError for a whole number beyond reason."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text):
        if len(text) > 400:
            raise ValueError("a number of more than 400 digits")
        return int(text)
    return float(text) if _FLOAT.match(text) else text


def read_text(text: str, file: str) -> Source:
    """The data of a YAML or JSON text; raises ScenarioError with file and line."""
    if not text.strip():
        raise ScenarioError(
            "the file is empty", where=file, hint="a scenario needs at least `replies:` with one `say:`"
        )
    return _read_json(text, file) if file.endswith(".json") else _Reader(text, file).read()


class _Reader:
    """Builds data and lines from YAML events."""

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._text = text
        self._lines: dict[Path, int] = {}

    def read(self) -> Source:
        try:
            events = cast(Iterator[Any], yaml.parse(self._text, Loader=_Loader))  # pyright: ignore[reportUnknownMemberType]
            data = self._document(events)
        except yaml.MarkedYAMLError as wrong:
            line = _line_of(wrong)
            where = self._file if line is None else f"{self._file}:{line}"
            raise ScenarioError(f"this is not YAML: {wrong.problem or wrong.context}", where=where) from None
        except yaml.YAMLError as wrong:
            raise ScenarioError(f"this is not YAML: {_one_line(wrong)}", where=self._file) from None
        return Source(data, self._file, self._lines)

    def _document(self, events: Iterator[Any]) -> Any:
        data: Any = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._refuse(event, "a second document", "one scenario a file; remove the `---` line")
                data = self._value(next(events), events, ())
        if not documents:
            raise ScenarioError("the file holds only comments", where=self._file)
        return data

    def _value(self, event: Any, events: Iterator[Any], path: Path) -> Any:
        if isinstance(event, yaml.AliasEvent):
            self._refuse(
                event, f"the alias *{cast(Any, event).anchor}", "write the value out; aliases are not read here"
            )
        if event.anchor is not None:
            self._refuse(event, f"the anchor &{event.anchor}", "write the value out; anchors are not read here")
        if event.tag not in _PLAIN_TAGS:
            self._refuse(event, f"the tag {event.tag}", "quote the value if it is text; tags are not read here")
        if len(path) > MAX_DEPTH:
            self._refuse(event, f"nesting deeper than {MAX_DEPTH}", "flatten it")
        self._lines[path] = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(events, path)
        return self._mapping(events, path)

    def _scalar(self, event: Any) -> Any:
        if not event.implicit[0] or event.tag is not None:
            return event.value
        try:
            return parse_scalar(event.value)
        except ValueError as wrong:
            self._refuse(event, str(wrong), "quote it if it is text")

    def _sequence(self, events: Iterator[Any], path: Path) -> list[Any]:
        items: list[Any] = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._value(event, events, (*path, len(items))))
        return items

    def _mapping(self, events: Iterator[Any], path: Path) -> dict[str, Any]:
        items: dict[str, Any] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            if not isinstance(event, yaml.ScalarEvent):
                self._refuse(event, "a key that is not plain text", "write keys as words")
            key = str(cast(Any, event).value)
            if key == "<<" and cast(Any, event).implicit[0]:
                self._refuse(event, "a merge key", "write the values out")
            if key in items:
                first = self._lines.get((*path, key))
                self._refuse(event, f"the key {key!r} a second time", f"it stands already in line {first}", path)
            if cast(Any, event).anchor is not None:
                self._refuse(event, "an anchor", "write the value out")
            items[key] = self._value(next(events), events, (*path, key))
            self._lines[(*path, key)] = cast(Any, event).start_mark.line + 1
        return items

    def _refuse(self, event: Any, what: str, hint: str, path: Path = ()) -> NoReturn:
        where = f"{self._file}:{event.start_mark.line + 1}"
        raise ScenarioError(
            f"{what} is not allowed", where=f"{where}, field {spell(path)}" if path else where, hint=hint
        )


def _read_json(text: str, file: str) -> Source:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise ScenarioError(f"the key {key!r} a second time is not allowed", where=file)
            found[key] = value
        return found

    def refuse(word: str) -> NoReturn:
        raise ScenarioError(f"{word} is not JSON", where=file, hint=f'write it as a string: "{word}"')

    try:
        data = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except json.JSONDecodeError as wrong:
        raise ScenarioError(f"this is not JSON: {wrong.msg}", where=f"{file}:{wrong.lineno}") from None
    except (RecursionError, ValueError) as wrong:
        raise ScenarioError(f"this JSON cannot be read: {_one_line(wrong)}", where=file) from None
    return Source(data, file, _json_lines(text, file))


def _json_lines(text: str, file: str) -> dict[Path, int]:
    """Lines of a JSON text where YAML can read it too (nearly always); none otherwise."""
    try:
        return _Reader(text, file).read().lines
    except (ScenarioError, RecursionError):
        return {}


def _line_of(wrong: Any) -> int | None:
    return None if wrong.problem_mark is None else wrong.problem_mark.line + 1


def _one_line(wrong: BaseException) -> str:
    return " ".join(str(wrong).split())
