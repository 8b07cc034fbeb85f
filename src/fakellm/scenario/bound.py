"""What plain auto text becomes when the request binds the answer: a tool call, or JSON by a schema.

A real engine that is bound by ``tool_choice`` or ``response_format`` can only emit what the schema admits; so does the
fake's plausible answer. Schemas are followed as far as plain data needs it (types, enum, const, properties, items,
bounds, local references); what they leave open is drawn by a seeded stream. This module tokenises nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from ..ask import Ask
from ..chance import Stream
from .model import ToolCall
from .voice import forced_by

Schema = Mapping[str, Any]
ALL_MEMBERS = 3
"""Nesting below which optional members are left out."""
MAX_DEPTH = 32
MAX_PARTS = 500
_WORDS = ("Paris", "blue", "tomorrow", "example", "seven", "north")
_FORMATS: Mapping[str, str] = {
    "date": "2026-01-02",
    "time": "03:04:05",
    "date-time": "2026-01-02T03:04:05Z",
    "email": "someone@example.com",
    "uri": "https://example.com/",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "ipv4": "192.0.2.1",
    "hostname": "example.com",
}


def bound_answer(ask: Ask, chance: Stream) -> ToolCall | str | None:
    """The call of a forced tool, the JSON text of a bound format, or None when the request leaves the answer open."""
    forced = forced_by(ask.tool_choice)
    tools = [_function(tool) for tool in ask.tools]
    tools = [tool for tool in tools if isinstance(tool.get("name"), str)]
    if forced and tools:
        tool = next((each for each in tools if forced == f"named {each['name']}"), tools[0])
        return ToolCall(tool["name"], instance_of(_mapping(tool.get("parameters")), chance))
    schema = _format_schema(ask.body)
    return None if schema is None else json.dumps(instance_of(schema, chance), ensure_ascii=False)


def _function(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Chat nests a function under ``function``, Responses and Messages do not."""
    inner = tool.get("function")
    function = cast(Mapping[str, Any], inner) if isinstance(inner, Mapping) else tool
    return {**function, "parameters": function.get("parameters") or function.get("input_schema")}


def _format_schema(body: Mapping[str, Any]) -> Schema | None:
    """The schema that a chat (``response_format``) or Responses (``text.format``) request binds the answer to."""
    form = _mapping(body.get("response_format") or _mapping(body.get("text")).get("format"))
    if form.get("type") == "json_object":
        return {"type": "object", "properties": {"answer": {"type": "string"}}}
    if form.get("type") != "json_schema":
        return None
    return _mapping(_mapping(form.get("json_schema")).get("schema") or form.get("schema"))


def instance_of(schema: Schema, chance: Stream) -> Any:
    """A JSON value that the schema admits; cut short where the schema would never end."""
    return _Maker(schema, chance).make(schema, 0)


class _Maker:
    """Makes one value; ``_left`` bounds how many parts it may have, since a schema may refer to itself many times."""

    def __init__(self, root: Schema, chance: Stream) -> None:
        self._root = root
        self._chance = chance
        self._left = MAX_PARTS

    def make(self, schema: Schema, depth: int) -> Any:
        self._left -= 1
        schema = _resolved(schema, self._root)
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return self._chance.pick(cast(list[Any], schema["enum"]))
        for key in ("anyOf", "oneOf", "allOf"):
            options = schema.get(key)
            if isinstance(options, list) and options and self._left > 0 and depth < MAX_DEPTH:
                return self.make(_mapping(cast(list[Any], options)[0]), depth + 1)
        kind = schema.get("type", "object" if "properties" in schema or not depth else None)
        if isinstance(kind, list):
            kind = next((each for each in cast(list[Any], kind) if each != "null"), "null")
        if kind == "object":
            return self._object(schema, depth)
        return self._array(schema, depth) if kind == "array" else _scalar(kind, schema, self._chance)

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        required: Any = schema.get("required") or ()
        return {
            name: self.make(_mapping(inner), depth + 1)
            for name, inner in _mapping(schema.get("properties")).items()
            if self._left > 0 and depth < MAX_DEPTH and (depth < ALL_MEMBERS or name in required)
        }

    def _array(self, schema: Schema, depth: int) -> list[Any]:
        least: Any = schema.get("minItems", 1)
        count = min(max(least, 1), 16) if isinstance(least, int) else 1
        items = _mapping(schema.get("items"))
        return [self.make(items, depth + 1) for _ in range(count) if self._left > 0 and depth < MAX_DEPTH]


def _scalar(kind: Any, schema: Schema, chance: Stream) -> Any:
    if kind == "boolean":
        return bool(chance.below(2))
    if kind == "null":
        return None
    if kind in ("integer", "number"):
        low, high = _bounds(schema)
        drawn = low + chance.below(int(high - low) + 1)
        return drawn if kind == "integer" else float(drawn)
    least: Any = schema.get("minLength", 0)
    most: Any = schema.get("maxLength")
    text = _FORMATS.get(str(schema.get("format")), chance.pick(_WORDS))
    text = text.ljust(min(least, 1_000), "x") if isinstance(least, int) else text
    return text[:most] if isinstance(most, int) and most >= 0 else text


def _bounds(schema: Schema) -> tuple[int, int]:
    low: Any = schema.get("minimum", schema.get("exclusiveMinimum"))
    high: Any = schema.get("maximum", schema.get("exclusiveMaximum"))
    numbers = [each for each in (low, high) if isinstance(each, int | float) and abs(each) < 2**53]
    if len(numbers) == 2:
        first = int(low) + (int(low) < low or "minimum" not in schema)
        last = int(high) - (int(high) == high and "maximum" not in schema)
        return first, max(first, last)
    if isinstance(low, int | float) and numbers:
        first = int(low) + 1
        return first, first + 9
    if numbers:
        last = int(high) - 1
        return last - 9, last
    return 1, 10


def _resolved(schema: Schema, root: Schema) -> Schema:
    for _ in range(16):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        found: Any = root
        for part in reference[2:].split("/"):
            found = _mapping(found).get(part)
        schema = _mapping(found)
    return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}
