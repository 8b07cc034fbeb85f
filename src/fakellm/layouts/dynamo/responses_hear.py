"""From a ``/v1/responses`` body to an Ask: its input becomes a conversation, its scores a chat request's scores.

Released versions read ``include`` and ``top_logprobs`` and forward neither; the variants forward them. Knows no answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...ask import Ask, Request, Wants
from ...tokenizer import Tokenizer
from ..common.fields import as_object, as_objects
from ..common.responses import SCORES, call_message
from . import fields
from .answers import Refusal, invalid
from .checks import check_shared
from .hear import check_model, prompt_of_chat, read, sampling
from .nvext import RESPONSES_REFUSE, Extension
from .options import Settings
from .traits import Traits

MOST = 20
"""Alternatives that a chat request accepts."""


def hear_responses(request: Request, settings: Settings, traits: Traits, tokenizer: Tokenizer) -> Ask:
    """Raises Refusal."""
    body = read(request.body, fields.RESPONSES)
    extension = Extension.of(body)
    if not body.get("model"):
        raise Refusal("Model cannot be empty")
    _unsupported(body, extension)
    scored, top = _scores(body, traits)
    check_shared(body, traits)
    if body.get("max_output_tokens") == 0:
        raise invalid("Max tokens must be greater than 0, got 0")
    check_model(body["model"], settings)
    tools = [chat_tool(tool) for tool in as_objects(body.get("tools"))]
    conversation: dict[str, Any] = {
        "messages": conversation_of(body),
        "tools": tools,
        "tool_choice": _chat_choice(body.get("tool_choice"), tools),
    }
    return Ask(
        api="responses",
        request=request,
        body=body,
        prompts=(prompt_of_chat(conversation, extension, settings, tokenizer),),
        model=body["model"],
        stream=bool(body.get("stream")),
        messages=as_objects(conversation["messages"]),
        sampling=replace(sampling({}, body.get("max_output_tokens")), temperature=body.get("temperature")),
        wants=Wants(
            prompt_token_ids=extension.asks("prompt_token_ids") and not body.get("stream"),
            logprobs=scored,
            top_logprobs=top,
            usage=True,
        ),
        tools=as_objects(tools),
        tool_choice=conversation["tool_choice"],
        include=tuple(body.get("include") or ()),
        options={"extension": extension},
    )


def _unsupported(body: Mapping[str, Any], extension: Extension) -> None:
    for name in ("background", "previous_response_id", "prompt", "max_tool_calls"):
        if body.get(name):
            raise invalid(
                "`background: true` is not supported." if name == "background" else f"`{name}` is not supported.", 501
            )
    for name in RESPONSES_REFUSE:
        if extension.asks(name):
            raise invalid(f'`nvext.extra_fields=["{name}"]` is not supported by the Responses API.', 501)


def _scores(body: Mapping[str, Any], traits: Traits) -> tuple[bool, int]:
    """(scores are forwarded, alternatives): without include nothing is, whatever top_logprobs says."""
    if not traits.scores.carried or SCORES not in (body.get("include") or ()):
        return False, 0
    if body.get("tools") and traits.scores.tool_only == "refuse":
        raise invalid(f'`include: ["{SCORES}"]` cannot be combined with `tools`: a tool call has no place for scores.')
    top = body.get("top_logprobs") or 0
    if top > MOST and traits.scores.cap is None:
        raise invalid(f"Top_logprobs must be between 0 and {MOST}, got {top}")
    return True, min(top, MOST)


def conversation_of(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages of a chat request that says the same; raises Refusal when there are none."""
    given = body["input"]
    rows: Sequence[Mapping[str, Any]] = (
        [{"role": "user", "content": given}] if isinstance(given, str) else as_objects(given)
    )
    messages = [message for row in rows if (message := _message(row)) is not None]
    instructions = body.get("instructions")
    if instructions:
        messages.insert(0, {"role": "system", "content": instructions})
    if not messages:
        raise Refusal("Messages array cannot be empty")
    return messages


def _message(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    kind = item.get("type", "message")
    if kind == "function_call":
        return call_message(item)
    if kind == "function_call_output":
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
    if kind == "reasoning":
        return {"role": "assistant", "content": None}
    if kind != "message":
        return None
    role = item.get("role", "user")
    return {"role": "system" if role == "developer" else role, "content": _content(item.get("content"))}


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    texts = [as_object(part).get("text") for part in as_objects(content)]
    return "\n".join(text for text in texts if isinstance(text, str))


_FUNCTION = ("name", "description", "parameters", "strict")


def chat_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A Responses tool as chat has it; raises Refusal for kinds that chat does not have."""
    if tool.get("type") != "function":
        raise Refusal(
            f"Failed to convert responses request: Unsupported Responses tools type '{tool.get('type')}': the Chat "
            "Completions adapter supports only function tools and none, auto, required, named function, or "
            "function-only allowed_tools choices"
        )
    return {"type": "function", "function": {name: tool[name] for name in _FUNCTION if name in tool}}


def _chat_choice(choice: Any, tools: Sequence[Mapping[str, Any]]) -> Any:
    named = as_object(choice).get("name")
    if named is None:
        return choice
    if named not in [as_object(tool["function"]).get("name") for tool in tools]:
        raise Refusal(f'tool named "{named}" in tool_choice is not present in tools')
    return {"type": "function", "function": {"name": named}}
