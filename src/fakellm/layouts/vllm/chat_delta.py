"""The ``delta`` of a chat chunk made of a parser's parts, member for member as vLLM sets them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...told import Part
from .shape import Shape

ToolId = Callable[[int, bool], str]
"""The id of a tool call by its index; True = of the parser's own kind."""


def parsed_delta(parts: Sequence[Part], shape: Shape, tool_id: ToolId, *, one_call: bool) -> dict[str, Any] | None:
    """The delta, members in the order of the server's model; None when the parser made nothing of the step."""
    if not parts:
        return None
    texts: dict[str, str | None] = {}
    calls: list[dict[str, Any]] | None = None
    for part in parts:
        if part.kind == "tool":
            calls = calls or []
            if "null" not in part.marks and not (one_call and part.tool_index):
                calls.append(tool_piece(part, tool_id))
        elif "null" in part.marks:
            texts.setdefault(part.kind, None)
        else:
            texts[part.kind] = (texts.get(part.kind) or "") + part.text
    delta: dict[str, Any] = {}
    if "content" in texts:
        delta["content"] = texts["content"]
    if "reasoning" in texts:
        delta.update(dict.fromkeys(shape.reasoning_keys, texts["reasoning"]))
    delta = finished_delta(delta, shape)
    if calls or (calls is not None and shape.tool_calls_always):
        delta["tool_calls"] = calls
    return delta


def finished_delta(delta: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """0.12 writes ``reasoning_content`` on every delta."""
    if shape.delta_reasoning_null and "reasoning_content" not in delta:
        delta["reasoning_content"] = None
    return delta


def tool_piece(part: Part, tool_id: ToolId) -> dict[str, Any]:
    """One element of ``delta.tool_calls``: id and type stand on the piece that names the function."""
    index = part.tool_index or 0
    function: dict[str, Any] = {}
    if part.name is not None or "name" in part.marks:
        function["name"] = part.name
    if part.text or "arguments" in part.marks or part.name is None:
        function["arguments"] = part.text
    if part.name is not None:
        return {"id": tool_id(index, "own-id" in part.marks), "type": "function", "index": index, "function": function}
    if "id" in part.marks:
        return {"id": None, "type": None, "index": index, "function": function}
    return {"index": index, "function": function}
