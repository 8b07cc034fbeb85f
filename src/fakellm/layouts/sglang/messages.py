"""/v1/messages and /v1/messages/count_tokens: Anthropic's protocol, translated to a chat and back, as SGLang does it.

No token ids and no logprobs come this way. Renders from the Told only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...ask import Ask, Request
from ...message import Rendering
from ..base import Context
from . import answers
from .answers import Refusal
from .bodies import read_body
from .chat_body import chat_model
from .chat_request import read_ask as read_chat
from .loose import elements
from .messages_body import count_model, messages_model
from .prompts import chat_prompt
from .schema import Error, read
from .traits import Trait

if TYPE_CHECKING:
    from .station import SglangStation

STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "request_timeout_error",
    429: "rate_limit_error",
    503: "overloaded_error",
}
_LONGEST = 500


def error(status: int, kind: str, message: str) -> Rendering:
    """An error in Anthropic's envelope."""
    return answers.json_answer({"type": "error", "error": {"type": kind, "message": message}}, status)


def create(request: Request, station: SglangStation, context: Context) -> Ask | Rendering:
    """POST /v1/messages."""
    body = read_body(request, messages_model(station.traits.version), station.traits, json_only=True, refuse=_invalid)
    if isinstance(body, Rendering):
        return body
    chat = _chat_body(body.values)
    reading = read(chat_model(station.traits.version), chat)
    if reading.errors:
        return _invalid(reading.errors)
    if not chat["messages"]:
        return error(400, "invalid_request_error", "Messages cannot be empty.")
    try:
        ask = read_chat(chat, dict(reading.values), request, station.engine)
    except Refusal as refused:
        message = "Internal server error" if refused.status >= 500 else refused.message
        known = ERROR_TYPES.get(refused.status, "api_error")
        passed = refused.status < 500 and station.traits.has(Trait.MESSAGES_PASS_KIND)
        return error(refused.status, refused.kind if passed else known, message)
    return replace(ask, api="messages", body=body.sent, messages=tuple(body.sent.get("messages") or ()))


def count_tokens(request: Request, station: SglangStation, context: Context) -> Rendering:
    """POST /v1/messages/count_tokens."""
    body = read_body(request, count_model(station.traits.version), station.traits, json_only=True, refuse=_invalid)
    if isinstance(body, Rendering):
        return body
    chat = _chat_body({**body.values, "max_tokens": 1})
    try:
        prompt = chat_prompt(
            station.tokenizer, chat["messages"], tools=chat.get("tools"), template=station.settings.chat_template
        )
    except Refusal as refused:
        return error(400, "invalid_request_error", refused.message)
    return answers.json_answer({"input_tokens": len(prompt.token_ids)})


def _invalid(errors: Sequence[Error]) -> Rendering:
    """A schema refusal: places and sentences, nothing of the server's inside."""
    said: list[str] = []
    for made in errors:
        place = ".".join(str(step) for step in made["loc"] if step != "body")
        said.append(f"{place}: {made['msg']}" if place else made["msg"])
    text = "; ".join(said) or "Invalid request"
    return error(400, "invalid_request_error", text if len(text) <= _LONGEST else text[:_LONGEST] + "…")


def _chat_body(values: Mapping[str, Any]) -> dict[str, Any]:
    """The chat request that a messages request stands for."""
    messages: list[dict[str, Any]] = []
    system = _system_text(values["system"])
    if system:
        messages.append({"role": "system", "content": system})
    for message in values["messages"]:
        messages.extend(_chat_messages(message))
    chat: dict[str, Any] = {
        "model": values["model"],
        "messages": messages,
        "max_tokens": values["max_tokens"],
        "stream": bool(values.get("stream")),
    }
    if chat["stream"]:
        chat["stream_options"] = {"include_usage": True}
    renamed = {"stop_sequences": "stop", "temperature": "temperature", "top_p": "top_p", "top_k": "top_k"}
    chat |= {name: values[given] for given, name in renamed.items() if values.get(given) is not None}
    if values["tools"]:
        chat["tools"] = [_tool(tool) for tool in values["tools"]]
        chat["tool_choice"] = _tool_choice(values["tool_choice"])
    thinking = values.get("thinking")
    if thinking is not None:
        on = thinking.get("type") != "disabled"
        chat["chat_template_kwargs"] = {"thinking": on, "enable_thinking": on}
    return chat


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = {
        "name": tool.get("name"),
        "description": tool.get("description"),
        "parameters": tool.get("input_schema"),
    }
    return {"type": "function", "function": function}


def _tool_choice(choice: Mapping[str, Any] | None) -> Any:
    kind = "auto" if choice is None else choice.get("type")
    if kind == "tool" and choice is not None:
        return {"type": "function", "function": {"name": choice.get("name")}}
    return {"any": "required", "none": "none"}.get(str(kind), "auto")


def _system_text(content: Any) -> str:
    if not isinstance(content, list):
        return (content or "").strip()
    texts = [block.get("text", "").strip() for block in elements(content) if block.get("type") == "text"]
    return "\n".join(text for text in texts if text)


def _chat_messages(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One message as chat has it: tool results become messages of their own, tool uses become calls."""
    role, content = message["role"], message["content"]
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    texts = [block.get("text", "") for block in content if block.get("type") == "text"]
    results = [
        {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": _system_text(block.get("content"))}
        for block in content
        if block.get("type") == "tool_result"
    ]
    calls = [
        {
            "id": block.get("id"),
            "type": "function",
            "function": {"name": block.get("name"), "arguments": json.dumps(block.get("input") or {})},
        }
        for block in content
        if block.get("type") == "tool_use"
    ]
    made: dict[str, Any] = {"role": role, "content": "\n".join(texts)}
    if calls:
        made["tool_calls"] = calls
    if results and not texts:
        return results
    return [*results, made]
