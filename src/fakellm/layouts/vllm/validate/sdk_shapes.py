"""Shapes of the OpenAI SDK (3.57) that a Responses body is checked by: tools, tool choices, input items.

One row a shape: name, then ``field:kind`` for every field that is required (``field-:kind`` may be left out).
Kinds: ``s`` text, ``i`` integer, ``b`` boolean, ``list``, ``iter`` (a lazy list), ``dict``, ``any``, ``=a|b`` one of
some words, ``s/list`` text or a list; ``?`` = may be null. An indented line goes on with its row. What else a shape may
hold is not looked at here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .kinds import Kind, ListOf, MapOf, Maybe, OneOf, Union
from .parts import ANYTHING, FLAG, OBJECT, TEXT, WHOLE
from .records import OMITTED, REQUIRED, Field, Record

_TOOLS = """
FunctionTool name:s type:=function
FileSearchTool type:=file_search vector_store_ids:list
ComputerTool type:=computer
ComputerUsePreviewTool display_height:i display_width:i environment:=windows|mac|linux|ubuntu|browser
    type:=computer_use_preview
WebSearchTool type:=web_search|web_search_2025_08_26
Mcp server_label:s type:=mcp
CodeInterpreter container:any type:=code_interpreter
ProgrammaticToolCalling type:=programmatic_tool_calling
ImageGeneration type:=image_generation
LocalShell type:=local_shell
FunctionShellTool type:=shell
CustomTool name:s type:=custom
NamespaceTool description:s name:s tools:list type:=namespace
ToolSearchTool type:=tool_search
WebSearchPreviewTool type:=web_search_preview|web_search_preview_2025_03_11
ApplyPatchTool type:=apply_patch
"""

_CHOICES = """
ToolChoiceAllowed mode:=auto|required tools:list type:=allowed_tools
ToolChoiceTypes type:=file_search|web_search_preview|computer|computer_use_preview|computer_use|
    web_search_preview_2025_03_11|image_generation|code_interpreter
ToolChoiceFunction name:s type:=function
ToolChoiceMcp server_label:s type:=mcp
ToolChoiceCustom name:s type:=custom
ToolChoiceSpecificProgrammaticToolCallingParam type:=programmatic_tool_calling
ToolChoiceApplyPatch type:=apply_patch
ToolChoiceShell type:=shell
"""

_ITEMS = """
EasyInputMessageParam content:s/list role:=user|assistant|system|developer type-:=message
Message content:list role:=user|system|developer type-:=message
ResponseOutputMessageParam id:s content:iter role:=assistant status:=in_progress|completed|incomplete type:=message
ResponseFileSearchToolCallParam id:s queries:any status:=in_progress|searching|completed|incomplete|failed
    type:=file_search_call
ResponseComputerToolCallParam id:s call_id:s pending_safety_checks:iter status:=in_progress|completed|incomplete
    type:=computer_call
ComputerCallOutput call_id:s output:any type:=computer_call_output
ResponseFunctionWebSearchParam id:s action:any status:=in_progress|searching|completed|incomplete|failed
    type:=web_search_call
ResponseFunctionToolCallParam arguments:s call_id:s name:s type:=function_call
FunctionCallOutput output:any type:=function_call_output
ToolSearchCall arguments:any type:=tool_search_call
ResponseToolSearchOutputItemParamParam tools:iter type:=tool_search_output
AdditionalTools role:=developer tools:iter type:=additional_tools
ResponseConfigurationUpdateItemParamParam type:=configuration_update
ResponseReasoningItemParam id:s summary:iter type:=reasoning
ResponseCompactionItemParamParam encrypted_content:s type:=compaction
ImageGenerationCall id:s result:s? status:=in_progress|completed|generating|failed type:=image_generation_call
ResponseCodeInterpreterToolCallParam id:s code:s? container_id:s outputs:iter?
    status:=in_progress|completed|incomplete|interpreting|failed type:=code_interpreter_call
LocalShellCall id:s action:any call_id:s status:=in_progress|completed|incomplete type:=local_shell_call
LocalShellCallOutput id:s output:s type:=local_shell_call_output
ShellCall action:any call_id:s type:=shell_call
ShellCallOutput call_id:s output:iter type:=shell_call_output
ApplyPatchCall call_id:s operation:any status:=in_progress|completed type:=apply_patch_call
ApplyPatchCallOutput call_id:s status:=completed|failed type:=apply_patch_call_output
McpListTools id:s server_label:s tools:iter type:=mcp_list_tools
McpApprovalRequest id:s arguments:s name:s server_label:s type:=mcp_approval_request
McpApprovalResponse approval_request_id:s approve:b type:=mcp_approval_response
McpCall id:s arguments:s name:s server_label:s type:=mcp_call
ResponseCustomToolCallOutputParam call_id:s output:any type:=custom_tool_call_output
ResponseCustomToolCallParam call_id:s input:s name:s type:=custom_tool_call
CompactionTrigger type:=compaction_trigger
ItemReference id:s type-:=item_reference?
Program id:s call_id:s code:s fingerprint:s type:=program
ProgramOutput id:s call_id:s result:s status:=completed|incomplete type:=program_output
"""

_OUTPUTS = """
ResponseOutputMessage id:s content:list role:=assistant status:=in_progress|completed|incomplete type:=message
ResponseFileSearchToolCall id:s queries:list status:=in_progress|searching|completed|incomplete|failed
    type:=file_search_call
ResponseFunctionToolCall arguments:s call_id:s name:s type:=function_call
ResponseFunctionToolCallOutputItem id:s output:any status:=in_progress|completed|incomplete type:=function_call_output
ResponseFunctionWebSearch id:s action:any status:=in_progress|searching|completed|failed|incomplete
    type:=web_search_call
ResponseComputerToolCall id:s call_id:s pending_safety_checks:list status:=in_progress|completed|incomplete
    type:=computer_call
ResponseComputerToolCallOutputItem id:s call_id:s output:any status:=completed|incomplete|failed|in_progress
    type:=computer_call_output
ResponseReasoningItem id:s summary:list type:=reasoning
Program id:s call_id:s code:s fingerprint:s type:=program
ProgramOutput id:s call_id:s result:s status:=completed|incomplete type:=program_output
ResponseToolSearchCall id:s arguments:any execution:=server|client status:=in_progress|completed|incomplete
    type:=tool_search_call
ResponseToolSearchOutputItem id:s execution:=server|client status:=in_progress|completed|incomplete tools:list
    type:=tool_search_output
AdditionalTools id:s role:=unknown|user|assistant|system|critic|discriminator|developer|tool tools:list
    type:=additional_tools
ResponseCompactionItem id:s encrypted_content:s type:=compaction
ImageGenerationCall id:s status:=in_progress|completed|generating|failed type:=image_generation_call
ResponseCodeInterpreterToolCall id:s container_id:s status:=in_progress|completed|incomplete|interpreting|failed
    type:=code_interpreter_call
LocalShellCall id:s action:any call_id:s status:=in_progress|completed|incomplete type:=local_shell_call
LocalShellCallOutput id:s output:s type:=local_shell_call_output
ResponseFunctionShellToolCall id:s action:any call_id:s status:=in_progress|completed|incomplete type:=shell_call
ResponseFunctionShellToolCallOutput id:s call_id:s output:list status:=in_progress|completed|incomplete
    type:=shell_call_output
ResponseApplyPatchToolCall id:s call_id:s operation:any status:=in_progress|completed type:=apply_patch_call
ResponseApplyPatchToolCallOutput id:s call_id:s status:=completed|failed type:=apply_patch_call_output
McpCall id:s arguments:s name:s server_label:s type:=mcp_call
McpListTools id:s server_label:s tools:list type:=mcp_list_tools
McpApprovalRequest id:s arguments:s name:s server_label:s type:=mcp_approval_request
McpApprovalResponse id:s approval_request_id:s approve:b type:=mcp_approval_response
ResponseCustomToolCall call_id:s input:s name:s type:=custom_tool_call
ResponseCustomToolCallOutputItem call_id:s output:any type:=custom_tool_call_output id:s
    status:=in_progress|completed|incomplete
"""

_KINDS: Mapping[str, Kind] = {
    "s": TEXT,
    "i": WHOLE,
    "b": FLAG,
    "list": ListOf(ANYTHING),
    "iter": ListOf(ANYTHING, lazy=True),
    "dict": OBJECT,
    "any": ANYTHING,
    "s/list": Union((TEXT, ListOf(ANYTHING))),
}


def _kind(code: str) -> Kind:
    if code.endswith("?"):
        return Maybe(_kind(code[:-1]))
    return OneOf(tuple(code[1:].split("|"))) if code.startswith("=") else _KINDS[code]


def _field(word: str, absent: object) -> Field:
    name, _, code = word.partition(":")
    optional = name.endswith("-")
    return Field(name.removesuffix("-"), _kind(code), absent if optional else REQUIRED)


def shapes(rows: str, nature: str) -> tuple[Record, ...]:
    """The records of a table of rows; ``nature`` as :class:`Record` has it."""
    absent = OMITTED if nature == "dictionary" else None
    lines = [row.split() for row in re.split(r"\n(?! )", rows.strip().replace("|\n    ", "|"))]
    return tuple(Record(line[0], tuple(_field(word, absent) for word in line[1:]), nature) for line in lines)


TOOL = Union(shapes(_TOOLS, "model"))
"""One tool of a Responses request."""

TOOL_CHOICE = Union((OneOf(("none", "auto", "required")), *shapes(_CHOICES, "model")))

INPUT_ITEM = Union((*shapes(_ITEMS, "dictionary"), Union(shapes(_OUTPUTS, "model"))))
"""One input item: what the SDK lets a client send, or what a server sent."""

HISTORY_ITEM = Union((*shapes("Message author:any content:any", "model"), MapOf(ANYTHING, key="any")))
"""One earlier message, as the server handed it out."""
