"""Bodies as a server's own models write them: members in their order, those without a value as null. Data and a walk.

A template is the order: a member's name with what stands there when nothing does, a template for an object, a list of
one template for a list of objects. Members that it does not name come last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

Template = Mapping[str, Any]


def filled(value: Mapping[str, Any], template: Template, *, sparse: bool) -> dict[str, Any]:
    """The members in the template's order. ``sparse``: what is not there stays away."""
    made: dict[str, Any] = {}
    for name, inside in template.items():
        if name in value:
            made[name] = _filled(value[name], inside, sparse=sparse)
        elif not sparse:
            made[name] = None if isinstance(inside, Mapping | list) else inside
    return {**made, **{name: member for name, member in value.items() if name not in template}}


def _filled(value: Any, template: Any, *, sparse: bool) -> Any:
    if isinstance(template, Mapping) and isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return filled(members, cast("Template", template), sparse=sparse)
    if isinstance(template, list) and isinstance(value, list):
        (inside,) = cast("list[Any]", template)
        return [_filled(one, inside, sparse=sparse) for one in cast("list[Any]", value)]
    return value


_ENVELOPE = {"id": None, "object": None, "created": None, "model": None}
_USAGE = {
    "prompt_tokens": 0,
    "total_tokens": 0,
    "completion_tokens": 0,
    "prompt_tokens_details": None,
    "completion_tokens_details": None,
}
_MESSAGE = {"role": None, "content": None, "reasoning_content": None, "tool_calls": None}
_SCORES = {"content": [{"token": None, "bytes": None, "logprob": None, "top_logprobs": None}]}
LMDEPLOY: Mapping[str, Template] = {
    "chat": {
        **_ENVELOPE,
        "choices": [
            {
                "index": 0,
                "message": _MESSAGE,
                "logprobs": _SCORES,
                "output_token_logprobs": None,
                "finish_reason": None,
                "output_ids": None,
                "routed_experts": None,
            }
        ],
        "usage": _USAGE,
        "service_tier": None,
    },
    "chat-stream": {
        **_ENVELOPE,
        "choices": [
            {
                "index": 0,
                "delta": _MESSAGE,
                "logprobs": _SCORES,
                "output_token_logprobs": None,
                "output_ids": None,
                "finish_reason": None,
            }
        ],
        "usage": _USAGE,
    },
    "completions": {
        **_ENVELOPE,
        "choices": [{"index": 0, "text": "", "logprobs": None, "finish_reason": None}],
        "usage": _USAGE,
    },
    "completions-stream": {
        **_ENVELOPE,
        "choices": [{"index": 0, "text": "", "logprobs": None, "finish_reason": None}],
        "usage": _USAGE,
    },
}
"""LMDeploy 0.18.0, serve/openai/protocol.py."""
