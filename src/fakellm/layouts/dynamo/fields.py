"""The members of Dynamo's request bodies and what each must be: the data behind its deserialisation errors.

Measured member by member against the real frontend (1.6.1); what stands in ``CHAT_EXTRA`` and ``COMPLETIONS_EXTRA`` is
passed through and checked later, all other unknown members are refused by name. Data only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..common.fields import as_object
from ..common.responses import INCLUDES
from . import serde
from .serde import Check, Struct, anything, boolean, integer, mapping, number, optional, sequence, text, untagged

ROLES = ("developer", "system", "user", "assistant", "tool", "function")

_NVEXT_FIELDS: Mapping[str, Check] = {
    "greed_sampling": optional(boolean),
    "use_raw_prompt": optional(boolean),
    "annotations": optional(sequence(text)),
    "backend_instance_id": optional(integer("u64")),
    "token_data": optional(sequence(integer("u32"))),
    "max_thinking_tokens": optional(integer("u32")),
    "cache_salt": optional(text),
    "extra_fields": optional(sequence(text)),
    "metadata_upload": anything,
    "prefill_worker_id": optional(integer("u64")),
    "decode_worker_id": optional(integer("u64")),
    "dp_rank": optional(integer("u32")),
    "prefill_dp_rank": optional(integer("u32")),
    "agent_hints": anything,
    "request_timestamp_ms": anything,
    "routing_constraints": anything,
    "router": anything,
}
NVEXT = optional(serde.struct("NvExt", _NVEXT_FIELDS, closed=True))


def _is_text_or_parts(value: Any) -> bool:
    if isinstance(value, str):
        return True
    if not isinstance(value, list):
        return False
    return all(_is_part(part) for part in cast("list[Any]", value))


def _is_part(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    members = cast("dict[str, Any]", part)
    kind = members.get("type")
    if kind == "text":
        return isinstance(members.get("text"), str)
    url = members.get(kind) if isinstance(kind, str) and kind.endswith("_url") else None
    place: Any = cast("dict[str, Any]", url).get("url") if isinstance(url, dict) else None
    return isinstance(place, str) and ":" in place


_CONTENTS: Mapping[str, str] = {
    "user": "ChatCompletionRequestUserMessageContent",
    "system": "ChatCompletionRequestSystemMessageContent",
    "developer": "ChatCompletionRequestDeveloperMessageContent",
    "tool": "ChatCompletionRequestToolMessageContent",
}


def message(value: Any) -> str | None:
    """One message of a conversation."""
    if not isinstance(value, dict):
        return serde.invalid_type(value, "internally tagged enum Wire")
    members = cast("dict[str, Any]", value)
    if "role" not in members:
        return "missing field `role`"
    said = serde.variant(*ROLES)(members["role"])
    if said is not None:
        return said
    role = members["role"]
    if role == "tool" and "tool_call_id" not in members:
        return "missing field `tool_call_id`"
    if role in _CONTENTS:
        if "content" not in members:
            return "missing field `content`"
        if not _is_text_or_parts(members["content"]):
            return f"data did not match any variant of untagged enum {_CONTENTS[role]}"
    return None


def _is_stop(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(one, str) for one in cast("list[Any]", value))
    return isinstance(value, str)


def _is_tool_choice(value: Any) -> bool:
    if isinstance(value, dict):
        function: Any = cast("dict[str, Any]", value).get("function")
        return isinstance(function, dict) and isinstance(cast("dict[str, Any]", function).get("name"), str)
    return value in ("none", "auto", "required")


def _is_prompt(value: Any) -> bool:
    if isinstance(value, str):
        return True
    if not isinstance(value, list):
        return False
    rows = cast("list[Any]", value)
    return _all_ids(rows) or all(isinstance(row, str) for row in rows) or all(_all_ids(row) for row in rows)


def _all_ids(rows: Any) -> bool:
    if not isinstance(rows, list):
        return False
    return all(isinstance(row, int) and not isinstance(row, bool) for row in cast("list[Any]", rows))


def _echo(value: Any) -> str | None:
    expected = "echo parameter to be a boolean (true or false) or null"
    return None if value is None or isinstance(value, bool) else serde.invalid_type(value, expected)


_FUNCTION = serde.struct("FunctionObject", {"name": text}, required=("name",))
_TOOL = serde.struct("ChatCompletionTool", {"type": anything, "function": _FUNCTION}, required=("type", "function"))
_SHARED: Mapping[str, Check] = {
    "model": text,
    "frequency_penalty": optional(number),
    "presence_penalty": optional(number),
    "temperature": optional(number),
    "top_p": optional(number),
    "min_p": optional(number),
    "repetition_penalty": optional(number),
    "logit_bias": optional(mapping),
    "max_tokens": optional(integer("u32")),
    "min_tokens": optional(integer("u32")),
    "n": optional(integer("u8")),
    "seed": optional(integer("i64")),
    "top_k": optional(integer("i32")),
    "prompt_logprobs": optional(integer("u32")),
    "stop": optional(untagged("Stop", _is_stop)),
    "stream": optional(boolean),
    "stream_options": optional(
        serde.struct(
            "ChatCompletionStreamOptions",
            {"include_usage": optional(boolean), "continuous_usage_stats": optional(boolean)},
        )
    ),
    "user": optional(text),
    "metadata": anything,
    "ignore_eos": optional(boolean),
    "include_stop_str_in_output": optional(boolean),
    "skip_special_tokens": optional(boolean),
    "return_tokens_as_token_ids": optional(boolean),
    "add_generation_prompt": optional(boolean),
    "continue_final_message": optional(boolean),
    "guided_json": anything,
    "guided_regex": optional(text),
    "guided_choice": optional(sequence(text)),
    "guided_grammar": optional(text),
    "guided_decoding_backend": optional(text),
    "guided_whitespace_pattern": optional(text),
    "no_stop_trim": optional(boolean),
    "nvext": NVEXT,
}

_DIRECT = frozenset(
    ("nvext", "return_tokens_as_token_ids", "chat_template_args", "chat_template_kwargs", "thinking_token_budget")
)

CHAT = Struct(
    "NvCreateChatCompletionRequest",
    ("messages", "model"),
    {
        **_SHARED,
        "messages": sequence(message),
        "logprobs": optional(boolean),
        "top_logprobs": optional(integer("u8")),
        "max_completion_tokens": optional(integer("u32")),
        "store": optional(boolean),
        "reasoning_effort": optional(serde.variant("none", "minimal", "low", "medium", "high", "xhigh", "max")),
        "service_tier": optional(serde.variant("auto", "default", "flex", "scale", "priority", "fast")),
        "modalities": optional(sequence(serde.variant("text", "audio"))),
        "prediction": anything,
        "audio": anything,
        "response_format": optional(serde.struct("ResponseFormat", {"type": anything}, required=("type",))),
        "tools": optional(sequence(_TOOL)),
        "tool_choice": optional(untagged("ChatCompletionToolChoiceOption", _is_tool_choice)),
        "parallel_tool_calls": optional(boolean),
        "function_call": anything,
        "functions": anything,
        "web_search_options": optional(serde.struct("WebSearchOptions", {})),
        "prompt_cache_key": optional(text),
        "chat_template_args": optional(mapping),
        "chat_template_kwargs": optional(mapping),
        "media_io_kwargs": anything,
        "mm_processor_kwargs": anything,
        "thinking_token_budget": optional(integer("u32")),
    },
    direct=_DIRECT,
)

COMPLETIONS = Struct(
    "NvCreateCompletionRequest",
    ("model", "prompt"),
    {
        **_SHARED,
        "prompt": untagged("Prompt", _is_prompt),
        "logprobs": optional(integer("u8")),
        "echo": _echo,
        "best_of": optional(integer("u8")),
        "suffix": optional(text),
        "prompt_embeds": optional(text),
    },
    direct=_DIRECT | {"no_stop_trim"},
)

PASSED_THROUGH = frozenset(("cache_salt", "stop_token_ids", "logprob_token_ids", "allowed_token_ids", "thinking"))
"""Members that no struct knows and that are not refused either."""

_INPUT_TYPES = frozenset(
    ("message", "function_call", "function_call_output", "reasoning", "item_reference", "custom_tool_call")
)
_PART_TYPES = frozenset(("input_text", "output_text", "input_image", "input_file", "refusal", "reasoning_text"))


def _input(value: Any) -> str | None:
    if isinstance(value, str):
        return None
    if not isinstance(value, list):
        return "input must be a string or an array of input items"
    fits = all(_is_item(row) for row in cast("list[Any]", value))
    return None if fits else "data did not match any variant of untagged enum InputItemWire"


def _is_item(row: Any) -> bool:
    if not isinstance(row, dict):
        return False
    members = cast("dict[str, Any]", row)
    kind: Any = members.get("type", "message")
    if not isinstance(kind, str) or kind not in _INPUT_TYPES:
        return False
    content: Any = members.get("content", "")
    if isinstance(content, list):
        kinds = [as_object(part).get("type") for part in cast("list[Any]", content)]
        return all(isinstance(kind, str) and kind in _PART_TYPES for kind in kinds)
    return isinstance(content, str) or content is None


RESPONSES = Struct(
    "NvCreateResponse",
    ("input",),
    {
        "model": optional(text),
        "input": _input,
        "include": optional(sequence(serde.variant(*INCLUDES))),
        "max_output_tokens": optional(integer("u32")),
        "max_tool_calls": optional(integer("u32")),
        "top_logprobs": optional(integer("u8")),
        "temperature": optional(number),
        "top_p": optional(number),
        "stream": optional(boolean),
        "store": optional(boolean),
        "background": optional(boolean),
        "instructions": optional(text),
        "metadata": optional(mapping),
        "parallel_tool_calls": optional(boolean),
        "previous_response_id": optional(text),
        "prompt_cache_key": optional(text),
        "safety_identifier": optional(text),
        "service_tier": optional(serde.variant("auto", "default", "flex", "scale", "priority")),
        "truncation": optional(serde.variant("auto", "disabled")),
        "user": optional(text),
        "tools": optional(sequence(mapping)),
        "tool_choice": optional(untagged("ToolChoiceParam", lambda value: isinstance(value, str | dict))),
        "reasoning": optional(serde.struct("Reasoning", {})),
        "text": optional(serde.struct("ResponseTextParam", {})),
        "chat_template_args": optional(mapping),
        "chat_template_kwargs": optional(mapping),
        "nvext": NVEXT,
    },
    direct=_DIRECT,
)

_SAMPLING: Mapping[str, Check] = {
    "max_tokens": optional(integer("u32")),
    "min_tokens": optional(integer("u32")),
    "logprobs": optional(integer("u32")),
    "prompt_logprobs": optional(integer("u32")),
    "temperature": optional(number),
    "top_p": optional(number),
    "top_k": optional(integer("i32")),
    "seed": optional(integer("i64")),
    "ignore_eos": optional(boolean),
}


def _named(name: str, check: Check, value: Any) -> str | None:
    said = check(value)
    return None if said is None else f"{name}: {said}"


def _sampling_params(value: Any) -> str | None:
    if not isinstance(value, dict):
        return _named("sampling_params", serde.struct("SamplingParams", {}), value)
    for name, check in _SAMPLING.items():
        said = check(cast("dict[str, Any]", value).get(name))
        if said is not None:
            return f"sampling_params: sampling_params.{name}: {said}"
    return None


GENERATE = Struct(
    "VllmGenerateRequest",
    ("token_ids", "sampling_params"),
    {
        "token_ids": lambda value: _named("token_ids", sequence(integer("u32")), value),
        "sampling_params": _sampling_params,
        "model": optional(text),
        "request_id": optional(text),
        "stream": optional(boolean),
    },
)

SGLANG = Struct(
    "SglangGenerateRequest",
    ("input_ids",),
    {
        "input_ids": sequence(integer("u32")),
        "model": optional(text),
        "stream": optional(boolean),
        "return_logprob": optional(boolean),
        "sampling_params": optional(mapping),
    },
)

MESSAGES = Struct(
    "AnthropicCreateMessageRequest",
    ("model", "messages", "max_tokens"),
    {
        "model": text,
        "messages": sequence(mapping),
        "max_tokens": integer("u32"),
        "stream": optional(boolean),
        "temperature": optional(number),
        "top_p": optional(number),
        "stop_sequences": optional(sequence(text)),
        "tools": optional(sequence(mapping)),
    },
)

COUNTED = Struct("AnthropicCountTokensRequest", ("model", "messages"), MESSAGES.members)
