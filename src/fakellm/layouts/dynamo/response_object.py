"""The response object of ``/v1/responses``, with the request echoed in it, and the items of its output. Pure.

Streams write every member in one order; whole answers first those that have a value, then the nulls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...told import Score, Told
from ..common.fields import as_objects
from .frame import Frame
from .spelling import narrowed, widened

_STREAM_ORDER = """background billing conversation created_at completed_at error id incomplete_details instructions
max_output_tokens max_tool_calls metadata model object output parallel_tool_calls previous_response_id prompt
prompt_cache_key prompt_cache_retention reasoning safety_identifier service_tier status temperature text tool_choice
tools top_logprobs top_p truncation usage""".split()
_NULLS_ORDER = """billing completed_at conversation error incomplete_details instructions max_output_tokens
max_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_retention reasoning
safety_identifier""".split()


def response_value(
    frame: Frame,
    ids: str,
    status: str,
    output: Sequence[Mapping[str, Any]],
    usage: Mapping[str, Any] | None,
    *,
    error: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The object as streams write it. ``ids``: its id; ``usage`` None = still in progress."""
    body = frame.ask.body
    known: dict[str, Any] = {
        "background": bool(body.get("background")),
        "created_at": frame.created,
        "completed_at": frame.created if status == "completed" else None,
        "error": error,
        "id": ids,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "metadata": body.get("metadata") or {},
        "model": frame.ask.model,
        "object": "response",
        "output": list(output),
        "parallel_tool_calls": _given(body, "parallel_tool_calls", True),
        "service_tier": body.get("service_tier") or "auto",
        "status": status,
        "temperature": narrowed(_given(body, "temperature", 1.0)),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": [_tool(tool) for tool in as_objects(body.get("tools"))],
        "top_logprobs": (body.get("top_logprobs") or 0) if frame.traits.scores.carried else 0,
        "top_p": narrowed(_given(body, "top_p", 1.0)),
        "truncation": body.get("truncation") or "disabled",
        "usage": usage,
    }
    echoed = ("instructions", "max_output_tokens", "prompt_cache_key", "prompt_cache_retention", "reasoning",
              "safety_identifier")  # fmt: skip
    known |= {name: body.get(name) for name in echoed}
    ordered = {name: known.get(name) for name in _STREAM_ORDER}
    return {**ordered, "presence_penalty": 0.0, "frequency_penalty": 0.0, "store": bool(body.get("store"))}


def whole_order(value: Mapping[str, Any]) -> dict[str, Any]:
    """The same object as whole answers write it: 32-bit numbers are widened there."""
    value = {**value, "temperature": widened(value["temperature"]), "top_p": widened(value["top_p"])}
    tail = ("presence_penalty", "frequency_penalty", "store")
    first = {name: one for name, one in value.items() if one is not None and name not in tail}
    nulls = {name: None for name in _NULLS_ORDER if value[name] is None}
    return {**first, **nulls, **{name: value[name] for name in tail}}


def _given(body: Mapping[str, Any], name: str, default: Any) -> Any:
    value = body.get(name)
    return default if value is None else value


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    value = {name: tool[name] for name in ("type", "name", "parameters") if name in tool}
    value["strict"] = _given(tool, "strict", True)
    return value | ({"description": tool["description"]} if tool.get("description") is not None else {})


def usage_value(told: Told, frame: Frame) -> dict[str, Any]:
    """Usage in the Responses' words."""
    usage = told.usage
    cached: dict[str, Any] = {"cached_tokens": usage.cached_tokens or 0}
    if frame.traits.cache_writes:
        cached["cache_write_tokens"] = 0
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": cached,
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": (usage.prompt_tokens or 0) + (usage.completion_tokens or 0),
    }


def message_item(item_id: str, part: Mapping[str, Any] | None, status: str) -> dict[str, Any]:
    """A message of the output; it has no part while it has just begun."""
    content = [] if part is None else [part]
    return {"type": "message", "content": content, "id": item_id, "role": "assistant", "status": status}


def text_part(text: str, scores: Sequence[Score]) -> dict[str, Any]:
    """The one part of a message, with all its scores."""
    return {"type": "output_text", "annotations": [], "logprobs": [_full(score) for score in scores], "text": text}


def call_item(item_id: str, call_id: str, name: str | None, arguments: str, status: str) -> dict[str, Any]:
    """A function call of the output."""
    return {
        "type": "function_call",
        "arguments": arguments,
        "call_id": call_id,
        "name": name,
        "id": item_id,
        "status": status,
    }


def _full(score: Score) -> dict[str, Any]:
    """A score as message parts have it."""
    return {
        "bytes": list(score.bytes or ()),
        "logprob": widened(score.logprob),
        "token": score.token,
        "top_logprobs": [
            {"bytes": list(one.bytes or ()), "logprob": widened(one.logprob), "token": one.token}
            for one in score.top or ()
        ],
    }


def short(score: Score) -> dict[str, Any]:
    """A score as delta and done events have it: without bytes."""
    return {
        "logprob": widened(score.logprob),
        "token": score.token,
        "top_logprobs": [{"logprob": widened(one.logprob), "token": one.token} for one in score.top or ()],
    }
