"""What is wrong with a scenario file, in words for the person who wrote it.

A :class:`Problem` is an error or a note with file, line and field; this module makes them from what pydantic found,
with "did you mean" and "quote it" where that is the likely cure. It knows no meaning of any key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError

from ..errors import ScenarioError, did_you_mean
from .source import Path, Source

_QUOTE = "quote it if it is text"


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding. ``level``: error (the file cannot be used) or note (it can, but look at it)."""

    message: str
    where: str
    hint: str | None = None
    level: str = "error"

    @classmethod
    def from_error(cls, wrong: ScenarioError, where: str) -> Problem:
        return cls(wrong.message, wrong.where or where, wrong.hint)

    def error(self, more: int = 0) -> ScenarioError:
        """The same as an exception; ``more``: how many other problems the file has."""
        also = f" (and {more} more; `fakellm validate` lists them)" if more else ""
        return ScenarioError(self.message + also, where=self.where, hint=self.hint)

    def to_json(self) -> dict[str, Any]:
        return {"level": self.level, "where": self.where, "message": self.message, "hint": self.hint}

    def __str__(self) -> str:
        return str(ScenarioError(self.message, where=self.where, hint=self.hint))


def problems_of(wrong: ValidationError, source: Source) -> list[Problem]:
    """Every finding of pydantic, in the order of the file."""
    found: list[tuple[int, Problem]] = []
    for error in wrong.errors(include_url=False):
        path = tuple(part for part in error["loc"] if not (isinstance(part, str) and part.startswith("~")))
        context: Mapping[str, Any] = error.get("ctx") or {}
        if error["type"] == "unknown_key":
            path = (*path, str(context["key"]))
        message, hint = _words(error["type"], error["msg"], context, error["input"], path)
        found.append((_line(source, path), Problem(message, source.where(path), hint)))
    return [problem for _, problem in sorted(found, key=lambda row: row[0])]


def _line(source: Source, path: Path) -> int:
    return next((source.lines[path[:end]] for end in range(len(path), -1, -1) if path[:end] in source.lines), 0)


def _words(kind: str, text: str, context: Mapping[str, Any], value: Any, path: Path) -> tuple[str, str | None]:
    name = str(path[-1]) if path else "a scenario"
    if kind == "unknown_key":
        known = cast(Sequence[str], context["known"])
        return f"there is no key {context['key']!r} here", did_you_mean(name, known) or f"known: {', '.join(known)}"
    if kind == "missing":
        return f"the key {name!r} is missing", None
    if kind == "literal_error":
        hint = did_you_mean(value, str(context["expected"]).split("'")) if isinstance(value, str) else None
        return f"{_show(value)} is not one of {context['expected']}", hint
    if kind == "token":
        return f"a token is an id (a whole number) or a piece (text), not {_show(value)}", f"quote it: {_quoted(value)}"
    if kind == "logprob":
        hint = 'a score above 0 or NaN is a fault: `fakellm faults` lists them; withheld is null, minus infinity "-inf"'
        return f"a logprob is a number not above 0, not {_show(value)}", hint
    if kind == "one_rule":
        return text, "for example {contains: hello}"
    if kind == "say":
        return f"{text}, not {_show(value)}", _QUOTE if _plain(value) else 'for example say: "Hello"'
    return _of_type(kind, text, value)


_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "model_attributes_type": "a mapping (key: value)",
}


def _of_type(kind: str, text: str, value: Any) -> tuple[str, str | None]:
    if kind not in _TYPES:
        return text[:1].lower() + text[1:] + (f", not {_show(value)}" if text.startswith("Input") else ""), None
    hint = None
    if kind == "string_type" and _plain(value):
        hint = f"quote it: {_quoted(value)}"
    elif isinstance(value, str) and kind != "list_type":
        hint = "only true and false are booleans" if kind == "bool_type" else _unquote(value)
    return f"this must be {_TYPES[kind]}, not {_show(value)}", hint


def _unquote(value: str) -> str | None:
    try:
        float(value)
    except ValueError:
        return None
    return "take the quotes away"


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float)


def _quoted(value: Any) -> str:
    return f'"{_spell(value)}"'


def _show(value: Any) -> str:
    if _plain(value):
        return _spell(value)
    if isinstance(value, str):
        return repr(value) if len(value) < 60 else repr(value[:57] + "...")
    return "a list" if isinstance(value, list) else "a mapping" if isinstance(value, Mapping) else repr(value)


def _spell(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
