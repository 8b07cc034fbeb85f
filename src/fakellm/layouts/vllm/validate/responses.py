"""What /v1/responses takes: its fields by version, its own checks in the order they run, and the handler's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any, cast

from ..options import V12, V16, V20, V24, V28, V32
from .chat import payload_fields, transfer_fields
from .checks import Body, Check, Rules, as_list, as_object, check_cache_salt
from .containers import Checked, ListOf, MapOf, Maybe, Union
from .conversation import check_made
from .flaws import Crash, Objection, Path
from .handler import EMPTY_CONVERSATION, prompt_objection
from .kinds import Flaws, Kind, Number, OneOf, Whole
from .parts import (
    FLAG,
    INT64_MAX,
    INT64_MIN,
    MAYBE_FLAG,
    MAYBE_NUMBER,
    MAYBE_OBJECT,
    MAYBE_TEXT,
    MAYBE_WHOLE,
    MAYBE_WHOLES,
    NUMBER,
    OBJECT,
    SEED,
    TEXT,
    WHOLE,
    WRAPPED,
    stop_strings,
    structured_outputs,
    top_logprobs,
    xargs,
)
from .records import REQUIRED, Field, Record, Version
from .sdk_shapes import HISTORY_ITEM, INPUT_ITEM, OLD_INPUT_ITEM, TOOL, TOOL_CHOICE

INCLUDABLE = (
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    "reasoning.encrypted_content",
)
_SUMMARY = Maybe(OneOf(("auto", "concise", "detailed")))
_REASONING = Record(
    "Reasoning",
    (
        Field("context", Maybe(OneOf(("auto", "current_turn", "all_turns")))),
        Field("effort", Maybe(OneOf(("none", "minimal", "low", "medium", "high", "xhigh", "max")))),
        Field("generate_summary", _SUMMARY),
        Field("mode", MAYBE_TEXT),
        Field("summary", _SUMMARY),
    ),
)
_TEXT_FORMAT = Union(
    (
        Record("ResponseFormatText", (Field("type", OneOf(("text",)), REQUIRED),)),
        Record(
            "ResponseFormatTextJSONSchemaConfig",
            (
                Field("name", TEXT, REQUIRED),
                Field("schema", OBJECT, REQUIRED),
                Field("type", OneOf(("json_schema",)), REQUIRED),
                Field("description", MAYBE_TEXT),
                Field("strict", MAYBE_FLAG),
            ),
        ),
        Record("ResponseFormatJSONObject", (Field("type", OneOf(("json_object",)), REQUIRED),)),
    )
)
_TEXT = Record(
    "ResponseTextConfig",
    (Field("format", Maybe(_TEXT_FORMAT)), Field("verbosity", Maybe(OneOf(("low", "medium", "high"))))),
)
_TIER = OneOf(("auto", "default", "flex", "scale", "priority"))


def _penalty(name: str) -> Field:
    return Field(name, Maybe(Number(-2.0, 2.0)), since=V20)


def _input(version: Version) -> Kind:
    if version < V12:
        return Union((TEXT, ListOf(OLD_INPUT_ITEM)))
    label = f"function-before[_default_input_image_details(), {INPUT_ITEM.label}]"
    item = Checked(INPUT_ITEM, before=_with_details, label=label) if version >= V32 else INPUT_ITEM
    return Union((TEXT, ListOf(item)))


def _or_nothing(value: Any, path: Path, flaws: Flaws) -> Any:
    """An empty stop string counts as none."""
    return value or ()


def _with_details(item: Any) -> Any:
    """0.32 takes an image without detail as ``auto``."""
    content = as_object(item).get("content")
    if not isinstance(content, list):
        return item
    parts = [
        {**part, "detail": "auto"} if part.get("type") == "input_image" and part.get("detail") is None else given
        for given, part in ((given, as_object(given)) for given in as_list(content))
    ]
    return {**item, "content": parts}


@cache
def fields(version: Version, stop_limit: int) -> Record:
    """The request as a version knows it."""
    return Record(
        WRAPPED,
        (
            Field("background", MAYBE_FLAG, False),
            Field("include", Maybe(ListOf(OneOf(INCLUDABLE)))),
            Field("input", _input(version), REQUIRED),
            Field("instructions", MAYBE_TEXT),
            Field("max_output_tokens", MAYBE_WHOLE),
            Field("max_tool_calls", MAYBE_WHOLE),
            Field("metadata", Maybe(MapOf(TEXT))),
            Field("model", MAYBE_TEXT),
            Field("logit_bias", Maybe(MapOf(NUMBER)), since=V16),
            Field("parallel_tool_calls", MAYBE_FLAG, True),
            Field("previous_response_id", MAYBE_TEXT),
            Field("prompt", MAYBE_OBJECT),
            Field("reasoning", Maybe(_REASONING)),
            Field("include_reasoning", FLAG, True, since=V28),
            Field("service_tier", _TIER, "auto"),
            Field("store", MAYBE_FLAG, True),
            Field("stream", MAYBE_FLAG, False),
            Field("temperature", MAYBE_NUMBER),
            Field("text", Maybe(_TEXT)),
            Field("tool_choice", TOOL_CHOICE, "auto"),
            Field("tools", ListOf(TOOL), ()),
            Field("top_logprobs", top_logprobs(version), 0),
            Field("top_p", MAYBE_NUMBER),
            Field("top_k", MAYBE_WHOLE, since=V16),
            Field("min_p", MAYBE_NUMBER, since=V32),
            Field("truncation", Maybe(OneOf(("auto", "disabled"))), "disabled"),
            Field("user", MAYBE_TEXT),
            Field("skip_special_tokens", FLAG, True, since=V16),
            Field("include_stop_str_in_output", FLAG, False, since=V16),
            _penalty("presence_penalty"),
            _penalty("frequency_penalty"),
            Field("prompt_cache_key", MAYBE_TEXT, since=V16),
            Field("watermarking", MAYBE_FLAG, since=V32),
            Field("request_id", TEXT),
            Field("session_id", MAYBE_TEXT, since=V28),
            Field("media_io_kwargs", Maybe(MapOf(OBJECT)), since=V20),
            Field("mm_processor_kwargs", MAYBE_OBJECT),
            Field("priority", WHOLE, 0, until=V20),
            Field("priority", Whole(INT64_MIN, INT64_MAX), 0, since=V20),
            *payload_fields(),
            transfer_fields(version)[0],
            Field("enable_response_messages", FLAG, False, since=V12),
            Field("previous_input_messages", Maybe(ListOf(HISTORY_ITEM)), since=V12),
            Field("structured_outputs", Maybe(structured_outputs(version)), since=V20),
            Field("repetition_penalty", MAYBE_NUMBER, since=V16),
            Field("seed", SEED, since=V16),
            Field("stop", Checked(stop_strings(version, stop_limit), after=_or_nothing), (), since=V16),
            Field("stop_token_ids", MAYBE_WHOLES, (), since=V32),
            Field("ignore_eos", FLAG, False, since=V16),
            Field("vllm_xargs", xargs(lists=True), since=V16),
            Field("kv_transfer_params", MAYBE_OBJECT, since=V20),
            Field("ec_transfer_params", MAYBE_OBJECT, since=V28),
            Field("chat_template_kwargs", MAYBE_OBJECT, since=V24),
        ),
    ).at(version)


def check_tools(body: Body, rules: Rules) -> None:
    """From 0.20: without tools the choice becomes none; required and named choices need their tools."""
    if rules.version < V20:
        return
    given: Any = body.get("tools")
    if given is not None and not isinstance(given, list | str | dict):
        raise Crash("TypeError", f"object of type '{type(given).__name__}' has no len()")
    tools = list(cast("Sequence[Any]", given or ()))
    choice = body.get("tool_choice", "auto")
    named_kinds = ("function", "custom") if rules.version >= V32 else ("function",)
    named = as_object(choice).get("type") in named_kinds
    if not tools:
        if choice in ("auto", "none"):
            body["tool_choice"] = "none"
        elif choice == "required":
            raise Objection("Tool choice 'required' must be specified with 'tools' parameter.", "tool_choice")
        elif named:
            raise Objection("Tool choice 'function' not found in 'tools' parameter.", "tool_choice")
    elif named and as_object(choice).get("name") not in _tool_names(tools):
        raise Objection("Tool choice 'function' not found in 'tools' parameter.", "tool_choice")


def _tool_names(tools: list[Any]) -> set[Any]:
    names: set[Any] = set()
    for tool in map(as_object, tools):
        if tool.get("type") == "namespace":
            inner = [as_object(item).get("name") for item in as_list(tool.get("tools"))]
            names.update(inner)
            names.update(f"{tool.get('name')}__{name}" for name in inner)
        else:
            names.add(tool.get("name"))
    return names - {None, ""}


def check_tool_formats(body: Body, rules: Rules) -> None:
    """0.32 takes custom tools as free text only."""
    if rules.version < V32:
        return
    for tool in map(as_object, as_list(body.get("tools"))):
        if tool.get("type") == "custom" and as_object(tool.get("format")).get("type") == "grammar":
            raise Objection(
                "Custom tools with a grammar format are not supported; only free-form text custom tools are accepted.",
                "tools",
            )


def complete_input(body: Body, rules: Rules) -> None:
    """From 0.12 an object as input is walked over: its names become the items. From 0.24 what a client copied from an
    answer gets the members that it left out."""
    given = body.get("input")
    if rules.version >= V12 and isinstance(given, dict):
        body["input"] = list(as_object(given))
    elif rules.version >= V24 and isinstance(given, list):
        body["input"] = [_completed(item) for item in as_list(given)]


def _completed(given: Any) -> Any:
    item = as_object(given)
    if item.get("type") == "reasoning":
        return {**item, "id": item.get("id", "rs_")}
    if item.get("type") != "message" or item.get("role") != "assistant" or not isinstance(item.get("content"), list):
        return given
    parts: list[Any] = [_annotated(part) for part in as_list(item["content"])]
    return {**item, "id": item.get("id", "msg_"), "status": item.get("status", "completed"), "content": parts}


def _annotated(given: Any) -> Any:
    part = as_object(given)
    lacks = part.get("type") == "output_text" and "annotations" not in part
    return {**part, "annotations": []} if lacks else given


def check_prompt_template(body: Body, rules: Rules) -> None:
    if body.get("prompt") is not None:
        raise Objection("prompt template is not supported", "prompt")


def check_background(body: Body, rules: Rules) -> None:
    if body.get("background") and not body.get("store", True):
        text = "background can only be used when `store` is true"
        raise Objection(text, "background", plain=rules.version < V20)


def checks(version: Version) -> tuple[Check, ...]:
    """The checks in the order they run."""
    salt = (partial(check_cache_salt, typed_from=V20),)
    return (
        check_tools,
        check_tool_formats,
        complete_input,
        *(salt if version < V28 else ()),
        check_prompt_template,
        check_background,
        *(salt if version >= V32 else ()),
    )


NO_STORE = (
    "This vLLM engine does not support `store=True` and therefore does not support the background mode. To enable "
    "these features, set the environment variable `VLLM_ENABLE_RESPONSES_API_STORE=1` when launching the vLLM server."
)


def invalid_request(text: str, param: str | None, rules: Rules, status: int = 400) -> Objection:
    """An objection of the Responses handler, which has a type of its own; versions up to 0.12 name no param."""
    shown = param if rules.version >= V16 else None
    return Objection(text, answered=True, status=status, kind="invalid_request_error", param=shown)


def check_store(values: Mapping[str, Any], rules: Rules) -> None:
    """background needs a server that stores."""
    if values.get("store") and values.get("background") and not rules.settings.responses_store:
        raise invalid_request(NO_STORE, "background", rules)


def check_history(values: Mapping[str, Any], rules: Rules) -> None:
    if values.get("previous_input_messages") and values.get("previous_response_id"):
        text = "Only one of `previous_input_messages` and `previous_response_id` can be set."
        raise invalid_request(text, "previous_response_id", rules)


def check_response_tools(values: Mapping[str, Any], rules: Rules) -> None:
    """0.10.2 takes tools for gpt-oss alone."""
    if rules.version < V12 and values.get("tools"):
        raise prompt_objection("Tool use is not supported in Responses API without Harmony", rules)


def check_input_parts(values: Mapping[str, Any], rules: Rules) -> None:
    """The parts of every message in the input, as a chat looks at them."""
    for item in map(as_object, as_list(values.get("input"))):
        if item.get("role") is not None:
            check_made({"messages": [{"role": item["role"], "content": item.get("content")}]}, rules)


def check_empty_input(values: Mapping[str, Any], rules: Rules) -> None:
    """An empty input makes an empty conversation, unless something stands before it."""
    before = ("previous_response_id", "instructions", "previous_input_messages")
    if values.get("input") == [] and not any(values.get(name) for name in before):
        raise prompt_objection(EMPTY_CONVERSATION, rules, cause=EMPTY_CONVERSATION)
