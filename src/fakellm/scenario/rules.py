"""When a reply is given: conditions on a request, each a field and a rule.

A :class:`View` reads the fields off an Ask, each once. A field has any number of values (every message, every prompt);
a condition holds when one of them satisfies the rule, and never when there is none. Fields are ``api``, ``model``,
``stream``, ``last_message``, ``messages``, ``prompt``, ``system``, ``turn``, ``call``, ``json.PATH``, ``headers.NAME``
and ``flags.NAME``; FIELDS and PREFIXES below say what each reads. This module knows no layout and keeps no state.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from ..ask import Ask
from ..pattern import Pattern

Values = Sequence[Any]


class View:
    """What conditions may look at: a request and which call of the scenario it is (from 1)."""

    __slots__ = ("_read", "ask", "call")

    def __init__(self, ask: Ask, call: int = 1) -> None:
        self.ask = ask
        self.call = call
        self._read: dict[str, Values] = {}

    def values(self, field: str) -> Values:
        """The values of a field; none when the request does not have it."""
        found = self._read.get(field)
        if found is None:
            reader = FIELDS.get(field)
            if reader is not None:
                found = reader(self)
            else:
                prefix, _, name = field.partition(".")
                found = PREFIXES[prefix](self, name)
            self._read[field] = found
        return found


class Rule(Protocol):
    """What a value must be. ``keys``: the only values that can satisfy it, for look-up, or None when it must be
    tried."""

    def holds(self, value: Any) -> bool: ...

    def keys(self) -> tuple[Hashable, ...] | None: ...

    def __str__(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Equals:
    """The value is this one: numbers by value, but true is not 1; objects and lists member by member."""

    value: Any

    def holds(self, value: Any) -> bool:
        return same(self.value, value)

    def keys(self) -> tuple[Hashable, ...] | None:
        key = key_of(self.value)
        return None if key is None else (key,)

    def __str__(self) -> str:
        return f"equals {self.value!r}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """The value is one of these words."""

    words: tuple[str, ...]

    def holds(self, value: Any) -> bool:
        return value in self.words

    def keys(self) -> tuple[Hashable, ...] | None:
        return self.words

    def __str__(self) -> str:
        return f"equals {self.words[0]!r}" if len(self.words) == 1 else f"is one of {', '.join(self.words)}"


@dataclass(frozen=True, slots=True)
class Contains:
    """The value is text with this in it, or a list with this as a member."""

    text: str

    def holds(self, value: Any) -> bool:
        return isinstance(value, str | list) and self.text in value

    def keys(self) -> tuple[Hashable, ...] | None:
        return None

    def __str__(self) -> str:
        return f"contains {self.text!r}"


@dataclass(frozen=True, slots=True)
class Matches:
    """The value is text in which the pattern is found somewhere."""

    pattern: Pattern

    def holds(self, value: Any) -> bool:
        return isinstance(value, str) and self.pattern.found_in(value)

    def keys(self) -> tuple[Hashable, ...] | None:
        return None

    def __str__(self) -> str:
        return f"matches {self.pattern.source!r}"


@dataclass(frozen=True, slots=True)
class Present:
    """The field is there, whatever it says."""

    def holds(self, value: Any) -> bool:
        return True

    def keys(self) -> tuple[Hashable, ...] | None:
        return None

    def __str__(self) -> str:
        return "is present"


@dataclass(frozen=True, slots=True)
class SwitchedOn:
    """A flag: there, and neither null nor false."""

    def holds(self, value: Any) -> bool:
        return value is not None and value is not False

    def keys(self) -> tuple[Hashable, ...] | None:
        return None

    def __str__(self) -> str:
        return "is switched on"


@dataclass(frozen=True, slots=True)
class Condition:
    """One field and its rule. ``absent``: it holds when the field has no value at all, and the rule does not count."""

    field: str
    rule: Rule
    absent: bool = False

    def holds(self, view: View) -> bool:
        values = view.values(self.field)
        if self.absent:
            return not values
        rule = self.rule
        return any(rule.holds(value) for value in values)

    def __str__(self) -> str:
        return "is absent" if self.absent else str(self.rule)


@dataclass(frozen=True, slots=True)
class When:
    """All conditions must hold; without conditions it always holds."""

    conditions: tuple[Condition, ...] = ()

    def holds(self, view: View) -> bool:
        return all(condition.holds(view) for condition in self.conditions)


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values: 1 and 1.0 are the same number, true and 1 are not the same value."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        left, right = cast(Mapping[str, Any], one), cast(Mapping[str, Any], other)
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        first, second = cast(Sequence[Any], one), cast(Sequence[Any], other)
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))
    return bool(one == other)


def key_of(value: Any) -> Hashable | None:
    """A dictionary key under which only the same JSON value is found; None for what cannot be a key."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return (value,)
    if isinstance(value, int | float):
        return value
    return None


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or the text parts of a list joined."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    parts = cast(Sequence[Any], content)
    return "".join(_part_text(part) for part in parts)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    text = cast(Mapping[str, Any], part).get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else ""


def _messages(view: View) -> Values:
    return [text_of(message.get("content")) for message in view.ask.messages]


def _last_message(view: View) -> Values:
    messages = view.ask.messages
    return (text_of(messages[-1].get("content")),) if messages else ()


def _system(view: View) -> Values:
    texts = [text_of(row.get("content")) for row in view.ask.messages if row.get("role") in ("system", "developer")]
    return ("\n".join(texts),) if texts else ()


def _prompt(view: View) -> Values:
    return [prompt.text for prompt in view.ask.prompts if prompt.text is not None]


def _turn(view: View) -> Values:
    """Which answer of the conversation is asked for: 1 + the assistant's messages so far, not counting one at the very
    end, which is being continued."""
    messages = view.ask.messages
    return (1 + sum(message.get("role") == "assistant" for message in messages[:-1]),)


FIELDS: Mapping[str, Callable[[View], Values]] = {
    "api": lambda view: (view.ask.api,),
    "model": lambda view: () if view.ask.model is None else (view.ask.model,),
    "stream": lambda view: (view.ask.stream,),
    "last_message": _last_message,
    "messages": _messages,
    "prompt": _prompt,
    "system": _system,
    "turn": _turn,
    "call": lambda view: (view.call,),
}
"""field -> its values in a request."""


def split_path(path: str) -> tuple[str, ...]:
    r"""``"messages.0.role"`` as keys; a dot inside a key is written ``\.``."""
    return tuple(part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", path))


def _json(view: View, path: str) -> Values:
    value: Any = view.ask.body
    for key in split_path(path):
        if isinstance(value, Mapping):
            members = cast(Mapping[str, Any], value)
            if key not in members:
                return ()
            value = members[key]
        elif isinstance(value, list) and re.fullmatch(r"-?\d{1,9}", key):
            items = cast(list[Any], value)
            if not -len(items) <= int(key) < len(items):
                return ()
            value = items[int(key)]
        else:
            return ()
    return (value,)


def _header(view: View, name: str) -> Values:
    value = view.ask.request.headers.get(name)
    return () if value is None else (value,)


def _flag(view: View, name: str) -> Values:
    return (view.ask.body[name],) if name in view.ask.body else ()


PREFIXES: Mapping[str, Callable[[View, str], Values]] = {"json": _json, "headers": _header, "flags": _flag}
"""prefix of a field -> its values, given what follows the first dot."""
