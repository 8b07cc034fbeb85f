"""Forced tool choice up to 0.20.2: the server turns it into a JSON schema for the answer, in the place of what the
request said about its text, and the response shows that. Source: tool_parsers/abstract_tool_parser.py and utils.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..parsers import Asked

Row = Mapping[str, Any]


class MissingTool(Exception):
    """A named function that is not among the tools."""


def forced_text(asked: Asked, tools: Sequence[Row], *, description: str | None) -> dict[str, Any] | None:
    """The text configuration of a forced choice, None where nothing is forced; raises MissingTool."""
    if not tools or not asked.forced:
        return None
    schema: Any = _all_calls(tools) if asked.choice == "required" else _parameters(asked.name, tools)
    if schema is None:
        return None
    form = {"name": "tool_calling_response", "schema": schema, "type": "json_schema"}
    return {"format": {**form, "description": description, "strict": True}, "verbosity": None}


def _parameters(name: str, tools: Sequence[Row]) -> Any:
    found = next((tool for tool in tools if tool.get("type") == "function" and tool.get("name") == name), None)
    if found is None:
        raise MissingTool(f"Tool '{name}' has not been passed in `tools`.")
    return found.get("parameters")


def _all_calls(tools: Sequence[Row]) -> dict[str, Any]:
    """An array of calls of any of the tools; definitions inside their parameters move to the top."""
    shared: dict[str, Any] = {}
    kinds: list[dict[str, Any]] = []
    for tool in tools:
        given = cast("Row", tool.get("parameters") or {"type": "object", "properties": {}})
        shared.update(given.get("$defs") or {})
        parameters = {name: value for name, value in given.items() if name != "$defs"}
        members = {"name": {"type": "string", "enum": [tool.get("name")]}, "parameters": parameters}
        kinds.append({"properties": members, "required": ["name", "parameters"]})
    schema = {"type": "array", "minItems": 1, "items": {"type": "object", "anyOf": kinds}}
    return {**schema, "$defs": shared} if shared else schema
