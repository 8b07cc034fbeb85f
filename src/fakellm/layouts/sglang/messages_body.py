"""The bodies of /v1/messages and of its token count, version by version: members in pydantic's order."""

from __future__ import annotations

from functools import cache
from typing import Any

from .body_parts import ROUTING, Rows, rows_of, since
from .kinds import BOOL, FLOAT, INT, OBJECT, STR, above, either, listed, literal, matching, model, nullable, tagged
from .loose import members
from .schema import REQUIRED, Field, Kind, Members, Model, Place
from .traits import Span, Version

_BLOCKS_SINCE: Version = (0, 5, 17)
_LEAST_BUDGET = 1024
_OLD_BLOCKS: tuple[tuple[Version, str], ...] = (
    ((0, 0, 0), "text image tool_use tool_result thinking redacted_thinking"),
    ((0, 5, 12), "text image tool_use tool_result tool_reference thinking redacted_thinking"),
)


@cache
def messages_model(version: Version) -> Model:
    """The body of a /v1/messages request at one version."""
    routed = tuple((Span((0, 5, 21), None, ""), field) for field in rows_of(version, ROUTING))
    fields = rows_of(
        version,
        routed,
        (
            Field("model", STR, REQUIRED, _some_model),
            Field("messages", listed(model(_message(version))), REQUIRED),
            Field("max_tokens", INT, REQUIRED, _positive),
            Field("metadata", nullable(OBJECT)),
            Field("stop_sequences", nullable(listed(STR))),
            Field("stream", nullable(BOOL), False),
            Field("system", _system(version)),
            Field("temperature", nullable(FLOAT)),
            since(17, "thinking", nullable(model(_THINKING))),
            Field("tool_choice", nullable(model(_choice(version)))),
            Field("tools", nullable(listed(_tool(version)))),
            Field("top_k", nullable(INT)),
            Field("top_p", nullable(FLOAT)),
        ),
        _attached(version),
    )
    return Model("AnthropicMessagesRequest", fields)


@cache
def count_model(version: Version) -> Model:
    """The body of a token count at one version."""
    fields = rows_of(
        version,
        (
            Field("model", STR, REQUIRED),
            Field("messages", listed(model(_message(version))), REQUIRED),
            Field("system", _system(version)),
            since(17, "thinking", nullable(model(_THINKING))),
            Field("tool_choice", nullable(model(_choice(version)))),
            Field("tools", nullable(listed(_tool(version)))),
        ),
        _attached(version),
    )
    return Model("AnthropicCountTokensRequest", fields)


def _attached(version: Version) -> Rows:
    return (since(17, "output_config", nullable(model(_output(version)))), since(17, "betas", nullable(listed(STR))))


def _message(version: Version) -> Model:
    roles = ("user", "assistant", "system") if version >= _BLOCKS_SINCE else ("user", "assistant")
    return Model(
        "AnthropicMessage",
        (Field("role", literal(*roles), REQUIRED), Field("content", either(STR, listed(_block(version))), REQUIRED)),
    )


def _system(version: Version) -> Kind:
    return nullable(either(STR, listed(_block(version))))


def _block(version: Version) -> Kind:
    """One block of content; up to 0.5.16 one shape for all."""
    if version >= _BLOCKS_SINCE:
        return tagged("type", {name: model(shape) for name, shape in _BLOCKS.items()})
    types = next(words for first, words in reversed(_OLD_BLOCKS) if version >= first).split()
    rows: Rows = (
        Field("type", literal(*types), REQUIRED),
        Field("text", nullable(STR)),
        Field("source", nullable(OBJECT)),
        Field("id", nullable(STR)),
        Field("tool_use_id", nullable(STR)),
        Field("name", nullable(STR)),
        Field("input", nullable(OBJECT)),
        Field("content", nullable(either(STR, listed(OBJECT)))),
        Field("is_error", nullable(BOOL)),
        Field("thinking", nullable(STR)),
        Field("signature", nullable(STR)),
    )
    return model(Model("AnthropicContentBlock", rows_of(version, rows), extra=True))


def _shape(name: str, kind: str, *fields: Field) -> Model:
    return Model(name, (Field("type", literal(kind), kind), *fields), extra=True)


def _take_inner(value: Any, place: Place) -> Any:
    """A block inside of a tool's result."""
    return _block(_BLOCKS_SINCE).take(value, place)


_SOURCE = nullable(either(OBJECT, STR))
_BLOCKS: dict[str, Model] = {
    "text": _shape("TextBlock", "text", Field("text", STR, REQUIRED)),
    "image": _shape("ImageBlock", "image", Field("source", _SOURCE)),
    "tool_use": _shape(
        "ToolUseBlock", "tool_use", Field("id", STR, REQUIRED), Field("name", STR, REQUIRED), Field("input", OBJECT, {})
    ),
    "tool_result": _shape(
        "ToolResultBlock",
        "tool_result",
        Field("tool_use_id", nullable(STR)),
        Field("id", nullable(STR)),
        Field("content", nullable(either(STR, listed(Kind("AnthropicContentBlock", _take_inner))))),
        Field("is_error", nullable(BOOL)),
    ),
    "tool_reference": _shape(
        "ToolReferenceBlock",
        "tool_reference",
        *(Field(name, nullable(STR)) for name in ("name", "tool_name", "id")),
    ),
    "search_result": _shape(
        "SearchResultBlock",
        "search_result",
        Field("source", nullable(either(STR, OBJECT))),
        Field("title", nullable(STR)),
        Field("content", nullable(listed(OBJECT))),
    ),
    "thinking": _shape(
        "ThinkingBlock", "thinking", Field("thinking", STR, REQUIRED), Field("signature", nullable(STR))
    ),
    "redacted_thinking": _shape("RedactedThinkingBlock", "redacted_thinking", Field("data", nullable(STR))),
}


def _tool(version: Version) -> Kind:
    """One offered tool: the client's own, or of a family that Anthropic's servers run."""
    rows: Rows = (
        since(17, "type", nullable(literal("custom"))),
        Field("name", STR, REQUIRED),
        Field("description", nullable(STR)),
        Field("input_schema", OBJECT, REQUIRED),
        since(21, "strict", BOOL, default=False),
        since(12, "defer_loading", nullable(BOOL)),
    )
    if version < _BLOCKS_SINCE:
        return model(Model("AnthropicTool", rows_of(version, rows)))
    families = {
        "custom": model(Model("AnthropicCustomTool", rows_of(version, rows))),
        **{name: model(shape) for name, shape in _FAMILIES.items()},
    }
    return tagged("_tool_discriminator()", families, _family)


def _family(tool: Any) -> str:
    kind: Any = members(tool).get("type")
    return next((name for name in _FAMILIES if isinstance(kind, str) and kind.startswith(f"{name}_")), "custom")


def _server_tool(name: str, family: str, names: Field, *fields: Field) -> Model:
    return Model(
        name,
        (
            Field("type", matching(rf"^{family}_\d{{8}}$"), REQUIRED),
            names,
            Field("description", nullable(STR)),
            Field("defer_loading", nullable(BOOL)),
            *fields,
        ),
    )


_FAMILIES: dict[str, Model] = {
    "web_search": _server_tool(
        "AnthropicWebSearchTool",
        "web_search",
        Field("name", literal("web_search"), "web_search"),
        Field("max_uses", nullable(INT)),
        Field("allowed_domains", nullable(listed(STR))),
        Field("blocked_domains", nullable(listed(STR))),
    ),
    "computer": _server_tool(
        "AnthropicComputerTool",
        "computer",
        Field("name", literal("computer"), "computer"),
        *(Field(name, nullable(INT)) for name in ("display_width_px", "display_height_px", "display_number")),
    ),
    "bash": _server_tool("AnthropicBashTool", "bash", Field("name", literal("bash"), "bash")),
    "text_editor": _server_tool(
        "AnthropicTextEditorTool",
        "text_editor",
        Field("name", literal("str_replace_editor", "str_replace_based_edit_tool"), REQUIRED),
    ),
}


def _choice(version: Version) -> Model:
    rows: Rows = (
        Field("type", literal("auto", "any", "tool", "none"), REQUIRED),
        Field("name", nullable(STR)),
        since(21, "disable_parallel_tool_use", BOOL, default=False),
    )
    return Model("AnthropicToolChoice", rows_of(version, rows))


def _output(version: Version) -> Model:
    budget = Model(
        "AnthropicTaskBudget",
        (
            Field("type", literal("tokens"), REQUIRED),
            Field("total", above(0), REQUIRED),
            Field("remaining", nullable(above(0, itself=True))),
        ),
    )
    shape = Model(
        "AnthropicJSONOutputFormat",
        (Field("type", literal("json_schema"), REQUIRED), Field("schema", OBJECT, REQUIRED)),
    )
    rows: Rows = (
        Field("effort", nullable(literal("minimal", "low", "medium", "high", "xhigh", "max"))),
        Field("task_budget", nullable(model(budget))),
        since(21, "format", nullable(model(shape))),
    )
    return Model("AnthropicOutputConfig", rows_of(version, rows))


def _thinking_shape(values: Members) -> None:
    kind, budget = values["type"], values["budget_tokens"]
    if kind == "enabled":
        if budget is None:
            raise ValueError("thinking.budget_tokens is required when thinking.type is 'enabled'")
        if budget < _LEAST_BUDGET:
            raise ValueError(f"thinking.budget_tokens must be >= {_LEAST_BUDGET} (got {budget})")
    elif budget is not None:
        raise ValueError(f"thinking.budget_tokens is not allowed when thinking.type is '{kind}'")
    elif kind == "disabled" and values["display"] is not None:
        raise ValueError("thinking.display is not allowed when thinking.type is 'disabled'")


_THINKING = Model(
    "AnthropicThinkingParam",
    (
        Field("type", literal("enabled", "disabled", "adaptive"), REQUIRED),
        Field("budget_tokens", nullable(INT)),
        Field("display", nullable(literal("summarized", "omitted"))),
    ),
    after=_thinking_shape,
)


def _some_model(name: Any) -> None:
    if not name:
        raise ValueError("Model is required")


def _positive(count: Any) -> None:
    if count <= 0:
        raise ValueError("max_tokens must be positive")
