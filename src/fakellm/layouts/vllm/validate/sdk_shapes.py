"""Shapes of the OpenAI SDK (3.57) that a Responses body is checked by: tools, tool choices, input items.

One row a shape: its name, then ``field:kind`` for every field (``field-:kind`` may be left out).
Kinds: ``s`` text, ``i`` integer, ``b`` boolean, ``list``, ``iter`` (a lazy list), ``dict``, ``any``, ``=a|b`` one of
some words, ``parts`` a list of content parts, ``s/parts`` text or such a list; ``?`` = may be null. An indented line
goes on with its row. Fields of other kinds may hold anything.
"""

from __future__ import annotations

import re

from .containers import ListOf, MapOf, Maybe, Union
from .kinds import Kind, OneOf
from .parts import ANYTHING, FLAG, OBJECT, TEXT, WHOLE
from .records import OMITTED, REQUIRED, Field, Record

_TOOLS = """
FunctionTool name:s parameters-:dict? strict-:b? type:=function allowed_callers-:list? async-:b? defer_loading-:b?
    description-:s? output_schema-:dict?
FileSearchTool type:=file_search vector_store_ids:list max_num_results-:i?
ComputerTool type:=computer
ComputerUsePreviewTool display_height:i display_width:i environment:=windows|mac|linux|ubuntu|browser
    type:=computer_use_preview
WebSearchTool type:=web_search|web_search_2025_08_26 external_web_access-:b? search_context_size-:=low|medium|high?
Mcp server_label:s type:=mcp allowed_callers-:list? authorization-:s?
    connector_id-:=connector_dropbox|connector_gmail|connector_googlecalendar|connector_googledrive|
    connector_microsoftteams|connector_outlookcalendar|connector_outlookemail|connector_sharepoint?
    defer_loading-:b? headers-:dict? server_description-:s? server_url-:s? tunnel_id-:s?
CodeInterpreter container:any type:=code_interpreter allowed_callers-:list?
ProgrammaticToolCalling type:=programmatic_tool_calling
ImageGeneration type:=image_generation action-:=generate|edit|auto? background-:=transparent|opaque|auto?
    complexity-:=low|medium|high? frame_count-:i? frame_duration_ms-:i? input_fidelity-:=high|low?
    moderation-:=auto|low? output_compression-:i? output_format-:=png|webp|jpeg|gif|svg? partial_images-:i?
    quality-:=low|medium|high|xhigh|max|auto?
LocalShell type:=local_shell
FunctionShellTool type:=shell allowed_callers-:list?
CustomTool name:s type:=custom allowed_callers-:list? async-:b? defer_loading-:b? description-:s?
NamespaceTool description:s name:s tools:list type:=namespace
ToolSearchTool type:=tool_search description-:s? execution-:=server|client?
WebSearchPreviewTool type:=web_search_preview|web_search_preview_2025_03_11 search_content_types-:list?
    search_context_size-:=low|medium|high?
ApplyPatchTool type:=apply_patch allowed_callers-:list?
"""

_CHOICES = """
ToolChoiceAllowed mode:=auto|required tools:list type:=allowed_tools
ToolChoiceTypes type:=file_search|web_search_preview|computer|computer_use_preview|computer_use|
    web_search_preview_2025_03_11|image_generation|code_interpreter
ToolChoiceFunction name:s type:=function
ToolChoiceMcp server_label:s type:=mcp name-:s?
ToolChoiceCustom name:s type:=custom
ToolChoiceSpecificProgrammaticToolCallingParam type:=programmatic_tool_calling
ToolChoiceApplyPatch type:=apply_patch
ToolChoiceShell type:=shell
"""

_ITEMS = """
EasyInputMessageParam content:s/parts role:=user|assistant|system|developer phase-:=commentary|final_answer?
    type-:=message
Message content:parts role:=user|system|developer status-:=in_progress|completed|incomplete type-:=message
ResponseOutputMessageParam id:s content:iter role:=assistant status:=in_progress|completed|incomplete
    type:=message phase-:=commentary|final_answer?
ResponseFileSearchToolCallParam id:s queries:any status:=in_progress|searching|completed|incomplete|failed
    type:=file_search_call results-:iter?
ResponseComputerToolCallParam id:s call_id:s pending_safety_checks:iter status:=in_progress|completed|incomplete
    type:=computer_call actions-:list
ComputerCallOutput call_id:s output:any type:=computer_call_output id-:s? acknowledged_safety_checks-:iter?
    status-:=in_progress|completed|incomplete?
ResponseFunctionWebSearchParam id:s action:any status:=in_progress|searching|completed|incomplete|failed
    type:=web_search_call
ResponseFunctionToolCallParam async-:b arguments:s call_id:s name:s type:=function_call id-:s namespace-:s
    status-:=in_progress|completed|incomplete
FunctionCallOutput output:any type:=function_call_output id-:s? call_id-:s? name-:s? namespace-:s?
    status-:=in_progress|completed|incomplete?
ToolSearchCall arguments:any type:=tool_search_call id-:s? call_id-:s? execution-:=server|client
    status-:=in_progress|completed|incomplete?
ResponseToolSearchOutputItemParamParam tools:iter type:=tool_search_output id-:s? call_id-:s?
    execution-:=server|client status-:=in_progress|completed|incomplete?
AdditionalTools role:=developer tools:iter type:=additional_tools id-:s?
ResponseConfigurationUpdateItemParamParam type:=configuration_update id-:s?
ResponseReasoningItemParam id:s summary:iter type:=reasoning content-:iter encrypted_content-:s?
    status-:=in_progress|completed|incomplete
ResponseCompactionItemParamParam encrypted_content:s type:=compaction id-:s?
ImageGenerationCall id:s result:s? status:=in_progress|completed|generating|failed type:=image_generation_call
    action-:=generate|edit|auto? background-:=transparent|opaque|auto? output_format-:=png|webp|jpeg|gif|svg?
    quality-:=low|medium|high|xhigh|max|auto? revised_prompt-:s?
ResponseCodeInterpreterToolCallParam id:s code:s? container_id:s outputs:iter?
    status:=in_progress|completed|incomplete|interpreting|failed type:=code_interpreter_call
LocalShellCall id:s action:any call_id:s status:=in_progress|completed|incomplete type:=local_shell_call
LocalShellCallOutput id:s output:s type:=local_shell_call_output status-:=in_progress|completed|incomplete?
ShellCall action:any call_id:s type:=shell_call id-:s? status-:=in_progress|completed|incomplete?
ShellCallOutput call_id:s output:iter type:=shell_call_output id-:s? max_output_length-:i?
    status-:=in_progress|completed|incomplete?
ApplyPatchCall call_id:s operation:any status:=in_progress|completed type:=apply_patch_call id-:s?
ApplyPatchCallOutput call_id:s status:=completed|failed type:=apply_patch_call_output id-:s? output-:s?
McpListTools id:s server_label:s tools:iter type:=mcp_list_tools error-:s?
McpApprovalRequest id:s arguments:s name:s server_label:s type:=mcp_approval_request
McpApprovalResponse approval_request_id:s approve:b type:=mcp_approval_response id-:s? reason-:s?
McpCall id:s arguments:s name:s server_label:s type:=mcp_call approval_request_id-:s? output-:s?
    status-:=in_progress|completed|incomplete|calling|failed
ResponseCustomToolCallOutputParam call_id:s output:any type:=custom_tool_call_output id-:s
ResponseCustomToolCallParam async-:b call_id:s input:s name:s type:=custom_tool_call id-:s namespace-:s
CompactionTrigger type:=compaction_trigger id-:s?
ItemReference id:s type-:=item_reference?
Program id:s call_id:s code:s fingerprint:s type:=program
ProgramOutput id:s call_id:s result:s status:=completed|incomplete type:=program_output
"""

_OUTPUTS = """
ResponseOutputMessage id:s content:list role:=assistant status:=in_progress|completed|incomplete type:=message
    phase-:=commentary|final_answer?
ResponseFileSearchToolCall id:s queries:list status:=in_progress|searching|completed|incomplete|failed
    type:=file_search_call results-:list?
ResponseFunctionToolCall arguments:s call_id:s name:s type:=function_call id-:s? async-:b? namespace-:s?
    status-:=in_progress|completed|incomplete?
ResponseFunctionToolCallOutputItem id:s output:any status:=in_progress|completed|incomplete
    type:=function_call_output call_id-:s? created_by-:s? name-:s? namespace-:s?
ResponseFunctionWebSearch id:s action:any status:=in_progress|searching|completed|failed|incomplete
    type:=web_search_call
ResponseComputerToolCall id:s call_id:s pending_safety_checks:list status:=in_progress|completed|incomplete
    type:=computer_call actions-:list?
ResponseComputerToolCallOutputItem id:s call_id:s output:any status:=completed|incomplete|failed|in_progress
    type:=computer_call_output acknowledged_safety_checks-:list? created_by-:s?
ResponseReasoningItem id:s summary:list type:=reasoning content-:list? encrypted_content-:s?
    status-:=in_progress|completed|incomplete?
Program id:s call_id:s code:s fingerprint:s type:=program
ProgramOutput id:s call_id:s result:s status:=completed|incomplete type:=program_output
ResponseToolSearchCall id:s arguments:any call_id-:s? execution:=server|client
    status:=in_progress|completed|incomplete type:=tool_search_call created_by-:s?
ResponseToolSearchOutputItem id:s call_id-:s? execution:=server|client status:=in_progress|completed|incomplete
    tools:list type:=tool_search_output created_by-:s?
AdditionalTools id:s role:=unknown|user|assistant|system|critic|discriminator|developer|tool tools:list
    type:=additional_tools
ResponseCompactionItem id:s encrypted_content:s type:=compaction created_by-:s?
ImageGenerationCall id:s result-:s? status:=in_progress|completed|generating|failed type:=image_generation_call
    action-:=generate|edit|auto? background-:=transparent|opaque|auto? output_format-:=png|webp|jpeg|gif|svg?
    quality-:=low|medium|high|xhigh|max|auto? revised_prompt-:s?
ResponseCodeInterpreterToolCall id:s code-:s? container_id:s outputs-:list?
    status:=in_progress|completed|incomplete|interpreting|failed type:=code_interpreter_call
LocalShellCall id:s action:any call_id:s status:=in_progress|completed|incomplete type:=local_shell_call
LocalShellCallOutput id:s output:s type:=local_shell_call_output status-:=in_progress|completed|incomplete?
ResponseFunctionShellToolCall id:s action:any call_id:s status:=in_progress|completed|incomplete type:=shell_call
    created_by-:s?
ResponseFunctionShellToolCallOutput id:s call_id:s max_output_length-:i? output:list
    status:=in_progress|completed|incomplete type:=shell_call_output created_by-:s?
ResponseApplyPatchToolCall id:s call_id:s operation:any status:=in_progress|completed type:=apply_patch_call
    created_by-:s?
ResponseApplyPatchToolCallOutput id:s call_id:s status:=completed|failed type:=apply_patch_call_output
    created_by-:s? output-:s?
McpCall id:s arguments:s name:s server_label:s type:=mcp_call approval_request_id-:s? output-:s?
    status-:=in_progress|completed|incomplete|calling|failed?
McpListTools id:s server_label:s tools:list type:=mcp_list_tools error-:s?
McpApprovalRequest id:s arguments:s name:s server_label:s type:=mcp_approval_request
McpApprovalResponse id:s approval_request_id:s approve:b type:=mcp_approval_response reason-:s?
ResponseCustomToolCall call_id:s input:s name:s type:=custom_tool_call id-:s? async-:b? namespace-:s?
ResponseCustomToolCallOutputItem call_id:s output:any type:=custom_tool_call_output id:s
    status:=in_progress|completed|incomplete created_by-:s?
"""

_PARTS = """
ResponseInputTextParam text:s type:=input_text
ResponseInputImageParam detail:=low|high|auto|original type:=input_image file_id-:s? image_url-:s?
ResponseInputFileParam type:=input_file detail-:=auto|low|high file_data-:s file_id-:s? file_url-:s filename-:s
"""

_KINDS: dict[str, Kind] = {
    "s": TEXT,
    "i": WHOLE,
    "b": FLAG,
    "list": ListOf(ANYTHING),
    "iter": ListOf(ANYTHING, lazy=True),
    "dict": OBJECT,
    "any": ANYTHING,
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


_KINDS["parts"] = ListOf(Union(shapes(_PARTS, "dictionary")))
_KINDS["s/parts"] = Union((TEXT, _KINDS["parts"]))

TOOL = Union(shapes(_TOOLS, "model"))
"""One tool of a Responses request."""

TOOL_CHOICE = Union((OneOf(("none", "auto", "required")), *shapes(_CHOICES, "model")))

_SENT = shapes(_ITEMS, "dictionary")
_RETURNED = shapes(_OUTPUTS, "model")

INPUT_ITEM = Union((*_SENT, Union(_RETURNED)))
"""One input item: what the SDK lets a client send, or what a server sent."""

_OLD_RETURNED = [
    next(s for s in _RETURNED if s.name == f"Response{word}") for word in ("ReasoningItem", "FunctionToolCall")
]
OLD_INPUT_ITEM = Union((*_SENT, *_OLD_RETURNED))
"""The same in 0.10.2, which takes back reasoning and function calls alone."""

HISTORY_ITEM = Union((*shapes("Message author:any content:any", "model"), MapOf(ANYTHING, key=ANYTHING)))
"""One earlier message, as the server handed it out."""
