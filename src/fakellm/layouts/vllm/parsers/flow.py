"""How a stream goes from reasoning to content and tool calls, as the parsers of vLLM from 0.20.2 on lead it.

``Phases`` is 0.24 and later, ``OneParser`` is 0.20.2; ``serving.py`` has what the server itself did before. One object
serves one choice, one call a step. Pure; knows no wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .choose import Asked
from .deltas import Delta
from .forced import Named, Required, RequiredPlaces
from .rules import ParserRules
from .stream import ReasoningParser, Step, ToolParser


class Flow(Protocol):
    """One choice's stream."""

    def step(self, text: str, ids: Sequence[int], finished: bool) -> Delta | None: ...


class Plain:
    """No parser at all: text is content."""

    def step(self, text: str, ids: Sequence[int], finished: bool) -> Delta | None:
        return {"content": text}


class Phases:
    """0.24 and later. ``grammar``: are the parsers grammars (reasoning, tools; one that is missing does not object);
    ``forced_json``: forced tool choice is read as JSON, not by the tool parser."""

    def __init__(
        self,
        reasoning: ReasoningParser | None,
        tools: ToolParser | None,
        asked: Asked,
        rules: ParserRules,
        *,
        grammar: tuple[bool, bool],
        forced_json: bool,
    ) -> None:
        self._reasoning = reasoning
        self._tools = tools
        self._asked = asked
        self._rules = rules
        self._grammar_reasoning = reasoning is not None and grammar[0]
        self._grammar_tools = tools is not None and grammar[1]
        self._grammar = all(grammar)
        self._ended = reasoning is None or asked.prompt_ended
        self._started = False
        self._before = ""
        self._ids_before: list[int] = []
        self._named = Named(asked.name, 0) if forced_json and asked.choice == "named" else None
        self._required = _required(rules) if forced_json and asked.choice == "required" else None

    def step(self, text: str, ids: Sequence[int], finished: bool) -> Delta | None:
        so_far, ids_so_far = text, list(ids)
        if not self._grammar:
            so_far, ids_so_far = self._before + text, [*self._ids_before, *ids]
        delta: Delta | None = None
        moved = False
        if self._reasoning is not None and not self._ended:
            delta = self._reasoning.step(Step(text, ids, self._before, self._ids_before, so_far, ids_so_far))
            if self._reasoning.ended_in(ids):
                self._ended = moved = True
                delta, so_far = self._handed_over(self._reasoning, delta)
                ids_so_far = self._reasoning.content_ids(ids)
                text = text if self._grammar else so_far
        if self._tools is not None and self._ended:
            if not self._started:
                self._started = True
                self._before, self._ids_before = "", []
                text, ids = so_far, ids_so_far
            step = Step(text, ids, self._before, self._ids_before, so_far, ids_so_far)
            delta = _with_reasoning(self._tool_step(self._tools, step), delta)
        elif delta is None and not moved and self._ended:
            delta = {"content": text}
        self._before, self._ids_before = ("", []) if self._grammar else (so_far, ids_so_far)
        if finished:
            delta = self._finished(delta)
        return self._without_reasoning(delta)

    def _handed_over(self, reasoning: ReasoningParser, delta: Delta | None) -> tuple[Delta | None, str]:
        """Reasoning ended in this step: what is left of the step's text is the tool parser's."""
        rest = delta.get("content") if delta else None
        text = rest or ""
        if self._grammar_reasoning and (self._grammar or self._rules.flushes_always):
            flushed = reasoning.finish()
            text += (flushed.get("content") if flushed else None) or ""
        if not self._grammar:
            return delta, text
        if self._tools is not None:
            if delta is not None:
                delta["content"] = None
        elif text and self._rules.rest_without_tools:
            delta = delta or {}
            delta["content"] = text
        return delta, text

    def _tool_step(self, tools: ToolParser, step: Step) -> Delta | None:
        if self._asked.choice == "none":
            if not self._grammar:
                return {"content": step.text} if step.text else None
            delta = tools.step(step)
            if delta is not None:
                delta["calls"] = []
            return delta
        if self._named is not None:
            return self._named.step(step.text)
        if self._required is not None:
            return self._required.step(step.text, step.before, step.so_far)
        return tools.step(step)

    def _finished(self, delta: Delta | None) -> Delta | None:
        if self._tools is not None and delta is not None and delta.get("calls"):
            last = delta["calls"][-1]  # pyright: ignore[reportTypedDictNotRequiredAccess] - it was just looked at
            last.function["arguments"] = (last.function.get("arguments") or "") + self._unsent(self._tools)
        if self._reasoning is not None and self._grammar_reasoning and not self._ended:
            delta = _added(delta, self._reasoning.finish())
        if self._tools is not None and self._grammar_tools:
            delta = _added(delta, self._tools.finish())
        return delta

    def _unsent(self, tools: ToolParser) -> str:
        expected = tools.expected()
        return "" if expected is None else expected[1][len(tools.sent[expected[0]]) :]

    def _without_reasoning(self, delta: Delta | None) -> Delta | None:
        if delta is None or self._asked.include_reasoning or self._rules.hides_reasoning == "never":
            return delta
        if self._rules.hides_reasoning == "reasoning" and not delta.get("reasoning"):
            return delta
        delta["reasoning"] = None
        return delta if delta.get("content") or delta.get("calls") else None


class OneParser:
    """0.20.2: once the reasoning is over only the tool parser speaks, also where no tools were asked for. Forced tool
    choice is the server's own business (``serving.Forced``)."""

    def __init__(self, reasoning: ReasoningParser | None, tools: ToolParser | None, *, prompt_ended: bool) -> None:
        self._reasoning = reasoning
        self._tools = tools
        self._ended = reasoning is not None and prompt_ended
        self._started = False
        self._before = ""
        self._ids_before: list[int] = []

    def step(self, text: str, ids: Sequence[int], finished: bool) -> Delta | None:
        so_far, ids_so_far = self._before + text, [*self._ids_before, *ids]
        delta: Delta | None = None
        if self._reasoning is not None and (self._tools is None or not self._ended):
            delta = self._reasoning.step(Step(text, ids, self._before, self._ids_before, so_far, ids_so_far))
            if self._tools is not None and self._reasoning.ended(ids):
                self._ended = True
                ids_so_far = self._reasoning.content_ids(ids)
                so_far = (delta.get("content") if delta else None) or ""
                if delta is not None and delta.get("content"):
                    delta["content"] = None
        if self._tools is not None and (self._reasoning is None or self._ended):
            if not self._started:
                self._started = True
                self._before, self._ids_before = "", []
                text, ids = so_far, ids_so_far
            delta = self._tools.step(Step(text, ids, self._before, self._ids_before, so_far, ids_so_far))
        if self._reasoning is None and self._tools is None:
            delta = {"content": text}
        self._before, self._ids_before = so_far, ids_so_far
        return delta


def _required(rules: ParserRules) -> Required | RequiredPlaces:
    return RequiredPlaces() if rules.required == "places" else Required(strings_known=rules.required == "strings")


def _with_reasoning(delta: Delta | None, earlier: Delta | None) -> Delta | None:
    """Reasoning of the same step stays beside what the tool parser made of the rest."""
    reasoning = earlier.get("reasoning") if earlier else None
    if not reasoning:
        return delta
    if delta is None:
        return {"reasoning": reasoning}
    if not delta.get("reasoning"):
        delta["reasoning"] = reasoning
    return delta


def _added(delta: Delta | None, rest: Delta | None) -> Delta | None:
    if rest is None or delta is None:
        return delta or rest
    if rest.get("content"):
        delta["content"] = (delta.get("content") or "") + (rest.get("content") or "")
    if rest.get("reasoning"):
        delta["reasoning"] = (delta.get("reasoning") or "") + (rest.get("reasoning") or "")
    if rest.get("calls"):
        delta["calls"] = [*delta.get("calls", []), *rest.get("calls", [])]
    return delta
