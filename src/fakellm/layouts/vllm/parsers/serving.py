"""How a chat stream goes from reasoning to tool calls where the server itself leads it: up to 0.16, and forced tool
choice in 0.20.2 too. Source: serving_chat.py (0.10.2, 0.12), chat_completion/serving.py (0.16, 0.20.2).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..validate.flaws import Crash
from .choose import Asked
from .deltas import Call, Delta
from .flow import Flow
from .forced import Named, Required
from .rules import ParserRules
from .stream import ReasoningParser, Step, ToolParser


class _State:
    """Text and ids so far; a flow may cut them."""

    def __init__(self, reasoning: ReasoningParser | None, prompt_ended: bool) -> None:
        self.before = ""
        self.ids_before: list[int] = []
        self.ended = False
        self.prompt_ended = reasoning is not None and prompt_ended


class Forced:
    """A named function, or ``required``: what follows the reasoning is the call, as JSON."""

    def __init__(
        self,
        reasoning: ReasoningParser | None,
        asked: Asked,
        rules: ParserRules,
        index: int,
    ) -> None:
        self._reasoning = reasoning
        self._named = Named(asked.name, index) if asked.choice == "named" else None
        self._required = Required(strings_known=False, breaks=rules.required_breaks)
        self._state = _State(reasoning, asked.prompt_ended)
        self._looks_first = rules.flow == "parser" or self._named is None
        """Does a prompt that ended the reasoning count before the first step is read?"""
        self._rereads = rules.required_rereads and self._named is None

    def step(self, text: str, ids: Sequence[int], finished: bool) -> Delta | None:
        state = self._state
        before, so_far = state.before, state.before + text
        if self._rereads:
            return self._reread(text, before, so_far)
        ids_before, ids_so_far = state.ids_before, [*state.ids_before, *ids]
        if self._looks_first and state.prompt_ended:
            state.ended = True
        thinking = self._reasoning is not None and not state.ended
        if thinking and self._named is not None and self._reasoning is not None:
            thinking = not self._reasoning.ended(ids_before)
        delta: Delta | None
        if thinking and self._reasoning is not None:
            delta = self._reasoning.step(Step(text, ids, before, ids_before, so_far, ids_so_far))
            if self._reasoning.ended(ids) or (not self._looks_first and state.prompt_ended):
                state.ended = True
                delta, so_far = _cut(delta)
        elif self._named is not None:
            if self._reasoning is not None:
                text, so_far = before + text, ""
            delta = self._named.step(text)
        else:
            delta = self._required.step(text, before, so_far)
        state.before, state.ids_before = so_far, ids_so_far
        return delta

    def _reread(self, text: str, before: str, so_far: str) -> Delta | None:
        content = so_far if self._reasoning is None else self._reasoning.whole(so_far)[1]
        self._state.before = so_far + text if self._reasoning is None else so_far
        return self._required.step(text, before, content or "")


class Served:
    """``auto`` and no tool choice, up to 0.16. ``tools`` None: tools are not parsed for this request."""

    def __init__(
        self,
        reasoning: ReasoningParser | None,
        tools: ToolParser | None,
        rules: ParserRules,
        *,
        prompt_ended: bool,
    ) -> None:
        self._reasoning = reasoning
        self._tools = tools
        self._next_step = rules.next_step
        self._state = _State(reasoning, prompt_ended)
        self._started = False

    def step(self, text: str, ids: Sequence[int], finished: bool) -> Delta | None:
        state = self._state
        so_far, ids_so_far = state.before + text, [*state.ids_before, *ids]
        step = Step(text, ids, state.before, state.ids_before, so_far, ids_so_far)
        if self._tools is None:
            delta = Delta(content=text) if self._reasoning is None else self._reasoning.step(step)
        elif self._reasoning is None:
            delta = self._tools.step(step)
        else:
            return self._both(self._reasoning, self._tools, step)
        state.before, state.ids_before = so_far, ids_so_far
        return delta

    def _both(self, reasoning: ReasoningParser, tools: ToolParser, step: Step) -> Delta | None:
        state = self._state
        delta: Delta | None = None
        so_far, ids_so_far = step.so_far, list(step.ids_so_far)
        reads_tools = state.ended
        if not state.ended:
            if state.prompt_ended and not self._next_step:
                state.ended, ids_so_far = True, list(step.ids)
            else:
                delta = reasoning.step(step)
                if state.prompt_ended:
                    state.ended, ids_so_far = True, list(step.ids)
                    delta, so_far = _cut(delta)
                if reasoning.ended(step.ids):
                    state.ended, ids_so_far = True, reasoning.content_ids(step.ids)
                    delta, so_far = _cut(delta)
            reads_tools = state.ended and not self._next_step
        if reads_tools:
            if self._started:
                delta = tools.step(Step(step.text, step.ids, step.before, step.ids_before, so_far, ids_so_far))
            else:
                self._started = True
                delta = tools.step(Step(so_far, ids_so_far, "", (), so_far, ids_so_far))
        state.before, state.ids_before = so_far, ids_so_far
        return delta


class Checked:
    """Adds what up to 0.20.2 the server did with the last step: arguments that were read but not sent replace the
    step's own. ``nulls``: id, type and name are then written as null (0.16 and 0.20.2). Raises Crash where the server
    fails on that."""

    def __init__(self, flow: Flow, tools: ToolParser, *, nulls: bool) -> None:
        self._flow = flow
        self._tools = tools
        self._nulls = nulls

    def step(self, text: str, ids: Sequence[int], finished: bool) -> Delta | None:
        delta = self._flow.step(text, ids, finished)
        return self._finished(delta) if finished else delta

    def _finished(self, delta: Delta | None) -> Delta | None:
        calls = delta.get("calls") if delta is not None else None
        expected = self._tools.expected()
        if not calls or calls[0].function.get("arguments") is None or expected is None:
            return delta
        index, written = expected
        if index >= len(self._tools.sent):  # qwen3_coder up to 0.16 keeps no account of what it sent
            raise Crash("IndexError", "list index out of range")
        sent = self._tools.sent[index]
        latest = len(calls[0].function.get("arguments") or "")
        rest = written.replace(sent[:-latest] if latest else sent, "", 1)
        if not self._nulls:
            return {"calls": [Call(index, {"arguments": rest})]}
        own = next((call for call in calls if call.index == index), None)
        name = own.function.get("name") if own is not None else None
        return {"calls": [Call(index, {"name": name, "arguments": rest}, nulls=name is None)]}


def _cut(delta: Delta | None) -> tuple[Delta | None, str]:
    """The content of a step that ended the reasoning is kept for the tool parser, not sent."""
    content = delta.get("content") if delta is not None else None
    if delta is None or not content:
        return delta, ""
    delta["content"] = None
    return delta, content
