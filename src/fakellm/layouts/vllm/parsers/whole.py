"""Parsing a whole answer: first the reasoning, then tool calls in what is left. Per version, no streams.

Where the server fails on what the engine said, Objection or Crash is raised.
Source: ``_parse_tool_calls_from_content`` up to 0.20.2, ``DelegatingParser.parse`` from 0.24.
"""

from __future__ import annotations

from ..validate.flaws import Crash, Flaw, Objection
from ..validate.spelling import printed_flaws
from .choose import Asked
from .deltas import Whole
from .forced import checked_calls, required_calls
from .rules import ParserRules
from .stream import ReasoningParser, ToolParser


def read_whole(
    text: str,
    asked: Asked,
    rules: ParserRules,
    reasoning: ReasoningParser | None,
    tools: ToolParser | None,
    *,
    forced_json: bool,
    grammar: bool,
) -> Whole:
    """``forced_json``: forced tool choice is read as JSON, not by the tool parser; ``grammar``: all parsers are."""
    thought, content = reasoning.whole(text) if reasoning is not None else (None, text)
    if not asked.include_reasoning:
        thought = None
    if rules.flow == "phases" and tools is None:
        return Whole(thought, content)
    if asked.choice == "named" and forced_json:
        if rules.named_empty and not (content or "").strip():
            return Whole(thought, None)
        if content is None and rules.named_none != "kept":
            raise _without_content(rules)
        return Whole(thought, None, () if content is None else ((asked.name, content),))
    if asked.choice == "required" and forced_json:
        return Whole(thought, None, _required(content, rules))
    if tools is None or asked.choice == "none" or (asked.choice == "unsaid" and not rules.unsaid_calls):
        if tools is not None and grammar and rules.leaves_out_calls:
            return Whole(thought, tools.whole(content or "")[1])
        return Whole(thought, content)
    calls, rest = tools.whole(content or "")
    if calls:
        told = () if asked.choice == "unsaid" else calls  # they are found, and then nobody asks for them
        return Whole(thought, rest if rest and rest.strip() else None, told)
    if asked.forced and rules.named_empty and not (content or "").strip():
        return Whole(thought, None)
    if grammar and rules.drops_incomplete:
        return Whole(thought, rest or None)
    return Whole(thought, content)


def _without_content(rules: ParserRules) -> Objection | Crash:
    """All of the answer was reasoning, so a named function gets null for its arguments."""
    if rules.named_none == "asserted":
        return Crash("AssertionError", "")
    flaw = Flaw("string_type", ("arguments",), "Input should be a valid string", None)
    return Objection(printed_flaws("FunctionCall", [flaw]), plain=True)


def _required(content: str | None, rules: ParserRules) -> list[tuple[str, str]]:
    if rules.required_fails == "never":
        return required_calls(content or "")
    if content is None:
        raise Crash("AssertionError", "")
    calls = checked_calls(content)
    if not calls and rules.required_fails == "empty":
        raise Crash("AssertionError", "")
    return calls
