"""The body of /v1/chat/completions, version by version: members with their kinds and defaults, in pydantic's order."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from .body_parts import (
    ADAPTED,
    KEYED,
    LIMITED,
    ROUTING,
    TOLD,
    TOOL_CHOICE,
    Rows,
    response_format,
    rows_of,
    since,
    stream_options,
    tool,
    until,
    with_rank,
    with_schema,
    words,
)
from .kinds import ANY, BOOL, DICT, FLOAT, INT, OBJECT, STR, either, listed, literal, mapped, nullable
from .loose import elements, members
from .message_body import messages
from .schema import REQUIRED, Field, Members, Model
from .thinking import effort_field, prepared
from .traits import Traits, Version

_MORE_TOLD: Rows = (
    since(13, "return_prompt_token_ids", BOOL, default=False),
    since(17, "return_token_ids", BOOL, default=False),
    since(13, "return_meta_info", BOOL, default=False),
    since(20, "return_input_ids_in_sglext", BOOL, default=False),
    since(20, "return_output_ids_in_sglext", BOOL, default=False),
    since(18, "return_sampling_mask", BOOL, default=False),
    since(21, "sampling_logprobs_mode", nullable(literal("selected", "support"))),
    since(21, "return_flat_raw_output_top_logprobs", BOOL, default=False),
    since(21, "return_flat_raw_top_logprobs_b64", BOOL, default=True),
)
_SAMPLED: Rows = (
    until(6, "top_k", INT, -1),
    since(6, "top_k", nullable(INT)),
    until(6, "min_p", FLOAT, 0.0),
    since(6, "min_p", nullable(FLOAT)),
    Field("min_tokens", INT, 0),
    *LIMITED,
    until(6, "repetition_penalty", FLOAT, 1.0),
    since(6, "repetition_penalty", nullable(FLOAT)),
    Field("stop_token_ids", nullable(listed(INT))),
    *words("stop_regex", 6),
    Field("no_stop_trim", BOOL, False),
    Field("ignore_eos", BOOL, False),
    Field("continue_final_message", BOOL, False),
    Field("skip_special_tokens", BOOL, True),
)
_PROCESSED: Rows = (
    Field("separate_reasoning", BOOL, True),
    Field("stream_reasoning", BOOL, True),
    Field("chat_template_kwargs", nullable(DICT)),
    since(9, "max_dynamic_patch", nullable(INT)),
    since(9, "min_dynamic_patch", nullable(INT)),
    since(12, "use_audio_in_video", BOOL, default=False),
    since(17, "images_config", nullable(DICT)),
    since(20, "video_config", nullable(DICT)),
    since(21, "mm_processor_kwargs", nullable(DICT)),
    since(6, "custom_logit_processor", nullable(either(listed(nullable(STR)), STR))),
    since(6, "custom_params", nullable(DICT)),
    since(21, "watermark", nullable(OBJECT)),
    since(13, "input_ids", nullable(listed(INT))),
)
_TASKS = literal("action", "query", "authority", "domain", "title", "read_url")
NOT_ASKED: tuple[tuple[str, Any], ...] = (
    *((name, False) for name in ("return_prompt_token_ids", "return_token_ids", "return_meta_info")),
    *((name, False) for name in ("return_input_ids_in_sglext", "return_output_ids_in_sglext")),
    *((name, False) for name in ("return_cached_tokens_details", "return_routed_experts", "return_sampling_mask")),
    *((name, None) for name in ("stop_regex", "custom_params", "input_ids", "reasoning")),
    ("return_flat_raw_output_top_logprobs", False),
)
"""Members that routes read and some versions do not have, with what their absence means."""


@cache
def chat_model(version: Version) -> Model:
    """The body of a chat request at one version."""
    traits = Traits.of(version)
    fields = rows_of(
        version,
        ROUTING,
        _opening(version),
        TOLD,
        _MORE_TOLD,
        (
            effort_field(traits),
            since(21, "thinking", ANY),
            since(12, "task", nullable(_TASKS)),
        ),
        _SAMPLED,
        ADAPTED,
        _PROCESSED,
        KEYED,
        (since(9, "data_parallel_rank", nullable(INT)), Field("reasoning", ANY)),
    )
    return Model("ChatCompletionRequest", fields, prepare=_prepare(traits), objects_only=True)


def _opening(version: Version) -> Rows:
    return (
        Field("messages", messages(version), REQUIRED),
        Field("model", STR, "default"),
        Field("frequency_penalty", FLOAT, 0.0),
        Field("logit_bias", nullable(mapped(FLOAT))),
        Field("logprobs", BOOL, False),
        Field("top_logprobs", nullable(INT)),
        Field("max_tokens", nullable(INT)),
        Field("max_completion_tokens", nullable(INT)),
        Field("n", INT, 1),
        Field("presence_penalty", FLOAT, 0.0),
        Field("response_format", response_format(version)),
        Field("seed", nullable(INT)),
        *words("stop"),
        Field("stream", BOOL, False),
        Field("stream_options", stream_options(version)),
        until(6, "temperature", FLOAT, 0.7),
        since(6, "temperature", nullable(FLOAT)),
        until(6, "top_p", FLOAT, 1.0),
        since(6, "top_p", nullable(FLOAT)),
        Field("user", nullable(STR)),
        Field("tools", nullable(listed(tool(version)))),
        Field("tool_choice", TOOL_CHOICE, "auto"),
        since(10, "parallel_tool_calls", BOOL, default=True),
    )


def _prepare(traits: Traits) -> Callable[[Members], Members]:
    """What the server makes of a body before it looks at its members."""

    def prepare(values: Members) -> Members:
        return with_rank(_with_choice(prepared(with_schema(values), traits)))

    return prepare


def _with_choice(values: Members) -> Members:
    if values.get("tool_choice") is not None:
        return values
    offered = values.get("tools") is not None or any(
        str(members(message).get("role")).lower() in ("root", "system", "developer") and members(message).get("tools")
        for message in elements(values.get("messages"))
    )
    return {**values, "tool_choice": "auto" if offered else "none"}
