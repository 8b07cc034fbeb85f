"""The answers of /v1/messages: Anthropic's message and its events. Reads only the Told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...message import Message, Rendering
from ...told import Part, Told, ToldChoice
from . import answers
from .messages import ERROR_TYPES, STOP_REASONS, error
from .native_render import in_order
from .openai_parts import Facts
from .parsers import ParserChoice, claimed_calls, reads_array
from .traits import Trait


@dataclass(frozen=True, slots=True)
class MessagesRenderer:
    """Renders one message. ``hexes``: random hex digits."""

    facts: Facts
    hexes: Callable[[int], str]
    parsers: ParserChoice | None = None

    def whole(self, told: Told) -> Rendering:
        """A JSON answer."""
        choice = told.choices[0]
        failed = choice.failure
        if choice.finish_reason == "abort" and failed is not None and failed.code is not None:
            message = "Internal server error" if failed.code >= 500 else failed.message
            return error(failed.code, ERROR_TYPES.get(failed.code, "api_error"), message)
        parts = choice.parts if choice.parts is not None else (Part("content", choice.text),)
        if any(part.kind == "tool" and not isinstance(_object(part.text), dict) for part in parts):
            return answers.crash()
        blocks = self._blocks(parts)
        called = any(part.kind == "tool" for part in parts)
        if self.parsers is not None and not called:
            content = "".join(part.text for part in parts if part.kind == "content")
            called = reads_array(self.parsers) or claimed_calls(self.parsers, content) is not None
        body = {
            **self._head(),
            "content": blocks or ([{"type": "text", "text": ""}] if self._thinks else []),
            "model": self.facts.model,
            "stop_reason": _stop_reason(choice, called),
            "usage": self._usage(told, told.usage.completion_tokens or 0),
        }
        return answers.json_answer(body, spelling="json")

    def stream(self, told: Told) -> Rendering:
        """Anthropic's events; no ``[DONE]``."""
        return answers.events(tuple(self._events(told)), done=False)

    @property
    def _thinks(self) -> bool:
        return self.facts.traits.has(Trait.MESSAGES_THINK)

    def _head(self) -> dict[str, Any]:
        return {"id": f"msg_{self.hexes(32)}", "type": "message", "role": "assistant"}

    def _usage(self, told: Told, output: int, *, cached: bool = True) -> dict[str, Any]:
        prompt = told.usage.prompt_tokens or 0
        hit = told.usage.cached_tokens or 0 if self.facts.settings.cache_report and cached else 0
        usage = {"input_tokens": max(prompt - hit, 0), "output_tokens": output}
        return {**usage, "cache_read_input_tokens": hit} if hit else usage

    def _blocks(self, parts: Sequence[Part]) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        thinking = "".join(part.text for part in parts if part.kind == "reasoning")
        text = "".join(part.text for part in parts if part.kind == "content")
        if thinking and self._thinks:
            blocks.append({"type": "thinking", "thinking": thinking})
        if text:
            blocks.append({"type": "text", "text": text})
        for part in parts:
            if part.kind == "tool":
                name = f"call_{self.hexes(24)}"
                blocks.append({"type": "tool_use", "id": name, "name": part.name, "input": _object(part.text)})
        return blocks

    def _events(self, told: Told) -> Iterator[Message]:
        head = self._head()
        counted = self.facts.traits.has(Trait.MESSAGES_COUNT_AT_START)
        shown = any(step.text if step.parts is None else step.parts for step in told.choices[0].steps)
        usage = self._usage(told, 0) if counted and shown else {"input_tokens": 0, "output_tokens": 0}
        start: dict[str, Any] = {**head, "content": [], "model": self.facts.model, "usage": usage}
        opens = told.choices[0].steps[0].due_ms if told.choices[0].steps else 0.0  # with the first chunk
        yield _event("message_start", {"message": start}, opens)
        blocks = _Blocks(self.hexes, counted, not counted)
        choice, due, called = told.choices[0], 0.0, False
        for _, number in in_order(told.choices[:1]):
            step = choice.steps[number]
            due = step.due_ms
            failed = choice.failure
            if step.finish_reason == "abort" and failed is not None and failed.code is not None:
                yield from blocks.close(due)
                message = "Internal server error" if failed.code >= 500 else failed.message
                kind = ERROR_TYPES.get(failed.code, "api_error")
                yield _event("error", {"error": {"type": kind, "message": message}}, due)
                yield _event("message_stop", {}, due)
                return
            parts = step.parts if step.parts is not None else ((Part("content", step.text),) if step.text else ())
            for part in parts:
                if part.kind == "reasoning" and not self._thinks:
                    continue
                called = called or part.kind == "tool"
                yield from blocks.take(part, due)
        yield from blocks.close(due)
        output = told.usage.completion_tokens or 0
        final = {"output_tokens": output} if counted else self._usage(told, output)
        yield _event("message_delta", {"delta": {"stop_reason": _stop_reason(choice, called)}, "usage": final}, due)
        yield _event("message_stop", {}, due)


@dataclass(slots=True)
class _Blocks:
    """The content blocks of a stream. ``index_first``: the order of members from 0.5.17 on. ``text_in_any``: text opens
    no block where one is open (before that)."""

    hexes: Callable[[int], str]
    index_first: bool
    text_in_any: bool
    _kind: str | None = None
    _index: int = 0

    def take(self, part: Part, due: float) -> Iterator[Message]:
        goes_on = self.text_in_any and part.kind == "content" and self._kind is not None
        if not goes_on and (self._kind != part.kind or (part.kind == "tool" and part.name is not None)):
            yield from self.close(due)
            self._kind = part.kind
            yield self._indexed("content_block_start", "content_block", self._opening(part), due)
        if part.text:
            yield self._indexed("content_block_delta", "delta", _delta(part), due)

    def close(self, due: float) -> Iterator[Message]:
        if self._kind is None:
            return
        self._kind = None
        yield _event("content_block_stop", {"index": self._index}, due)
        self._index += 1

    def _opening(self, part: Part) -> dict[str, Any]:
        if part.kind == "reasoning":
            return {"type": "thinking", "thinking": ""}
        if part.kind == "tool":
            return {"type": "tool_use", "id": f"call_{self.hexes(24)}", "name": part.name, "input": {}}
        return {"type": "text", "text": ""}

    def _indexed(self, name: str, member: str, value: Mapping[str, Any], due: float) -> Message:
        if self.index_first:
            return _event(name, {"index": self._index, member: value}, due)
        return _event(name, {member: value, "index": self._index}, due)


def _delta(part: Part) -> dict[str, Any]:
    if part.kind == "reasoning":
        return {"type": "thinking_delta", "thinking": part.text}
    if part.kind == "tool":
        return {"type": "input_json_delta", "partial_json": part.text}
    return {"type": "text_delta", "text": part.text}


def _event(name: str, members: Mapping[str, Any], due: float = 0.0) -> Message:
    return Message("event", {"type": name, **members}, due_ms=due, event=name, spelling="serde")


def _stop_reason(choice: ToldChoice, called: bool) -> str:
    finish = "tool_calls" if called and choice.finish_reason == "stop" else choice.finish_reason
    return STOP_REASONS.get(finish or "stop", "end_turn")


def _object(written: str) -> Any:
    try:
        return json.loads(written)
    except json.JSONDecodeError:
        return {}
