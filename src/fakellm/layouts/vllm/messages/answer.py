"""Anthropic's shapes made of what chat answered: vLLM builds ``/v1/messages`` on chat, whole and streamed.

``whole`` takes a chat body; :class:`Converter` takes the chunks of a chat stream one by one. Both read only those.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ....message import Message
from ..validate.spelling import visit
from .rules import MessageRules

STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
NewSignature = Callable[[], str]


class UnusableInput(Exception):
    """The arguments of a call are no JSON object: the server fails, with these words."""


def error_value(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def usage_value(usage: Mapping[str, Any] | None, rules: MessageRules) -> dict[str, Any]:
    """Usage in Anthropic's words: cached tokens are no input tokens there."""
    if usage is None:
        return {"input_tokens": 0, "output_tokens": 0}
    value: dict[str, Any] = {
        "input_tokens": usage.get("prompt_tokens"),
        "output_tokens": usage.get("completion_tokens") or 0,
    }
    details: Mapping[str, Any] | None = usage.get("prompt_tokens_details") if rules.cache_usage else None
    for name, shown in (
        ("created_cache_tokens", "cache_creation_input_tokens"),
        ("cached_tokens", "cache_read_input_tokens"),
    ):
        if details is not None and details.get(name) is not None:
            value["input_tokens"] = max(value["input_tokens"] - details[name], 0)
            value[shown] = details[name]
    return cast("Any", value)


def stop_of(
    finish_reason: str | None, stop_reason: Any, rules: MessageRules, *, called: bool, complete: bool
) -> tuple[str | None, str | None]:
    """(stop_reason, stop_sequence). A stop string that cut a call short wins over the call."""
    if not rules.stop_sequence or finish_reason == "length" or finish_reason not in ("stop", "tool_calls"):
        return STOPS.get(finish_reason or ""), None
    if complete:
        return "tool_use", None
    if isinstance(stop_reason, str):
        return "stop_sequence", stop_reason
    return ("tool_use" if finish_reason == "tool_calls" or called else "end_turn"), None


def whole(body: Mapping[str, Any], rules: MessageRules, signature: NewSignature) -> dict[str, Any]:
    """A message made of a whole chat answer; members that are null are left out."""
    choice = body["choices"][0]
    message: Mapping[str, Any] = choice["message"]
    calls: Sequence[Any] = message.get("tool_calls") or ()
    content: list[Any] = []
    if rules.blocks and message.get("reasoning"):
        content.append({"type": "thinking", "thinking": message["reasoning"], "signature": signature()})
    if message.get("content") or not rules.blocks:
        content.append({"type": "text", "text": message.get("content") or ""})
    for call in calls:
        function = call["function"]
        used = {"type": "tool_use", "id": call["id"], "name": function["name"]}
        given = _input(function["arguments"])
        content.append(used if given is None else {**used, "input": given})
    if not content and rules.empty_text:
        content.append({"type": "text", "text": ""})
    reason, sequence = stop_of(
        choice["finish_reason"], choice["stop_reason"], rules, called=bool(calls), complete=bool(calls)
    )
    made = {
        "id": body["id"],
        "type": "message",
        "role": "assistant",
        "content": content,
        "model": body["model"],
        "stop_reason": reason,
        "stop_sequence": sequence,
        "usage": usage_value(body["usage"], rules),
        "kv_transfer_params": body.get("kv_transfer_params") if rules.blocks else None,
        "ec_transfer_params": body.get("ec_transfer_params"),
    }
    return {name: value for name, value in made.items() if value is not None}


def _input(arguments: str) -> Any:
    try:
        value: Any = json.loads(arguments)
    except ValueError as problem:
        raise UnusableInput(str(problem)) from None
    if value is not None and not isinstance(value, dict):
        raise UnusableInput(_no_object(value))
    return cast("Any", value)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


class Converter:
    """Chat chunks in, Anthropic events out (from 0.20.2). One block is open at a time."""

    def __init__(self, rules: MessageRules, signature: NewSignature) -> None:
        self.events: list[Message] = []
        self._rules = rules
        self._signature = signature
        self._chunk = Message("meta", "")
        self._started = False
        self._index = 0
        self._block: str | None = None
        self._call: str | None = None
        self._waiting = ""
        self._calls: dict[int, str] = {}
        self._arguments = ""
        self._called = False
        self._end: tuple[str | None, Any] = (None, None)

    def feed(self, chunk: Message) -> bool:
        """Take one message of the chat stream; False = the stream has broken and nothing may follow."""
        self._chunk = chunk
        if chunk.kind == "done":
            self._close()
            self._add("message_stop", {"type": "message_stop"}, kind="done")
            return True
        if chunk.kind == "comment":
            self.events.append(chunk)
            return True
        body = cast("Mapping[str, Any]", chunk.body)
        if "choices" not in body:
            self._add("error", error_value("internal_error", broken_chunk(body)), kind="error")
            return False
        if not self._started:
            self._start(body)
        elif not body["choices"]:
            self._finish(body)
        else:
            self._choice(body["choices"][0])
        return True

    # ------------------------------------------------------------------ chunks

    def _start(self, body: Mapping[str, Any]) -> None:
        self._started = True
        self._add("message_start", {"type": "message_start", "message": start_message(body, self._rules)}, kind="role")

    def _finish(self, body: Mapping[str, Any]) -> None:
        self._close()
        complete = self._called and _is_json(self._arguments)
        finish, stop = self._end
        reason, sequence = stop_of(finish or "stop", stop, self._rules, called=self._called, complete=complete)
        delta = {"stop_reason": reason}
        if self._rules.stop_sequence:
            delta["stop_sequence"] = sequence
        usage = usage_value(body.get("usage"), self._rules)
        self._add("message_delta", {"type": "message_delta", "delta": delta, "usage": usage}, kind="finish")

    def _choice(self, choice: Mapping[str, Any]) -> None:
        if choice.get("finish_reason") is not None:
            self._end = (choice["finish_reason"], choice.get("stop_reason"))
        delta: Mapping[str, Any] = choice["delta"]
        if delta.get("reasoning"):
            self._text("thinking", str(delta["reasoning"]))
        if delta.get("content"):
            if self._rules.waits_for_tools and self._block == "tool_use":
                self._waiting += str(delta["content"])
            else:
                self._text("text", str(delta["content"]))
        for call in delta.get("tool_calls") or ():
            self._call_piece(call)

    def _text(self, kind: str, text: str) -> None:
        if self._block != kind:
            self._close()
            self._open(kind, {"type": kind, kind: ""})
        self._delta({"type": f"{kind}_delta", kind: text})

    def _call_piece(self, call: Mapping[str, Any]) -> None:
        function: Mapping[str, Any] = call.get("function") or {}
        call_id = call.get("id")
        if call_id is not None:
            self._calls[call["index"]] = call_id
            if self._call != call_id and function.get("name") is not None:
                self._close()
                self._called = True
                self._arguments = ""
                self._open("tool_use", {"type": "tool_use", "id": call_id, "name": function["name"], "input": {}})
                self._call = call_id
        arguments = function.get("arguments")
        if arguments and self._call is not None and self._call == self._calls.get(call["index"]):
            self._arguments += arguments
            self._delta({"type": "input_json_delta", "partial_json": arguments})

    # ------------------------------------------------------------------ blocks

    def _open(self, kind: str, block: Mapping[str, Any]) -> None:
        self._block = kind
        self._add("content_block_start", {"type": "content_block_start", "content_block": block, "index": self._index})

    def _delta(self, delta: Mapping[str, Any], kind: str = "delta") -> None:
        self._add(
            "content_block_delta", {"type": "content_block_delta", "delta": delta, "index": self._index}, kind=kind
        )

    def _close(self) -> None:
        """End the open block; text that waited for a call's end becomes a block of its own."""
        waiting, self._waiting = self._waiting, ""
        if self._block is not None:
            if self._block == "thinking":
                self._delta({"type": "signature_delta", "signature": self._signature()}, kind="event")
            self._add("content_block_stop", {"type": "content_block_stop", "index": self._index})
            self._block = self._call = None
            self._index += 1
        if waiting:
            self._text("text", waiting)
            self._close()

    def _add(self, event: str, body: Mapping[str, Any], *, kind: str = "event") -> None:
        chunk = self._chunk
        tokens = chunk.tokens if kind in ("role", "delta", "finish") else None
        self.events.append(Message(kind, dict(body), chunk.choice, tokens, chunk.due_ms, event=event, spelling="serde"))


def start_message(body: Mapping[str, Any], rules: MessageRules) -> dict[str, Any]:
    """The message of message_start."""
    message: dict[str, Any] = {"id": body["id"]}
    if rules.start_role:
        message.update(type="message", role="assistant")
    message.update(content=[], model=body["model"])
    if rules.start_stop:
        message.update(stop_reason=None, stop_sequence=None)
    if rules.continuous:
        message["usage"] = usage_value(body.get("usage"), rules)
    return message


def broken_chunk(body: Mapping[str, Any]) -> str:
    """What pydantic says of an error event that is read as a chunk."""
    lines = ["2 validation errors for ChatCompletionStreamResponse"]
    for name in ("model", "choices"):
        lines += [
            name,
            f"  Field required [type=missing, input_value={_cut(dict(body))}, input_type=dict]",
            visit("missing"),
        ]
    return "\n".join(lines)


def _no_object(value: Any) -> str:
    """What pydantic says of a call's input that is no object."""
    row = f"input_value={_cut(value)}, input_type={type(value).__name__}"
    words = f"  Input should be a valid dictionary [type=dict_type, {row}]"
    return "\n".join(["1 validation error for AnthropicContentBlock", "input", words, visit("dict_type")])


def _cut(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 50 else f"{shown[:25]}...{shown[-24:]}"
