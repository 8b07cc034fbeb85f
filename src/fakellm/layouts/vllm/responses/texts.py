"""One step as the older streams look at it: reasoning, content and calls, each None where it was not set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....told import Part, ToldStep


@dataclass(frozen=True, slots=True)
class Texts:
    """``calls``: the pieces of tool calls in order."""

    reasoning: str | None = None
    content: str | None = None
    calls: Sequence[Part] = ()


def texts_of(step: ToldStep) -> Texts | None:
    """The texts of a step; None when the parsers made no message of it."""
    if step.parts is None:
        return Texts(content=step.text)
    if not step.parts:
        return None
    found: dict[str, str] = {}
    calls: list[Part] = []
    for part in step.parts:
        if "null" in part.marks:
            continue
        if part.kind == "tool":
            calls.append(part)
        else:
            found[part.kind] = found.get(part.kind, "") + part.text
    return Texts(found.get("reasoning"), found.get("content"), calls)
