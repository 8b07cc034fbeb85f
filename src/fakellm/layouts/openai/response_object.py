"""OpenAI's response object with the request echoed in it, its items and its scores. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...ask import Ask
from ...told import Score, Told
from ..common.fields import as_objects


def response_value(
    ask: Ask,
    response_id: str,
    created: float,
    status: str,
    output: Sequence[Mapping[str, Any]],
    usage: Mapping[str, Any] | None,
    *,
    error: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The object; ``usage`` None while it is in progress."""
    body = ask.body
    reason = {"reason": "max_output_tokens"} if status == "incomplete" else None
    return {
        "id": response_id,
        "object": "response",
        "created_at": int(created),
        "status": status,
        "background": bool(body.get("background")),
        "completed_at": int(created) if status == "completed" else None,
        "error": error,
        "incomplete_details": reason,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": body.get("max_tool_calls"),
        "model": ask.model,
        "output": list(output),
        "parallel_tool_calls": _given(body, "parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "prompt_cache_key": body.get("prompt_cache_key"),
        "prompt_cache_retention": body.get("prompt_cache_retention"),
        "reasoning": {"effort": None, "summary": None, **(body.get("reasoning") or {})},
        "safety_identifier": body.get("safety_identifier"),
        "service_tier": "default",
        "store": _given(body, "store", True),
        "temperature": _given(body, "temperature", 1.0),
        "text": {"format": {"type": "text"}, "verbosity": "medium", **(body.get("text") or {})},
        "tool_choice": _given(body, "tool_choice", "auto"),
        "tools": [_tool(tool) for tool in as_objects(body.get("tools"))],
        "top_logprobs": body.get("top_logprobs") or 0,
        "top_p": _given(body, "top_p", 1.0),
        "truncation": body.get("truncation") or "disabled",
        "usage": usage,
        "user": body.get("user"),
        "metadata": body.get("metadata") or {},
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
    }


def _given(body: Mapping[str, Any], name: str, default: Any) -> Any:
    value = body.get(name)
    return default if value is None else value


def _tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool as it is echoed: a function's members are filled up."""
    if tool.get("type") != "function":
        return tool
    shown = {name: tool.get(name) for name in ("type", "description", "name", "parameters")}
    return {**shown, "strict": _given(tool, "strict", True)}


def usage_value(told: Told) -> dict[str, Any]:
    """Token counts in the Responses' words."""
    usage = told.usage
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens or 0, "cache_write_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": (usage.prompt_tokens or 0) + (usage.completion_tokens or 0),
    }


def message_item(item_id: str, content: Sequence[Mapping[str, Any]], status: str) -> dict[str, Any]:
    """A message of the output."""
    return {
        "id": item_id,
        "type": "message",
        "status": status,
        "content": list(content),
        "role": "assistant",
    }


def text_part(text: str, scores: Sequence[Score | None]) -> dict[str, Any]:
    """A part with text and all its scores."""
    return {"type": "output_text", "annotations": [], "logprobs": [part_score(score) for score in scores], "text": text}


def reasoning_item(item_id: str, summary: str | None) -> dict[str, Any]:
    """Reasoning: that it took place, and its summary where one was asked for."""
    return {"id": item_id, "type": "reasoning", "summary": [] if summary is None else [summary_part(summary)]}


def summary_part(text: str) -> dict[str, Any]:
    return {"type": "summary_text", "text": text}


def call_item(item_id: str, call_id: str, name: str | None, arguments: str, status: str) -> dict[str, Any]:
    """A function call of the output."""
    return {
        "id": item_id,
        "type": "function_call",
        "status": status,
        "arguments": arguments,
        "call_id": call_id,
        "name": name,
    }


def part_score(score: Score | None) -> dict[str, Any] | None:
    """A score as parts have it, with bytes."""
    if score is None:
        return None
    return {
        **_named(score),
        "bytes": list(score.bytes or ()),
        "top_logprobs": [_with_bytes(one) for one in score.top or ()],
    }


def event_score(score: Score | None) -> dict[str, Any] | None:
    """A score as delta and done events have it, without bytes."""
    if score is None:
        return None
    return {**_named(score), "top_logprobs": [_named(one) for one in score.top or ()]}


def _named(score: Score) -> dict[str, Any]:
    return {"token": score.token, "logprob": score.logprob}


def _with_bytes(score: Score) -> dict[str, Any]:
    return {**_named(score), "bytes": list(score.bytes or ())}
