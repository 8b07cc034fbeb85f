"""The shape of a /v1/responses body, version by version. Data."""

from __future__ import annotations

from .kinds import ANY, BOOL, DICT, FLOAT, INT, OBJECT, STR, either, listed, literal, nullable
from .schema import REQUIRED, Field, Kind, Model
from .traits import Trait, Traits

LOGPROBS = "message.output_text.logprobs"
"""The include that asks for the scores of the text."""

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
_NEW_ITEMS = f"ResponseInputMessageParam,ResponseFunctionCallInputParam,ResponseOutputMessage,{_ITEMS}"


def body_model(traits: Traits) -> Model:
    """The body at one version."""
    names = _NEW_ITEMS if traits.has(Trait.RESPONSES_STORE) else _ITEMS
    items = Kind(f"list[union[{names}]]", listed(OBJECT).take)
    shapes = (listed(OBJECT), items) if traits.has(Trait.RESPONSES_STORE) else (items, listed(OBJECT))
    return Model(
        "ResponsesRequest",
        (
            Field("background", nullable(BOOL), False),
            Field("include", nullable(listed(literal(*_INCLUDES)))),
            Field("input", either(STR, *shapes), REQUIRED),
            Field("instructions", nullable(STR)),
            Field("max_output_tokens", nullable(INT)),
            Field("metadata", nullable(DICT)),
            Field("model", nullable(STR)),
            Field("parallel_tool_calls", nullable(BOOL), True),
            Field("previous_response_id", nullable(STR)),
            Field("reasoning", nullable(DICT)),
            Field("store", nullable(BOOL), True),
            Field("stream", nullable(BOOL), False),
            Field("temperature", nullable(FLOAT)),
            Field("text", nullable(DICT)),
            Field("tool_choice", either(literal("auto", "required", "none"), OBJECT), "auto"),
            Field("tools", listed(DICT), ()),
            Field("top_logprobs", nullable(INT), 0),
            Field("top_p", nullable(FLOAT)),
            Field("truncation", nullable(literal("auto", "disabled")), "disabled"),
            Field("user", nullable(STR)),
            Field("chat_template_kwargs", nullable(DICT)),
            Field("request_id", STR),
            Field("priority", INT, 0),
            Field("frequency_penalty", FLOAT, 0.0),
            Field("presence_penalty", FLOAT, 0.0),
            Field("stop", nullable(either(STR, listed(STR)))),
            Field("top_k", nullable(INT)),
            Field("min_p", nullable(FLOAT)),
            Field("repetition_penalty", nullable(FLOAT)),
            Field("service_tier", ANY),
        ),
    )
