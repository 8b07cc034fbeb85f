"""What a parser makes of one step: the delta, with exactly the members that vLLM would set on it.

A member that is there, even as None or an empty list, was assigned by the parser; one that is missing was not. The wire
shows the difference (``exclude_unset``), so it is kept until a delta becomes parts. Knows no version and no tokenizer.

>>> [part.kind for part in to_parts({"content": None, "calls": [Call(0, {"name": "add"})]})]
['content', 'tool']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from ....told import Part


@dataclass(slots=True)
class Call:
    """One element of ``delta.tool_calls``. ``function``: the members ``name`` and ``arguments`` as they were assigned;
    one with a name starts a call (and gets an id). ``nulls``: id and type are written as null; ``own_id``: the id is of
    the parser's own kind."""

    index: int
    function: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    nulls: bool = False
    own_id: bool = False

    @property
    def starts(self) -> bool:
        return self.function.get("name") is not None


class Delta(TypedDict, total=False):
    """The members of a delta message that were assigned."""

    content: str | None
    reasoning: str | None
    calls: list[Call]


@dataclass(frozen=True, slots=True)
class Whole:
    """The parsers' view of a whole answer. ``calls``: (name, arguments), None = no tool parser was asked or it found
    none; None of ``content`` and ``reasoning`` = null."""

    reasoning: str | None
    content: str | None
    calls: Sequence[tuple[str, str]] = ()


def to_parts(delta: Delta | None) -> tuple[Part, ...]:
    """A delta as parts, in the order in which Responses streams split it: reasoning, content, calls. None (no message
    was made of the step) has no parts."""
    if delta is None:
        return ()
    parts: list[Part] = []
    if "reasoning" in delta:
        parts.append(_text_part("reasoning", delta["reasoning"]))
    if "content" in delta:
        parts.append(_text_part("content", delta["content"]))
    if "calls" in delta:
        parts.extend(_call_part(call) for call in delta["calls"])
        if not delta["calls"]:
            parts.append(Part("tool", marks=("null",)))
    return tuple(parts)


def whole_parts(whole: Whole) -> tuple[Part, ...]:
    """A whole answer as parts; what is null is simply not there."""
    parts: list[Part] = []
    if whole.reasoning is not None:
        parts.append(Part("reasoning", whole.reasoning))
    if whole.content is not None:
        parts.append(Part("content", whole.content))
    parts.extend(Part("tool", arguments, place, name) for place, (name, arguments) in enumerate(whole.calls))
    return tuple(parts)


def _text_part(kind: str, text: str | None) -> Part:
    return Part(kind, marks=("null",)) if text is None else Part(kind, text)


def _call_part(call: Call) -> Part:
    arguments = call.function.get("arguments")
    marks: list[str] = []
    if "arguments" in call.function and not arguments:
        marks.append("arguments")
    if "name" in call.function and not call.starts:
        marks.append("name")
    if call.nulls:
        marks.append("id")
    if call.own_id:
        marks.append("own-id")
    return Part("tool", arguments or "", call.index, call.function.get("name"), tuple(marks))
