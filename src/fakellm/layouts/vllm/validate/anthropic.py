"""What /v1/messages and /v1/messages/count_tokens take: their fields by version. Knows no spelling.

The handler's own refusals have Anthropic's shape there, those of a flawed body have OpenAI's: see ``apis``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

from ..options import V16, V20, V24, V28, V32
from .chat import payload_fields, transfer_fields
from .checks import Rules, as_object
from .containers import Checked, ListOf, Maybe, Union
from .flaws import Flaw, FlawedBody, Path
from .handler import check_tool_parsing
from .kinds import Flaws, Kind, OneOf, Whole
from .parts import (
    MAYBE_FLAG,
    MAYBE_NUMBER,
    MAYBE_OBJECT,
    MAYBE_TEXT,
    MAYBE_WHOLE,
    OBJECT,
    TEXT,
    WHOLE,
    value_flaw,
    xargs,
)
from .records import REQUIRED, Field, Record, Version

_BLOCKS: tuple[tuple[Version, tuple[str, ...]], ...] = (
    (V32, ("tool_reference", "thinking", "redacted_thinking", "tool_addition", "tool_removal")),
    (V24, ("tool_reference", "thinking", "redacted_thinking")),
    (V20, ("thinking", "redacted_thinking")),
    ((), ()),
)
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_DISPLAYS = Maybe(OneOf(("summarized", "omitted", "updates")))


def _since(version: Version) -> tuple[str, ...]:
    more = next(words for since, words in _BLOCKS if version >= since)
    return ("text", "image", "tool_use", "tool_result", *more)


_TOOL_CHANGE = "function-after[validate_tool_change(), AnthropicContentBlock]"


def _block(version: Version) -> Kind:
    label = _TOOL_CHANGE if version >= V32 else "AnthropicContentBlock"
    return Record(
        label,
        (
            Field("type", OneOf(_since(version)), REQUIRED),
            Field("text", MAYBE_TEXT),
            Field("source", MAYBE_OBJECT),
            Field("id", MAYBE_TEXT),
            Field("tool_use_id", MAYBE_TEXT, since=V20),
            Field("name", MAYBE_TEXT),
            Field("input", MAYBE_OBJECT),
            Field("content", Maybe(Union((TEXT, ListOf(OBJECT))))),
            Field("is_error", MAYBE_FLAG),
            Field("tool_name", MAYBE_TEXT, since=V24),
            Field("thinking", MAYBE_TEXT, since=V20),
            Field("signature", MAYBE_TEXT, since=V20),
            Field("data", MAYBE_TEXT, since=V20),
        ),
    ).at(version)


def _message(version: Version) -> Kind:
    roles = ("user", "assistant", "system") if version >= V24 else ("user", "assistant")
    return Record(
        "AnthropicMessage",
        (
            Field("role", OneOf(roles), REQUIRED),
            Field("content", Union((TEXT, ListOf(_block(version)))), REQUIRED),
        ),
    )


def _tool(version: Version) -> Kind:
    return Record(
        "AnthropicTool",
        (
            Field("name", TEXT, REQUIRED),
            Field("description", MAYBE_TEXT),
            Field("input_schema", OBJECT, REQUIRED),
            Field("strict", MAYBE_FLAG, since=V24),
            Field("defer_loading", MAYBE_FLAG, since=V24),
        ),
    ).at(version)


def _tool_choice(version: Version) -> Kind:
    words = ("auto", "any", "tool", "none") if version > V16 else ("auto", "any", "tool")
    record = Record(
        "AnthropicToolChoice",
        (
            Field("type", OneOf(words), REQUIRED),
            Field("name", MAYBE_TEXT),
            Field("disable_parallel_tool_use", MAYBE_FLAG, since=V28),
        ),
    ).at(version)
    return Checked(record, after=_named_tool, label=record.label) if version > V16 else record


def _named_tool(value: Any, path: Path, flaws: Flaws) -> Any:
    given = as_object(value)
    if given.get("type") == "tool" and not given.get("name"):
        flaws.append(value_flaw("tool_choice.name is required when type is 'tool'", path, value))
    return value


def _output_config() -> Kind:
    schema = Record(
        "AnthropicJsonOutputFormat",
        (Field("schema", MAYBE_OBJECT), Field("type", OneOf(("json_schema",)), "json_schema")),
    )
    return Maybe(
        Record("AnthropicOutputConfig", (Field("effort", Maybe(OneOf(_EFFORTS))), Field("format", Maybe(schema))))
    )


_THINKING: Mapping[str, tuple[Field, ...]] = {
    "enabled": (Field("budget_tokens", Whole(1024), REQUIRED), Field("display", _DISPLAYS)),
    "disabled": (),
    "adaptive": (Field("display", _DISPLAYS),),
}


class _Thinking:
    """A thinking configuration: which fields it has is told by its type (a tagged union)."""

    label = "tagged-union"

    def exact(self, value: Any) -> bool:
        return isinstance(value, dict)

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        given = as_object(value)
        tag = given.get("type")
        if not isinstance(value, dict):
            message = "Input should be a valid dictionary or object to extract fields from"
            flaws.append(Flaw("model_attributes_type", path, message, value))
        elif "type" not in given:
            context = {"discriminator": "'type'"}
            message = "Unable to extract tag using discriminator 'type'"
            flaws.append(Flaw("union_tag_not_found", path, message, value, context))
        elif tag not in _THINKING:
            expected = ", ".join(repr(name) for name in _THINKING)
            message = f"Input tag '{tag}' found using 'type' does not match any of the expected tags: {expected}"
            context = {"discriminator": "'type'", "tag": str(tag), "expected_tags": expected}
            flaws.append(Flaw("union_tag_invalid", path, message, value, context))
        else:
            return Record(str(tag), _THINKING[str(tag)]).check(value, (*path, str(tag)), flaws)
        return cast("Any", value)


def _refused(test: Callable[[Any], bool], text: str) -> Callable[[Any, Path, Flaws], Any]:
    def check(value: Any, path: Path, flaws: Flaws) -> Any:
        if test(value):
            flaws.append(value_flaw(text, path, value))
        return value

    return check


_MODEL = Checked(TEXT, after=_refused(lambda value: not value, "Model is required"))
_MAX_TOKENS = Checked(WHOLE, after=_refused(lambda value: value <= 0, "max_tokens must be positive"))


@cache
def messages_fields(version: Version, stop_limit: int) -> Record:
    """The body of /v1/messages as a version knows it."""
    stops = ListOf(TEXT, at_most=stop_limit) if version >= V28 else ListOf(TEXT)
    salt, kv, ec = transfer_fields(version)
    return Record(
        "AnthropicMessagesRequest",
        (
            Field("model", _MODEL, REQUIRED),
            Field("messages", ListOf(_message(version)), REQUIRED),
            Field("max_tokens", _MAX_TOKENS, REQUIRED),
            Field("metadata", MAYBE_OBJECT),
            Field("output_config", _output_config(), since=V24),
            Field("thinking", Maybe(_Thinking()), since=V32),
            Field("stop_sequences", Maybe(stops)),
            Field("stream", MAYBE_FLAG, False),
            Field("system", Maybe(Union((TEXT, ListOf(_block(version)))))),
            Field("temperature", MAYBE_NUMBER),
            Field("tool_choice", Maybe(_tool_choice(version))),
            Field("tools", Maybe(ListOf(_tool(version)))),
            Field("top_k", MAYBE_WHOLE),
            Field("top_p", MAYBE_NUMBER),
            *payload_fields(),
            Field("cache_salt", salt.kind, since=V28),
            Field("watermarking", MAYBE_FLAG, since=V32),
            Field("kv_transfer_params", kv.kind, since=V20),
            Field("ec_transfer_params", ec.kind, since=V28),
            Field("vllm_xargs", xargs(lists=True), since=V32),
            Field("chat_template_kwargs", MAYBE_OBJECT, since=V20),
        ),
    ).at(version)


def check_thinking(sent: Mapping[str, Any], values: Mapping[str, Any], rules: Rules) -> None:
    """0.32: thinking has to leave room for an answer, unless only the prompt's cache is wanted."""
    if rules.version < V32:
        return
    thinking = as_object(sent.get("thinking"))
    prefills = as_object(values.get("kv_transfer_params")).get("do_remote_decode")
    if (
        thinking.get("type") == "enabled"
        and not prefills
        and values["thinking"]["budget_tokens"] >= values["max_tokens"]
    ):
        text = "thinking.budget_tokens must be less than max_tokens"
        raise FlawedBody([value_flaw(text, ("body",), sent)])


@cache
def count_fields(version: Version, stop_limit: int) -> Record:
    """The body of /v1/messages/count_tokens (from 0.20)."""
    return Record(
        "AnthropicCountTokensRequest",
        (
            Field("model", _MODEL, REQUIRED),
            Field("messages", ListOf(_message(version)), REQUIRED),
            Field("output_config", _output_config(), since=V32),
            Field("system", Maybe(Union((TEXT, ListOf(_block(version)))))),
            Field("thinking", Maybe(_Thinking()), since=V32),
            Field("tool_choice", Maybe(_tool_choice(version))),
            Field("tools", Maybe(ListOf(_tool(version)))),
            Field("chat_template_kwargs", MAYBE_OBJECT),
        ),
    ).at(version)


def check_tools(values: Mapping[str, Any], rules: Rules) -> None:
    """Tools without a choice mean ``auto``, which needs a parser, as in a chat."""
    choice = as_object(values.get("tool_choice")).get("type")
    if values.get("tools") is not None and choice in (None, "auto"):
        check_tool_parsing({"tool_choice": "auto"}, rules)
