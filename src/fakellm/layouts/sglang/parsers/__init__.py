"""The parsers that make of an answer's text its reasoning, content and tool calls, as SGLang does.

:class:`AnswerParser` joins a reasoning parser and a tool parser in SGLang's order and gives Parts; it is made anew for
every choice. Names that SGLang knows and this package does not imitate are refused at launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....errors import LayoutError, did_you_mean
from ....told import Part
from .reasoning import MANNERS, ReasoningParser, starts_inside
from .tools import FORMATS, Call, ToolParser

__all__ = ["AnswerParser", "ParserChoice", "check_names"]


@dataclass(frozen=True, slots=True)
class ParserChoice:
    """Which parsers a request goes through: names (None = none), the request's variables and tool names.

    ``flushes``: what is held back at the end is handed out (from 0.5.13).
    """

    reasoning: str | None = None
    tools: str | None = None
    tool_names: Sequence[str] = ()
    variables: Mapping[str, Any] | None = None
    stream_reasoning: bool = True
    flushes: bool = True


def check_names(reasoning: str | None, tools: str | None) -> None:
    """Raises LayoutError for a parser that is not imitated."""
    for option, name, known in (("reasoning-parser", reasoning, MANNERS), ("tool-call-parser", tools, FORMATS)):
        if name is not None and name not in known:
            hint = did_you_mean(name, known) or f"imitated are: {', '.join(known)}"
            raise LayoutError(f"--{option} {name} is not imitated here", hint=hint)


class AnswerParser:
    """One answer's parsers. Reasoning first; what it calls content goes to the tool parser."""

    def __init__(self, choice: ParserChoice) -> None:
        manner = None if choice.reasoning is None else MANNERS[choice.reasoning]
        self._flushes = choice.flushes
        self._reasoning = (
            None
            if manner is None
            else ReasoningParser(
                manner,
                inside=starts_inside(manner, choice.variables),
                stream_reasoning=choice.stream_reasoning,
                flushes=choice.flushes,
            )
        )
        self._tools = None if choice.tools is None else ToolParser(FORMATS[choice.tools], choice.tool_names)

    def whole(self, text: str) -> tuple[Part, ...]:
        reasoning, content = ("", text) if self._reasoning is None else self._reasoning.whole(text)
        calls: tuple[Call, ...] = ()
        if self._tools is not None:
            content, calls = self._tools.whole(content)
        return _parts(reasoning, content, calls)

    def push(self, text: str, *, finished: bool, aborted: bool) -> tuple[Part, ...]:
        reasoning, content = ("", text) if self._reasoning is None else self._reasoning.push(text)
        if finished and not aborted and self._reasoning is not None:
            late_reasoning, late_content = self._reasoning.finish()
            reasoning, content = reasoning + late_reasoning, content + late_content
        if self._tools is None:
            return _parts(reasoning, content, ())
        content, calls = self._tools.push(content)
        parts = _parts(reasoning, content, calls)
        rest = self._tools.rest() if finished else None
        return parts if rest is None else (*parts, _part(rest))


def _parts(reasoning: str, content: str, calls: Sequence[Call]) -> tuple[Part, ...]:
    parts = [Part("reasoning", reasoning)] if reasoning else []
    if content:
        parts.append(Part("content", content))
    return (*parts, *map(_part, calls))


def _part(call: Call) -> Part:
    return Part("tool", call.arguments, call.index, call.name)
