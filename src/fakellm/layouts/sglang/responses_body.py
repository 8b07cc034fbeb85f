"""The body of /v1/responses, version by version: members with their kinds and defaults, in pydantic's order.

Items of the input are taken as they are: which of some thirty shapes an item has is not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from .body_parts import ROUTING, Rows, rows_of, since, until, with_rank, words
from .kinds import BOOL, FLOAT, INT, OBJECT, STR, either, listed, literal, model, nullable
from .loose import members
from .schema import REQUIRED, Field, Kind, Members, Model, Place
from .thinking import tiers
from .traits import Span, Trait, Traits, Version

LOGPROBS = "message.output_text.logprobs"
"""The include that asks for the scores of the text."""

NOT_ASKED: tuple[tuple[str, Any], ...] = (("text", None), ("chat_template_kwargs", None))
"""Members that the route reads and some versions do not have, with what their absence means."""

_INCLUDES = (
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    LOGPROBS,
    "reasoning.encrypted_content",
)
_ITEMS = (
    "EasyInputMessageParam,Message,ResponseOutputMessageParam,ResponseFileSearchToolCallParam,"
    "ResponseComputerToolCallParam,ComputerCallOutput,ResponseFunctionWebSearchParam,ResponseFunctionToolCallParam,"
    "FunctionCallOutput,ResponseReasoningItemParam,ImageGenerationCall,ResponseCodeInterpreterToolCallParam,LocalShellCall,"
    "LocalShellCallOutput,ShellCall,ShellCallOutput,ApplyPatchCall,ApplyPatchCallOutput,McpListTools,McpApprovalRequest,"
    "McpApprovalResponse,McpCall,ResponseCustomToolCallOutputParam,ResponseCustomToolCallParam,ItemReference,"
    "ResponseReasoningItem,ResponseFunctionToolCall"
)
_PHASED_ITEMS = f"ResponseInputMessageParam,ResponseOutputMessage,{_ITEMS}"
_NEW_ITEMS = f"ResponseInputMessageParam,ResponseFunctionCallInputParam,ResponseOutputMessage,{_ITEMS}"
_OLD_TOOLS = ("web_search_preview", "code_interpreter")
_TOOLS = (
    "function web_search web_search_preview code_interpreter file_search image_generation computer_use_preview "
    "local_shell mcp custom namespace tool_search"
).split()
_NEW_TOOLS = (*_TOOLS[:8], "shell", *_TOOLS[8:])
_TOOLS_SINCE: Version = (0, 5, 17)
_SHELL_SINCE: Version = (0, 5, 21)
_STYLES = nullable(literal("low", "medium", "high"))
_TEXT = Model("ResponseTextConfig", (Field("format", nullable(OBJECT)), Field("verbosity", _STYLES)), extra=True)


def _as_sent(value: Any, place: Place) -> Any:
    """Checked as pydantic does, and told again as it came."""
    model(_TEXT).take(value, place)
    return members(value)


_SERVICES = literal("auto", "default", "flex", "scale", "priority")


@cache
def body_model(traits: Traits) -> Model:
    """The body at one version."""
    version = traits.version
    fields = rows_of(
        version,
        tuple((Span(_ROUTED_SINCE, None, ""), field) for field in rows_of(version, ROUTING)),
        _opening(traits),
        _answer(version),
        (
            since(18, "chat_template_kwargs", nullable(OBJECT)),
            Field("request_id", STR),
            since(17, "session_id", nullable(STR)),
            Field("priority", INT, 0),
            Field("extra_key", nullable(STR)),
            Field("cache_salt", nullable(STR)),
            since(20, "data_parallel_rank", nullable(INT)),
            Field("frequency_penalty", FLOAT, 0.0),
            Field("presence_penalty", FLOAT, 0.0),
            *words("stop"),
            until(17, "top_k", INT, -1),
            since(17, "top_k", nullable(INT)),
            until(17, "min_p", FLOAT, 0.0),
            since(17, "min_p", nullable(FLOAT)),
            until(17, "repetition_penalty", FLOAT, 1.0),
            since(17, "repetition_penalty", nullable(FLOAT)),
        ),
    )
    return Model("ResponsesRequest", fields, prepare=with_rank if version >= _ROUTED_SINCE else None)


_ROUTED_SINCE: Version = (0, 5, 20)


def _opening(traits: Traits) -> Rows:
    newest = traits.has(Trait.RESPONSES_ENVELOPE)
    names = _NEW_ITEMS if newest else _PHASED_ITEMS if traits.has(Trait.RESPONSES_STORE) else _ITEMS
    items = Kind(f"list[union[{names}]]", listed(OBJECT).take)
    shapes = (listed(OBJECT), items) if newest else (items, listed(OBJECT))
    return (
        Field("background", nullable(BOOL), False),
        Field("include", nullable(listed(literal(*_INCLUDES)))),
        Field("input", either(STR, *(shapes if traits.has(Trait.RESPONSES_LOOSE_ITEMS) else (items,))), REQUIRED),
        Field("instructions", nullable(STR)),
        Field("max_output_tokens", nullable(INT)),
        Field("max_tool_calls", nullable(INT)),
        Field("metadata", nullable(OBJECT)),
        Field("model", nullable(STR)),
        Field("parallel_tool_calls", nullable(BOOL), True),
        Field("previous_response_id", nullable(STR)),
        Field("reasoning", nullable(model(_reasoning(traits)))),
        Field("service_tier", _SERVICES, "auto"),
    )


def _answer(version: Version) -> Rows:
    choices = literal("auto", "required", "none")
    return (
        Field("store", nullable(BOOL), True),
        Field("stream", nullable(BOOL), False),
        Field("temperature", nullable(FLOAT)),
        since(18, "text", nullable(Kind(_TEXT.name, _as_sent))),
        until(18, "tool_choice", choices, "auto"),
        since(18, "tool_choice", either(choices, OBJECT), "auto"),
        Field("tools", listed(model(_tool(version))), ()),
        Field("top_logprobs", nullable(INT), 0),
        Field("top_p", nullable(FLOAT)),
        Field("truncation", nullable(literal("auto", "disabled")), "disabled"),
        Field("user", nullable(STR)),
    )


def _reasoning(traits: Traits) -> Model:
    rows: Rows = (
        Field("effort", nullable(literal(*tiers(traits, single=True))), "medium"),
        since(17, "summary", nullable(literal("auto", "concise", "detailed"))),
    )
    return Model("ResponseReasoningParam", rows_of(traits.version, rows))


def _tool(version: Version) -> Model:
    if version < _TOOLS_SINCE:
        return Model("ResponseTool", (Field("type", literal(*_OLD_TOOLS), REQUIRED),))
    rows: Rows = (
        Field("type", literal(*(_NEW_TOOLS if version >= _SHELL_SINCE else _TOOLS)), REQUIRED),
        Field("name", nullable(STR)),
        Field("description", nullable(STR)),
        Field("parameters", nullable(OBJECT)),
        Field("strict", BOOL, False),
        Field("tools", nullable(listed(OBJECT))),
        since(21, "defer_loading", nullable(BOOL)),
        since(20, "format", nullable(OBJECT)),
    )
    return Model("ResponseTool", rows_of(version, rows), after=_named)


def _named(values: Members) -> None:
    if values["type"] == "function" and not values["name"]:
        raise ValueError("Function tools must include a name.")


def effective_choice(choice: Any) -> Any:
    """What the server makes of ``tool_choice``: of the objects only a named function or custom tool can be forced."""
    given = members(choice)
    if not isinstance(choice, Mapping):
        return choice
    name = given.get("name") or members(given.get("function")).get("name")
    if given.get("type") not in ("function", "custom") or not name:
        return "auto"
    return {"type": given["type"], "name": name}
