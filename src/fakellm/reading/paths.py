"""The path language of accessor tables: ``choices[].logprobs.content[].logprob``.

Dots go into objects, ``[]`` takes every element, ``[0]`` one (of an object, whose keys may be ids: its first value),
``[type=message]`` those with that member. Several ``[]`` give one flat list. What is not there is :data:`MISSING`; an
entry of the innermost list without the wanted member is None, so that positions are kept. Pure.

>>> find({"content": [{"logprob": -0.5}, {}]}, steps("content[].logprob"))
[-0.5, None]
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, cast


@dataclass(frozen=True, slots=True)
class Each:
    """Every element, or (``key`` and ``value`` given) those objects whose member has that value."""

    key: str | None = None
    value: str | None = None


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final[Any] = _Missing()
Step = str | int | Each
_TOKEN = re.compile(r"\[(?P<inner>[^\]]*)\]|(?P<key>[^.\[\]]+)|\.")


@cache
def steps(path: str) -> tuple[Step, ...]:
    """A path in steps; raises ValueError for what is not a path."""
    found: list[Step] = []
    position = 0
    for match in _TOKEN.finditer(path):
        if match.start() != position:
            break
        position = match.end()
        if (key := match["key"]) is not None:
            found.append(key)
        elif (inner := match["inner"]) is not None:
            found.append(_bracket(inner))
    if position != len(path):
        raise ValueError(f"{path!r} is not a path (at character {position})")
    return tuple(found)


def _bracket(inner: str) -> Step:
    if inner.lstrip("-").isdigit():
        return int(inner)
    key, equals, value = inner.partition("=")
    return Each(key, value) if equals else Each()


def find(node: Any, way: tuple[Step, ...]) -> Any:
    """The value at the end of a way: one value, one flat list where the way has ``[]``, or MISSING."""
    for number, step in enumerate(way):
        if isinstance(step, Each):
            return _each(node, step, way[number + 1 :])
        node = _member(node, step)
        if node is MISSING:
            return MISSING
    return node


def _member(node: Any, step: str | int) -> Any:
    if isinstance(step, str):
        return cast("dict[str, Any]", node).get(step, MISSING) if isinstance(node, dict) else MISSING
    elements = list(cast("dict[str, Any]", node).values()) if isinstance(node, dict) else _elements(node)
    return elements[step] if elements is not None and -len(elements) <= step < len(elements) else MISSING


def _each(node: Any, step: Each, rest: tuple[Step, ...]) -> Any:
    elements = _elements(node)
    if elements is None:
        return MISSING
    if step.key is not None:
        elements = [element for element in elements if _member(element, step.key) == step.value]
    found = [find(element, rest) for element in elements]
    if any(isinstance(later, Each) for later in rest):
        return [value for inner in found if inner is not MISSING for value in inner]
    return [None if value is MISSING else value for value in found]


def _elements(node: Any) -> list[Any] | None:
    return cast("list[Any]", node) if isinstance(node, list) else None
