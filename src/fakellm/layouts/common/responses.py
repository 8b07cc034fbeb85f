"""What requests of the Responses API have in common, whoever answers: the words of ``include``, calls as messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SCORES = "message.output_text.logprobs"
"""The word of ``include`` that asks for logprobs."""

INCLUDES = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    SCORES,
)
"""All words of ``include``, in the order in which errors list them."""


def call_message(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """A ``function_call`` item as the chat message that says the same."""
    function = {"name": item.get("name"), "arguments": item.get("arguments")}
    call = {"id": item.get("call_id"), "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
