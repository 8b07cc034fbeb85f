"""The parts of a response's output: text parts, messages, reasoning, function calls, as JSON values in wire order."""

from __future__ import annotations

from typing import Any


def text_part(text: str, logprobs: list[Any] | None) -> dict[str, Any]:
    """A text part of an output message."""
    return {"annotations": [], "text": text, "type": "output_text", "logprobs": logprobs}


def function_item(name: str, call_id: str, function: str | None, arguments: str, status: str) -> dict[str, Any]:
    """A function call item."""
    return {
        "arguments": arguments,
        "call_id": call_id,
        "name": function,
        "type": "function_call",
        "id": name,
        "status": status,
    }


def message_item(
    name: str, text: str | None, status: str, phase: str | None, logprobs: list[Any] | None = None
) -> dict[str, Any]:
    """An output message; ``text`` None = not yet any content; ``phase`` None = the version has none."""
    item: dict[str, Any] = {
        "id": name,
        "content": [] if text is None else [text_part(text, logprobs)],
        "role": "assistant",
        "status": status,
        "type": "message",
    }
    return item if phase is None else {**item, "phase": phase}


def reasoning_item(name: str, text: str, *, summarised: bool, status: str = "completed") -> dict[str, Any]:
    """A reasoning item; its trace is mirrored into a summary when that was asked for."""
    return {
        "id": name,
        "summary": [{"text": text, "type": "summary_text"}] if summarised and text else [],
        "type": "reasoning",
        "content": [{"text": text, "type": "reasoning_text"}] if text else [],
        "encrypted_content": None,
        "status": status,
    }
