"""The parsers that make of an answer's text its reasoning, content and tool calls, as SGLang does.

:class:`AnswerParser` joins a reasoning parser and a tool parser in SGLang's order and gives Parts; it is made anew for
every choice. Names that SGLang knows and this package does not imitate are refused at launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ....errors import LayoutError, did_you_mean
from ....told import Part
from ..traits import Trait, Traits
from .partial import NotJson
from .reasoning import MANNERS, ReasoningParser, starts_inside
from .tool_formats import FORMATS, JsonArray
from .tool_stream import Call, ToolParser

__all__ = ["AnswerParser", "ParserChoice", "check_names", "claimed_calls"]


@dataclass(frozen=True, slots=True)
class ParserChoice:
    """Which parsers a request goes through: names (None = none), the request's variables and tool names.

    ``forced``: the request forces a call. ``stream_reasoning`` False: reasoning is told in one piece. ``continued``:
    the text that the answer goes on with. ``rests``: the end tells what an unfinished call holds beyond what was told.
    """

    traits: Traits
    reasoning: str | None = None
    tools: str | None = None
    tool_names: Sequence[str] = ()
    variables: Mapping[str, Any] | None = None
    forced: bool = False
    stream_reasoning: bool = True
    continued: str = ""
    rests: bool = True


def check_names(reasoning: str | None, tools: str | None, traits: Traits) -> None:
    """Raises LayoutError for a parser that is not imitated, or that the version does not have."""
    for option, name, known in (("reasoning-parser", reasoning, MANNERS), ("tool-call-parser", tools, FORMATS)):
        if name is not None and name not in known:
            hint = did_you_mean(name, known) or f"imitated are: {', '.join(known)}"
            raise LayoutError(f"--{option} {name} is not imitated here", hint=hint)
    if reasoning is not None and not MANNERS[reasoning].span.holds(traits.version):
        raise LayoutError(f"--reasoning-parser {reasoning} of SGLang {traits.text} is not imitated here")
    if tools == "hermes" and not traits.has(Trait.TOOL_HERMES):
        raise LayoutError(f"SGLang {traits.text} has no --tool-call-parser hermes", hint="qwen25 reads such calls")


def claimed_calls(choice: ParserChoice, content: str) -> list[Any] | None:
    """No calls, told as a list, where a marker alone counts as a call: such an answer says that it ended in some."""
    if choice.tools is None or not choice.traits.has(Trait.TOOL_MARKER_IS_CALL):
        return None
    if choice.forced and choice.traits.has(Trait.TOOL_FORCED_JSON):
        return None
    return [] if FORMATS[choice.tools](choice.tool_names, choice.traits).has_call(content) else None


def reads_array(choice: ParserChoice | None) -> bool:
    """A forced call is read as a JSON array and nothing else: an answer that stops says so, call or not."""
    if choice is None or choice.tools is None:
        return False
    return choice.forced and choice.traits.has(Trait.TOOL_FORCED_JSON)


class AnswerParser:
    """One answer's parsers. Reasoning first; what it calls content goes to the tool parser."""

    def __init__(self, choice: ParserChoice) -> None:
        self._choice = choice
        manner = None if choice.reasoning is None else MANNERS[choice.reasoning]
        self._reasoning = (
            None
            if manner is None
            else ReasoningParser(
                manner,
                choice.traits,
                inside=starts_inside(manner, choice.variables, choice.traits),
                stream_reasoning=choice.stream_reasoning,
                previous=choice.continued if choice.traits.has(Trait.REASONING_CONTINUED) else "",
                nonempty=_nonempty(choice),
            )
        )
        self._tools = _tool_parser(choice)

    def whole(self, text: str) -> tuple[Part, ...]:
        reasoning, content = ("", text) if self._reasoning is None else self._reasoning.whole(text)
        calls: tuple[Call, ...] = ()
        if self._tools is not None:
            content, calls = self._whole_calls(self._tools, content)
        return _parts(reasoning, content, calls)

    def push(self, text: str, *, finished: bool, aborted: bool) -> tuple[Part, ...]:
        ends = finished and not aborted
        reasoning, content = ("", text) if self._reasoning is None else self._reasoning.push(text)
        if ends and self._reasoning is not None:
            late_reasoning, late_content = self._reasoning.finish()
            reasoning, content = reasoning + late_reasoning, content + late_content
        if self._tools is None:
            return _parts(reasoning, content, ())
        content, calls = self._tools.push(content)
        if ends:
            late_content, late_calls = self._tools.finish()
            content, calls = content + late_content, (*calls, *late_calls)
        parts = _parts(reasoning, content, calls)
        rest = self._tools.rest() if finished and self._choice.rests else None
        return parts if rest is None else (*parts, _part(rest))

    def _whole_calls(self, tools: ToolParser, text: str) -> tuple[str, tuple[Call, ...]]:
        """(content, calls) of a whole answer. A JSON array is read where the version reads one."""
        choice = self._choice
        if isinstance(tools, JsonArray):
            return tools.whole(text)
        if not tools.has_call(text):
            either = choice.forced and choice.traits.has(Trait.TOOL_FORCED_EITHER)
            return JsonArray(choice.tool_names, choice.traits).whole(text) if either else (text, ())
        try:
            outside, calls = tools.whole(text)
        except NotJson:
            return text, ()
        if not calls and choice.traits.has(Trait.TOOL_MARKER_IS_CALL):
            return text, ()
        if choice.traits.has(Trait.TOOL_INDEX_ABSENT) or choice.traits.has(Trait.TOOL_INDEX_POSITION):
            return outside, calls
        return outside, tuple(replace(call, index=number) for number, call in enumerate(calls))


def _nonempty(choice: ParserChoice) -> bool:
    asked = (choice.variables or {}).get("force_nonempty_content") is True
    return asked and choice.traits.has(Trait.REASONING_NONEMPTY)


def _tool_parser(choice: ParserChoice) -> ToolParser | None:
    if choice.tools is None:
        return None
    as_json = choice.forced and choice.traits.has(Trait.TOOL_FORCED_JSON)
    return (JsonArray if as_json else FORMATS[choice.tools])(choice.tool_names, choice.traits)


def _parts(reasoning: str, content: str, calls: Sequence[Call]) -> tuple[Part, ...]:
    parts = [Part("reasoning", reasoning)] if reasoning else []
    if content:
        parts.append(Part("content", content))
    return (*parts, *map(_part, calls))


def _part(call: Call) -> Part:
    return Part("tool", call.arguments, call.index, call.name)
