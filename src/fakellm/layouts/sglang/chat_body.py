"""The shape of a /v1/chat/completions body: members, messages and tools, with what pydantic would say against them.

Data and the validators that raise its sentences; nothing here knows what a member does.
"""

from __future__ import annotations

from typing import Any

from .schema import (
    ANY,
    BOOL,
    DICT,
    FLOAT,
    INT,
    REQUIRED,
    STR,
    Field,
    Kind,
    Model,
    Place,
    either,
    listed,
    literal,
    model,
    nullable,
)
from .thinking import effort_kind
from .traits import Traits, Version

_ROLES: tuple[tuple[Version, str], ...] = (
    ((0, 5, 1), "'system', 'assistant', 'tool', or 'function'"),
    ((0, 5, 9), "'system', 'developer', 'assistant', 'tool', or 'function'"),
    ((0, 5, 12), "'system', 'assistant', 'tool', 'function', 'developer', 'latest_reminder'"),
    ((0, 5, 22), "'system', 'assistant', 'tool', 'function', 'developer', 'latest_reminder', 'root'"),
)
"""The roles of messages that are not the user's, as the refusal lists them."""

_WRAPPED_SINCE: Version = (0, 5, 17)
_WRAPPER = "function-after[validate_thinking_parts_role(), {}]"

STREAM_OPTIONS = Model(
    "StreamOptions",
    (Field("include_usage", nullable(BOOL), False), Field("continuous_usage_stats", nullable(BOOL), False)),
)
_FUNCTION = Model(
    "Function",
    (
        Field("description", nullable(STR)),
        Field("name", STR, REQUIRED),
        Field("parameters", ANY),
        Field("strict", nullable(BOOL)),
    ),
    extra=True,
)
TOOL = Model("Tool", (Field("type", STR, "function"), Field("function", model(_FUNCTION), REQUIRED)), extra=True)
_CHOSEN = Model("ToolChoice", (Field("function", DICT, REQUIRED), Field("type", literal("function"), "function")))
RESPONSE_FORMAT = Model("ResponseFormat", (Field("type", STR, REQUIRED),), extra=True)
_CALLED = Model("ToolCall", (Field("function", DICT, REQUIRED),), extra=True)
_CONTENT = either(STR, listed(DICT))

_OF_SAMPLING = (
    Field("top_k", nullable(INT)),
    Field("min_p", nullable(FLOAT)),
    Field("min_tokens", INT, 0),
    Field("regex", nullable(STR)),
    Field("ebnf", nullable(STR)),
    Field("repetition_penalty", nullable(FLOAT)),
    Field("stop_token_ids", nullable(listed(INT))),
    Field("stop_regex", nullable(either(STR, listed(STR)))),
    Field("no_stop_trim", BOOL, False),
    Field("ignore_eos", BOOL, False),
    Field("continue_final_message", BOOL, False),
    Field("skip_special_tokens", BOOL, True),
)

_OF_ANSWERS = (
    Field("return_hidden_states", ANY, False),
    Field("return_routed_experts", BOOL, False),
    Field("return_cached_tokens_details", BOOL, False),
    Field("return_prompt_token_ids", BOOL, False),
    Field("return_token_ids", BOOL, False),
    Field("return_meta_info", BOOL, False),
    Field("return_input_ids_in_sglext", BOOL, False),
    Field("return_output_ids_in_sglext", BOOL, False),
    Field("return_sampling_mask", BOOL, False),
    Field("return_flat_raw_output_top_logprobs", BOOL, False),
)


def chat_model(version: Version) -> Model:
    """The body of a chat request at one version."""
    return Model(
        "ChatCompletionRequest",
        (
            Field("messages", listed(_message(version)), REQUIRED),
            Field("model", STR, "default"),
            Field("frequency_penalty", FLOAT, 0.0),
            Field("logit_bias", nullable(DICT)),
            Field("logprobs", BOOL, False),
            Field("top_logprobs", nullable(INT)),
            Field("max_tokens", nullable(INT)),
            Field("max_completion_tokens", nullable(INT)),
            Field("n", INT, 1),
            Field("presence_penalty", FLOAT, 0.0),
            Field("response_format", nullable(model(RESPONSE_FORMAT))),
            Field("seed", nullable(INT)),
            Field("stop", nullable(either(STR, listed(STR)))),
            Field("stream", BOOL, False),
            Field("stream_options", nullable(model(STREAM_OPTIONS))),
            Field("temperature", nullable(FLOAT)),
            Field("top_p", nullable(FLOAT)),
            Field("user", nullable(STR)),
            Field("tools", nullable(listed(model(TOOL)))),
            Field("tool_choice", nullable(either(model(_CHOSEN), literal("auto", "required", "none")))),
            Field("parallel_tool_calls", BOOL, True),
            *_OF_ANSWERS,
            Field("reasoning_effort", effort_kind(Traits.of(version))),
            Field("reasoning", ANY),
            *_OF_SAMPLING,
            Field("separate_reasoning", BOOL, True),
            Field("stream_reasoning", BOOL, True),
            Field("chat_template_kwargs", nullable(DICT)),
            Field("custom_params", nullable(DICT)),
            Field("input_ids", nullable(listed(INT))),
            Field("rid", nullable(either(listed(STR), STR))),
            Field("priority", nullable(INT)),
        ),
    )


def _message(version: Version) -> Kind:
    roles = next(text for since, text in reversed(_ROLES) if version >= since)
    known = frozenset(word.strip("' ") for word in roles.replace("or ", "").split(","))

    def check(role: Any) -> None:
        if not isinstance(role, str):
            raise ValueError("'role' must be a string")
        if role.lower() not in known:
            raise ValueError(f"'role' must be one of {roles} (case-insensitive).")

    generic = Model(
        "ChatCompletionMessageGenericParam",
        (
            Field("role", _lowered(), REQUIRED, check, early=True),
            Field("content", nullable(_CONTENT)),
            Field("tool_call_id", nullable(STR)),
            Field("name", nullable(STR)),
            Field("reasoning_content", nullable(STR)),
            Field("tool_calls", nullable(listed(model(_CALLED)))),
            Field("tools", nullable(listed(model(TOOL)))),
        ),
    )
    user = Model(
        "ChatCompletionMessageUserParam",
        (Field("role", literal("user"), REQUIRED), Field("content", _CONTENT, REQUIRED)),
    )
    wrapped = version >= _WRAPPED_SINCE
    return either(*(model(m, _WRAPPER.format(m.name) if wrapped else m.name) for m in (generic, user)))


def _lowered() -> Kind:
    def take(value: Any, place: Place) -> Any:
        return value.lower() if isinstance(value, str) else value

    return Kind("str", take)
