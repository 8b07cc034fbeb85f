"""What /v1/chat/completions takes: its fields by version, its own checks in the order they run.

Fields, types and their order were read off the request classes of the captured versions. Knows no HTTP and no
spelling.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, cast

from ..options import V12, V16, V20, V24, V28, V32
from .checks import (
    Body,
    Check,
    Rules,
    as_object,
    check_cache_salt,
    check_guided_count,
    check_integers,
    check_not_negative,
    check_prompt_logprobs,
    check_response_format,
    check_stream_options,
    check_structural_tag,
    check_structured_count,
    check_tool_usage,
)
from .containers import ListOf, MapOf, Maybe, Union
from .flaws import Crash, Objection
from .kinds import Kind, OneOf, Text, Whole
from .messages import chat_message
from .parts import (
    ANY_OBJECT,
    ANYTHING,
    FLAG,
    INT64_MAX,
    INT64_MIN,
    MAYBE_FLAG,
    MAYBE_NUMBER,
    MAYBE_OBJECT,
    MAYBE_TEXT,
    MAYBE_WHOLE,
    MAYBE_WHOLES,
    NAMED_TOOL,
    NUMBER,
    OBJECT,
    REPETITION,
    SEED,
    TEXT,
    TOOL,
    WHOLE,
    WRAPPED,
    penalty,
    response_format,
    stop_strings,
    stream_options,
    structured_outputs,
    thinking_budget,
    top_logprobs,
    xargs,
)
from .records import REQUIRED, Field, Record, Version

EFFORTS: tuple[tuple[Version, tuple[str, ...]], ...] = (
    (V24, ("none", "minimal", "low", "medium", "high", "xhigh", "max")),
    (V20, ("none", "low", "medium", "high")),
    ((), ("low", "medium", "high")),
)


def _effort(version: Version) -> Kind:
    words = next(words for since, words in EFFORTS if version >= since)
    return Maybe(OneOf(words))


def truncation(version: Version) -> Kind:
    return Maybe(Whole(-1, INT64_MAX if version >= V16 else None))


def _cache_salt(version: Version) -> Kind:
    if version < V28:
        return MAYBE_TEXT
    return Maybe(Text(1, 1024 if version >= V32 else None))


def logits_processors() -> Kind:
    constructor = Record(
        "LogitsProcessorConstructor",
        (Field("qualname", TEXT, REQUIRED), Field("args", Maybe(ListOf(ANYTHING))), Field("kwargs", MAYBE_OBJECT)),
        strict=True,
    )
    return Maybe(ListOf(Union((TEXT, constructor))))


@cache
def fields(version: Version, stop_limit: int) -> Record:
    """The request as a version knows it."""
    tool_choice = Maybe(Union((OneOf(("none",)), OneOf(("auto",)), OneOf(("required",)), NAMED_TOOL)))
    return Record(
        WRAPPED,
        (
            Field("messages", ListOf(chat_message(version)), REQUIRED),
            Field("model", MAYBE_TEXT),
            *penalty("frequency_penalty"),
            Field("logit_bias", Maybe(MapOf(NUMBER))),
            Field("logprobs", MAYBE_FLAG, False),
            Field("top_logprobs", top_logprobs(version), 0),
            Field("max_tokens", MAYBE_WHOLE),
            Field("max_completion_tokens", MAYBE_WHOLE),
            Field("n", MAYBE_WHOLE, 1),
            *penalty("presence_penalty"),
            Field("response_format", Maybe(response_format(version))),
            Field("seed", SEED),
            Field("stop", stop_strings(version, stop_limit), ()),
            Field("stream", MAYBE_FLAG, False),
            Field("stream_options", Maybe(stream_options(version))),
            Field("temperature", MAYBE_NUMBER),
            Field("top_p", MAYBE_NUMBER),
            Field("tools", Maybe(ListOf(TOOL))),
            Field("tool_choice", tool_choice, "none"),
            Field("reasoning_effort", _effort(version)),
            Field("thinking_token_budget", thinking_budget(version), since=V20),
            Field("include_reasoning", FLAG, True),
            Field("parallel_tool_calls", MAYBE_FLAG, version >= V12),
            Field("user", MAYBE_TEXT),
            Field("best_of", MAYBE_WHOLE, until=V12),
            Field("use_beam_search", FLAG, False),
            Field("top_k", MAYBE_WHOLE),
            Field("min_p", MAYBE_NUMBER),
            Field("repetition_penalty", MAYBE_NUMBER),
            Field("watermarking", MAYBE_FLAG, since=V32),
            Field("length_penalty", NUMBER, 1.0),
            Field("stop_token_ids", MAYBE_WHOLES, ()),
            Field("include_stop_str_in_output", FLAG, False),
            Field("ignore_eos", FLAG, False),
            Field("min_tokens", WHOLE, 0),
            Field("skip_special_tokens", FLAG, True),
            Field("spaces_between_special_tokens", FLAG, True),
            Field("truncate_prompt_tokens", truncation(version)),
            Field("truncation_side", Maybe(OneOf(("left", "right"))), since=V24),
            Field("prompt_logprobs", MAYBE_WHOLE),
            Field("logprob_token_ids", MAYBE_WHOLES, since=V28),
            Field("allowed_token_ids", MAYBE_WHOLES),
            Field("bad_words", ListOf(TEXT), ()),
            Field("echo", FLAG, False),
            Field("add_generation_prompt", FLAG, True),
            Field("continue_final_message", FLAG, False),
            Field("add_special_tokens", FLAG, False),
            Field("documents", Maybe(ListOf(MapOf(TEXT)))),
            Field("chat_template", MAYBE_TEXT),
            Field("chat_template_kwargs", MAYBE_OBJECT),
            Field("media_io_kwargs", Maybe(MapOf(OBJECT)), since=V20),
            Field("mm_processor_kwargs", MAYBE_OBJECT),
            *guided_fields(with_tag=True),
            Field("structured_outputs", Maybe(structured_outputs(version)), since=V12),
            *priority_fields(),
            *routing_fields(version),
            Field("return_prompt_text", MAYBE_FLAG, since=V24),
            Field("return_assistant_tokens_mask", FLAG, False, since=V28, until=V32),
            *payload_fields(),
            *transfer_fields(version),
            Field("vllm_xargs", xargs(lists=version >= V12)),
            Field("repetition_detection", Maybe(REPETITION), since=V20),
            Field("stream_interval", Maybe(Whole(1)), since=V28),
        ),
    ).at(version)


def guided_fields(*, with_tag: bool) -> tuple[Field, ...]:
    """0.10.2's guided decoding; ``with_tag``: chat alone has structural_tag."""
    tag = (Field("structural_tag", MAYBE_TEXT, until=V12),) if with_tag else ()
    return (
        Field("guided_json", Maybe(Union((TEXT, ANY_OBJECT, Record("BaseModel", ())))), until=V12),
        Field("guided_regex", MAYBE_TEXT, until=V12),
        Field("guided_choice", Maybe(ListOf(TEXT)), until=V12),
        Field("guided_grammar", MAYBE_TEXT, until=V12),
        *tag,
        Field("guided_decoding_backend", MAYBE_TEXT, until=V12),
        Field("guided_whitespace_pattern", MAYBE_TEXT, until=V12),
    )


def priority_fields() -> tuple[Field, ...]:
    return (
        Field("priority", WHOLE, 0, until=V20),
        Field("priority", Whole(INT64_MIN, INT64_MAX), 0, since=V20),
        Field("request_id", TEXT),
        Field("session_id", MAYBE_TEXT, since=V28),
    )


def routing_fields(version: Version) -> tuple[Field, ...]:
    return (
        Field("logits_processors", logits_processors(), until=V20),
        Field("return_tokens_as_token_ids", MAYBE_FLAG),
        Field("return_token_ids", MAYBE_FLAG),
        Field("routed_experts_prompt_start", Whole(0), 0, since=V28),
        Field("return_token_offsets", MAYBE_FLAG, False, since=V28),
    )


def payload_fields() -> tuple[Field, ...]:
    return (
        Field("mm_payload", OneOf(("tensors", "none")), "tensors", since=V32),
        Field("return_mm_kwargs", MAYBE_FLAG, since=V32),
    )


def transfer_fields(version: Version) -> tuple[Field, ...]:
    return (
        Field("cache_salt", _cache_salt(version)),
        Field("kv_transfer_params", MAYBE_OBJECT),
        Field("ec_transfer_params", MAYBE_OBJECT, since=V28),
    )


def check_messages_iterable(body: Body, rules: Rules) -> None:
    """From 0.20 the messages are walked over before they are looked at: what cannot be walked over is a crash."""
    messages = body.get("messages", [])
    if rules.version >= V20 and not isinstance(messages, list | str | dict):
        raise Crash("TypeError", f"'{type(messages).__name__}' object is not iterable")


def check_generation_prompt(body: Body, rules: Rules, *, typed: Version = V24) -> None:
    if body.get("continue_final_message") and body.get("add_generation_prompt"):
        raise Objection(
            "Cannot set both `continue_final_message` and `add_generation_prompt` to True.",
            plain=rules.version < typed,
        )


def check_logprobs(body: Body, rules: Rules) -> None:
    wanted = body.get("logprob_token_ids") if rules.version >= V28 else None
    if wanted and body.get("use_beam_search"):
        raise Objection("`logprob_token_ids` is not supported with beam search.", "logprob_token_ids")
    if wanted and not body.get("logprobs"):
        text = "when using `logprob_token_ids`, `logprobs` must be set to true."
        raise Objection(text, "logprob_token_ids")
    check_integers(body, rules, ("prompt_logprobs", "top_logprobs"))
    check_prompt_logprobs(body, rules)
    top = body.get("top_logprobs")
    if top is None:
        return
    check_not_negative("top_logprobs", top, rules)
    if (top == -1 or top > 0) and not body.get("logprobs"):
        raise Objection("when using `top_logprobs`, `logprobs` must be set to true.", "top_logprobs")


def check_structured_with_tools(body: Body, rules: Rules) -> None:
    """Constraints and a named tool exclude each other (0.24 and newer; before, the count came first and hid it)."""
    check_structured_count(body, rules)
    constraints = as_object(body.get("structured_outputs"))
    if rules.version < V24:
        return
    used = any(constraints.get(kind) is not None for kind in ("json", "regex", "choice"))
    if used and body.get("tool_choice", "none") not in ("none", "auto", "required"):
        raise Objection("You can only either use constraints for structured outputs or tools, not both.")


def normalise_messages(body: Body, rules: Rules) -> None:
    """From 0.20 tool calls become lists; from 0.24 a message's reasoning_content is taken as reasoning."""
    messages = body.get("messages")
    if rules.version < V20 or not isinstance(messages, list):
        return
    body["messages"] = [_renamed(_listed(message), rules) for message in cast("list[Any]", messages)]


def _listed(given: Any) -> Any:
    calls: Any = as_object(given).get("tool_calls")
    if calls is None or isinstance(calls, list):
        return given
    if not isinstance(calls, str | dict):
        raise Crash("TypeError", f"'{type(calls).__name__}' object is not iterable")
    return {**given, "tool_calls": list(cast("Iterable[Any]", calls))}


def _renamed(given: Any, rules: Rules) -> Any:
    message = as_object(given)
    if "reasoning_content" not in message or rules.version < V24:
        return given
    renamed = {name: value for name, value in message.items() if name != "reasoning_content"}
    if message["reasoning_content"] is not None and renamed.get("reasoning") is None:
        renamed["reasoning"] = message["reasoning_content"]
    return renamed


def checks(version: Version) -> tuple[Check, ...]:
    """The checks in the order they run (the class's last validator runs first)."""
    salt_first = (check_cache_salt,) if version < V28 else ()
    salt_last = (check_cache_salt,) if version >= V28 else ()
    return (
        check_messages_iterable,
        *salt_first,
        check_generation_prompt,
        check_tool_usage,
        check_guided_count,
        check_structured_with_tools,
        check_logprobs,
        check_stream_options,
        check_response_format,
        check_structural_tag,
        normalise_messages,
        *salt_last,
    )
