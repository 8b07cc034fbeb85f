"""Anthropic events up to 0.16: text and tools alone, [DONE] at the end; a finish chunk's own text is lost.

Source: serving_messages.py of 0.12, anthropic/serving.py of 0.16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....message import Message
from .answer import STOPS, broken_chunk, error_value, start_message, usage_value
from .rules import MessageRules


class OldConverter:
    """Chat chunks in, events out."""

    def __init__(self, rules: MessageRules) -> None:
        self.events: list[Message] = []
        self._rules = rules
        self._chunk = Message("meta", "")
        self._started = False
        self._open = False
        self._index = 0
        self._finish: str | None = None

    def feed(self, chunk: Message) -> bool:
        """Take one message of the chat stream; False = the stream has broken and nothing may follow."""
        self._chunk = chunk
        body: Any = chunk.body
        if chunk.kind == "done":
            self._add("message_stop", {"type": "message_stop"})
            self._done()
        elif chunk.kind == "comment":
            self.events.append(chunk)
        elif "choices" not in body:
            self._add("error", error_value("internal_error", broken_chunk(body)), kind="error")
            self._done()
            return False
        elif not self._started:
            self._started = True
            message = start_message(body, self._rules)
            self._add("message_start", {"type": "message_start", "message": message}, kind="role")
        elif not body["choices"]:
            self._end(body)
        else:
            self._choice(body["choices"][0])
        return True

    def _end(self, body: Mapping[str, Any]) -> None:
        if self._open:
            self._add("content_block_stop", {"type": "content_block_stop", "index": self._index})
        delta = {"stop_reason": STOPS.get(self._finish or "stop")}
        usage = usage_value(body.get("usage"), self._rules)
        self._add("message_delta", {"type": "message_delta", "delta": delta, "usage": usage}, kind="finish")

    def _choice(self, choice: Mapping[str, Any]) -> None:
        if choice.get("finish_reason") is not None:
            self._finish = choice["finish_reason"]
            return
        delta: Mapping[str, Any] = choice["delta"]
        if delta.get("content") is not None:
            if not self._open:
                self._begin({"type": "text", "text": ""})
            if delta["content"]:
                self._delta({"type": "text_delta", "text": delta["content"]})
        elif delta.get("tool_calls"):
            self._call(delta["tool_calls"][0])

    def _call(self, call: Mapping[str, Any]) -> None:
        function: Mapping[str, Any] = call.get("function") or {}
        if call.get("id") is None:
            self._delta({"type": "input_json_delta", "partial_json": function.get("arguments")})
            return
        if self._open:
            self._add("content_block_stop", {"type": "content_block_stop", "index": self._index})
            self._index += 1
        self._begin({"type": "tool_use", "id": call["id"], "name": function.get("name"), "input": {}})

    def _begin(self, block: Mapping[str, Any]) -> None:
        self._open = True
        self._add("content_block_start", {"type": "content_block_start", "content_block": block, "index": self._index})

    def _delta(self, delta: Mapping[str, Any]) -> None:
        body = {"type": "content_block_delta", "delta": delta, "index": self._index}
        self._add("content_block_delta", body, kind="delta")

    def _done(self) -> None:
        self.events.append(Message("done", "[DONE]", due_ms=self._chunk.due_ms))

    def _add(self, event: str, body: Mapping[str, Any], *, kind: str = "event") -> None:
        chunk = self._chunk
        tokens = chunk.tokens if kind in ("role", "delta", "finish") else None
        self.events.append(Message(kind, dict(body), chunk.choice, tokens, chunk.due_ms, event=event, spelling="serde"))
