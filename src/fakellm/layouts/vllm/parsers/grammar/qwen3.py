"""The qwen3 grammar in the two roles that vLLM gives it: reasoning parser, and tool parser (qwen3_coder, qwen3_xml)."""

from __future__ import annotations

from collections.abc import Sequence

from .....tokenizer import Tokenizer
from ..deltas import Delta
from ..rules import ParserRules
from ..stream import Step
from ..thinking import Between
from .calls import Calls, Schemas
from .machine import Event, Kind, Machine, State

TURNS = ("<|im_start|>", "<|im_end|>")


class Qwen3Reasoning:
    """The reasoning parser: tool calls stay in the content, but a tool call ends the reasoning.

    ``enabled``: the chat template's enable_thinking."""

    def __init__(self, tokenizer: Tokenizer, rules: ParserRules, *, enabled: bool) -> None:
        self._tokenizer = tokenizer
        self._rules = rules
        self._enabled = enabled
        self._turns = rules.turns
        self._marks = {
            mark: tokenizer.id_of(mark.encode()) for mark in ("<think>", "</think>", "<tool_call>", "</tool_call>")
        }
        self._turn_ids = {tokenizer.id_of(turn.encode()) for turn in TURNS} - {None}
        self._machine = self._fresh()
        self._calls = Calls({}, later_first=rules.later_first)
        self._streamed = False
        self._between = Between(self._marks["<think>"], self._marks["</think>"])
        self._counting: Machine | None = None

    def _fresh(self, *, skips_tools: bool = True) -> Machine:
        start = State.REASONING if self._enabled else State.CONTENT
        specials = self._rules.drops_specials
        return Machine(self._tokenizer, start, skips_tools=skips_tools, drops_specials=specials)

    @property
    def confirmed_end(self) -> bool:
        """Has the stream itself said that the reasoning ended?"""
        return self._calls.reasoning_ended

    def whole(self, text: str) -> tuple[str | None, str | None]:
        if not self._enabled:
            return None, text
        machine = self._fresh()
        return _plain(machine.feed(text, ()) + machine.finish())

    def step(self, step: Step) -> Delta | None:
        self._streamed = True
        return self._calls.delta(self._machine.feed(step.text, step.ids))

    def ended(self, ids: Sequence[int]) -> bool:
        think, close = self._marks["<think>"], self._marks["</think>"]
        for token_id in reversed(ids):
            if token_id == close or (self._turns and token_id == self._marks["<tool_call>"]):
                return True
            if token_id == think:
                if self._enabled:
                    return False
                break
            if self._turns and token_id in self._turn_ids:
                break
        if self._turns:
            return not self._enabled
        return self._open_call(ids)

    def _open_call(self, ids: Sequence[int]) -> bool:
        """Up to 0.28 an unclosed tool call in the prompt ends the reasoning too."""
        for token_id in reversed(ids):
            if token_id in (self._marks["<think>"], self._marks["</tool_call>"]):
                return False
            if token_id == self._marks["<tool_call>"]:
                return True
        return False

    def ended_in(self, ids: Sequence[int]) -> bool:
        return self.confirmed_end

    def content_ids(self, ids: Sequence[int]) -> list[int]:
        for place in range(len(ids) - 1, -1, -1):
            if ids[place] == self._marks["</think>"]:
                return list(ids[place + 1 :])
        if self._turns:
            for place, token_id in enumerate(ids):
                if token_id == self._marks["<tool_call>"]:
                    return list(ids[place:])
        return list(ids)

    def finish(self) -> Delta | None:
        self._machine.skips_tools = self._rules.flushes_always  # 0.24 forgets that the tools are not its own here
        return self._calls.delta(self._machine.finish(), finished=True)

    def count(self, ids: Sequence[int]) -> int:
        if self._rules.counts == "marks":
            return Between(self._marks["<think>"], self._marks["</think>"]).feed(ids)
        if self._streamed:
            return self._machine.reasoning_tokens
        if not ids:
            return 0
        machine = self._fresh(skips_tools=False)
        machine.feed(self._tokenizer.decode(ids, skip_special_tokens=False), ids)
        machine.finish()
        return machine.reasoning_tokens

    def counted(self, ids: Sequence[int]) -> int:
        if self._rules.counts == "marks":
            return self._between.feed(ids)
        if self._streamed:
            return self._machine.reasoning_tokens
        self._counting = self._counting or self._fresh(skips_tools=False)
        self._counting.feed(self._tokenizer.decode(ids, skip_special_tokens=False), ids)
        return self._counting.reasoning_tokens


class Qwen3Tools:
    """The tool parser: it is given what follows the reasoning. ``alone``: there is no reasoning parser, its marks are
    content (0.32). ``none``: tools were given, but tool_choice is none."""

    def __init__(self, tokenizer: Tokenizer, rules: ParserRules, schemas: Schemas, *, alone: bool, none: bool) -> None:
        self.sent: list[str] = []
        self._tokenizer = tokenizer
        self._rules = rules
        self._schemas = schemas
        self._keeps_think = alone and rules.keeps_marks_alone
        self._suppressed = none and rules.leaves_out_calls
        self._skips_tools = none and not rules.leaves_out_calls
        self._machine, self._calls = self._fresh()

    def _fresh(self) -> tuple[Machine, Calls]:
        rules = self._rules
        machine = Machine(
            self._tokenizer,
            State.CONTENT,
            skips_tools=self._skips_tools,
            keeps_think=self._keeps_think,
            drops_specials=rules.drops_specials,
        )
        calls = Calls(
            self._schemas, strips=rules.strips_values, suppressed=self._suppressed, later_first=rules.later_first
        )
        return machine, calls

    @property
    def begun(self) -> bool:
        return bool(self._calls.found)

    def whole(self, text: str) -> tuple[list[tuple[str, str]] | None, str | None]:
        machine, calls = self._fresh()
        delta = calls.delta(machine.feed(text, ()) + machine.finish(), finished=True)
        content = delta.get("content") if delta else None
        found = calls.found
        if not found:
            return None, content
        return found, (content or "").strip() or None

    def step(self, step: Step) -> Delta | None:
        return self._calls.delta(self._machine.feed(step.text, step.ids))

    def expected(self) -> tuple[int, str] | None:
        return None

    def finish(self) -> Delta | None:
        return self._calls.delta(self._machine.finish(), finished=True)


def _plain(events: Sequence[Event]) -> tuple[str | None, str | None]:
    """(reasoning, content) of a whole text, tool calls and all."""
    reasoning = content = ""
    for event in events:
        if event.kind is Kind.REASONING:
            reasoning += event.text
        elif event.kind is Kind.TEXT:
            content += event.text
    return reasoning or None, content or None
