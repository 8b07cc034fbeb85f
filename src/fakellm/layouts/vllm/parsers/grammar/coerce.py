"""Argument values are written as text in this format; the tool's JSON schema says what they are.

Source: vllm/tool_parsers/utils.py (0.32). Pure values; knows no stream.

>>> coerced("2", {"type": "integer"}), coerced("2", {"type": "string"})
(2, '2')
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, cast

_ALIASES = {
    **dict.fromkeys(("str", "text", "varchar", "char", "enum"), "string"),
    **dict.fromkeys(("int", "int32", "int64", "uint", "uint32", "uint64", "long", "short", "unsigned"), "integer"),
    **dict.fromkeys(("float", "float32", "float64", "double"), "number"),
    "bool": "boolean",
    "dict": "object",
    **dict.fromkeys(("arr", "list", "sequence"), "array"),
}
_NAMES = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def types_of(schema: Any) -> set[str]:
    """Every JSON type that a schema allows; ``{"string"}`` when it says nothing."""
    if not isinstance(schema, Mapping):
        return {"string"}
    rows = cast("Mapping[str, Any]", schema)
    declared = rows.get("type")
    types = {declared} if isinstance(declared, str) else set[str]()
    if isinstance(declared, list):
        types.update(name for name in cast("list[Any]", declared) if isinstance(name, str))
    if isinstance(rows.get("enum"), list):
        types.update(_NAMES[type(value)] for value in rows["enum"] if type(value) in _NAMES)
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(rows.get(key), list):
            for choice in rows[key]:
                types |= types_of(choice)
    return types or {"string"}


def coerced(value: str, schema: Any) -> Any:
    """The value as the first type that fits: null, integer, number, boolean, object, array, string."""
    wanted = {_ALIASES.get(name.strip().lower(), name.strip().lower()) for name in types_of(schema)}
    if "null" in wanted and value.lower() == "null":
        return None
    if "integer" in wanted and (whole := _integer(value)) is not None:
        return whole
    if "number" in wanted and (number := _number(value)) is not None:
        return number
    if "boolean" in wanted and (word := value.lower().strip()) in ("true", "1", "false", "0"):
        return word in ("true", "1")
    if wanted & {"object", "array"} and (read := _read(value)) is not None:
        return read[0]
    if "string" in wanted:
        return value
    read = _read(value)
    return value if read is None else read[0]


def _integer(value: str) -> int | None:
    try:
        return int(value)
    except ValueError:
        return None


def _number(value: str) -> float | int | None:
    try:
        number = float(value)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number == int(number) else number


def _read(value: str) -> tuple[Any] | None:
    """The JSON of a text, or None when it is none or holds a number that JSON has not."""
    try:
        read = json.loads(value)
        json.dumps(read, allow_nan=False)
    except ValueError:
        return None
    return (read,)
