"""vLLM's reasoning and tool parsers, per version: what they make of an answer, whole and step by step.

``parser_for`` gives the parser of one request; called with an emitted choice it makes fresh parsers and plays the
choice's text and steps to them. Adding a parser: one module with the shape of ``stream.py`` and a line in ``choose``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....emission import EmittedChoice
from ....tokenizer import Tokenizer
from ....told import Part
from ..launch import Settings
from ..tell import ParsedView
from ..validate.flaws import Crash, Objection
from .choose import (
    Asked,
    asked_of,
    is_grammar,
    make_reasoning,
    make_tools,
    parser_name,
    tool_parser_name,
)
from .deltas import Delta, to_parts, whole_parts
from .flow import Flow, OneParser, Phases, Plain
from .rules import RULES, ParserRules
from .serving import Checked, Forced, Served
from .stream import ReasoningParser, ToolParser
from .whole import read_whole

__all__ = ["RULES", "Asked", "ParserRules", "VllmParser", "asked_of", "parser_for", "strict_tools"]

STRICT = "VLLM_ENFORCE_STRICT_TOOL_CALLING"


def parser_for(
    asked: Asked, version: str, settings: Settings, tokenizer: Tokenizer, env: Mapping[str, str]
) -> VllmParser | None:
    """The parser of a request, or None when this server parses nothing of it."""
    rules = RULES[version]
    forced_alone = asked.forced and rules.flow != "phases"
    if not (settings.reasoning_parser or tool_parser_name(settings) or forced_alone):
        return None
    return VllmParser(tokenizer, settings, rules, asked, strict_tools(version, env))


def strict_tools(version: str, env: Mapping[str, str]) -> bool:
    """Whether a forced tool call is written for the tool parser (from 0.24); before, it is plain JSON."""
    return RULES[version].strict_tools and env.get(STRICT, "1").lower() not in ("0", "false")


@dataclass(frozen=True, slots=True)
class VllmParser:
    """The parsers that one request meets. ``strict``: forced tool choice goes to the tool parser."""

    tokenizer: Tokenizer
    settings: Settings
    rules: ParserRules
    asked: Asked
    strict: bool

    def __call__(self, choice: EmittedChoice, index: int) -> ParsedView:
        ids = [token.id for token in choice.tokens if token.id is not None]
        reasoning, _ = self._fresh()
        counted = reasoning.count(ids) if self.rules.counts != "no" and reasoning is not None else None
        deltas, counts, begun, broken = self._played(choice, index)
        whole: tuple[Part, ...] = ()
        failed: Exception | None = None
        try:
            whole = self.read(choice.text)
        except (Objection, Crash) as failure:
            failed = failure
        return ParsedView(
            whole=whole,
            steps=tuple(to_parts(delta) for delta in deltas),
            reasoning_tokens=counted,
            step_reasoning_tokens=tuple(counts) if counted is not None else None,
            calls_begun=begun,
            failed=failed,
            broken=broken,
        )

    def read(self, text: str) -> tuple[Part, ...]:
        """The parts of a whole text; raises Objection or Crash where the server fails on it."""
        reasoning, tools = self._fresh()
        forced_json, grammar = not self.strict, all(self._grammar)
        whole = read_whole(text, self.asked, self.rules, reasoning, tools, forced_json=forced_json, grammar=grammar)
        return whole_parts(whole)

    @property
    def _grammar(self) -> tuple[bool, bool]:
        """Are the reasoning and the tool parser grammars? (A parser that is not there does not object.)"""
        reasoning, tools = parser_name(self.settings.reasoning_parser), tool_parser_name(self.settings)
        return not reasoning or is_grammar(reasoning, self.rules), not tools or is_grammar(tools, self.rules)

    def _fresh(self) -> tuple[ReasoningParser | None, ToolParser | None]:
        reasoning = make_reasoning(self.tokenizer, self.settings, self.rules, self.asked)
        tools = make_tools(self.tokenizer, self.settings, self.rules, self.asked, alone=reasoning is None)
        return reasoning, tools

    def _played(
        self, choice: EmittedChoice, index: int
    ) -> tuple[list[Delta | None], list[int], bool, tuple[int, Crash] | None]:
        """The delta of every step, the reasoning tokens counted after each, whether a tool call has begun, and at which
        step the server broke with what. No delta comes after that."""
        reasoning, tools = self._fresh()
        flow = self._flow(reasoning, tools, index)
        deltas: list[Delta | None] = []
        counts: list[int] = []
        ids: list[int] = []
        broken: tuple[int, Crash] | None = None
        for number, step in enumerate(choice.steps):
            fresh = [token.id for token in choice.tokens[step.tokens[0] : step.tokens[1]] if token.id is not None]
            ids += fresh
            try:
                delta = None if broken else flow.step(step.text, fresh, step.finish_reason is not None)
            except Crash as crash:
                delta, broken = None, (number, crash)
            deltas.append(delta)
            if reasoning is not None and self.rules.counts != "no":
                counts.append(reasoning.counted(fresh))
        if counts and reasoning is not None:
            counts[-1] = reasoning.count(ids)
        return deltas, counts, tools is not None and tools.begun, broken

    def _flow(self, reasoning: ReasoningParser | None, tools: ToolParser | None, index: int) -> Flow:
        rules, asked = self.rules, self.asked
        if rules.flow == "phases":
            if reasoning is None and tools is None:
                return Plain()
            grammar = self._grammar
            return Phases(reasoning, tools, asked, rules, grammar=grammar, forced_json=not self.strict)
        if asked.api == "responses":
            if rules.flow == "parser":
                return OneParser(reasoning, tools, prompt_ended=asked.prompt_ended)
            return Served(reasoning, None, rules, prompt_ended=False)
        if asked.forced:
            flow: Flow = Forced(reasoning, asked, rules, index)
        elif rules.flow == "parser":
            flow = OneParser(reasoning, tools, prompt_ended=asked.prompt_ended)
        else:
            tools = tools if asked.choice == "auto" else None
            flow = Served(reasoning, tools, rules, prompt_ended=asked.prompt_ended)
        return flow if tools is None else Checked(flow, tools, nulls=rules.rest_with_nulls)
