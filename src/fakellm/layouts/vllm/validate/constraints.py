"""What the engine's front end says of constraints (``structured_outputs``, ``response_format``) that no grammar fits.

Grammars and regular expressions are not compiled here: their errors come from libraries that a fake does not have.
What vLLM itself looks at, and the types of a JSON schema, are. Knows no HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from pydantic_core import from_json

from ..options import V12, V16, V24, V28, V32
from .checks import Rules, as_list, as_object
from .flaws import Objection

SCHEMA_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
BAD_JSON = "Invalid JSON grammar specification."


def check_constraints(values: Mapping[str, Any], rules: Rules) -> None:
    """The refusal of constraints that cannot be followed; ``values``: the accepted fields of any API."""
    given = as_object(values.get("structured_outputs"))
    plain = rules.version < V28
    if given.get("choice") == []:
        raise Objection("Choice '[]' cannot be an empty list", plain=plain)
    for name, since in (("grammar", V12), ("json", V28), ("structural_tag", V32)):
        text: Any = given.get(name)
        if rules.version >= since and isinstance(text, str) and not text.strip():
            raise Objection(f"structured_outputs.{name} cannot be an empty string", plain=plain)
    if given.get("json_object") is False and rules.version >= V28:
        raise Objection(
            "structured_outputs.json_object must be True if set; omit structured_outputs to disable structured outputs"
        )
    if "\x00" in (given.get("regex") or "") and rules.version >= V28:
        raise Objection("structured_outputs.regex must not contain a NUL character ('\\x00')")
    for schema in (given.get("json"), values.get("guided_json") or None, _format_schema(values)):
        _check_schema(schema, rules)
    if as_object(values.get("response_format")).get("structures") == [] and rules.version < V24:
        raise Objection("No structural tags found in the grammar spec.", plain=True)


def _format_schema(values: Mapping[str, Any]) -> Any:
    wanted = as_object(values.get("response_format"))
    if wanted.get("type") != "json_schema":
        return None
    return as_object(wanted.get("json_schema")).get("schema")


def _bad_json(text: str, complaint: str, rules: Rules) -> Objection:
    """Up to 0.12 the words are those of a JSON reader written in Rust, up to 0.24 those of Python's."""
    if rules.version >= V28:
        return Objection(BAD_JSON)
    if rules.version < V16:
        try:
            from_json(text)
        except ValueError as bad:
            complaint = str(bad)
    return Objection(complaint, plain=True)


def _check_schema(schema: Any, rules: Rules) -> None:
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except ValueError as bad:
            raise _bad_json(schema, str(bad), rules) from None
    if rules.version < V12 and schema is not None and not isinstance(schema, dict):
        raise Objection("Expecting object schema to apply options", plain=True)
    unknown = _unknown_type(schema)
    if unknown is not None:
        raise Objection(f"Grammar error: Invalid type: {unknown}", plain=rules.version < V28)


def _unknown_type(schema: Any) -> str | None:
    """The first type in a schema that JSON does not have."""
    if not isinstance(schema, dict):
        return None
    members = as_object(cast("Any", schema))
    named: Any = members.get("type")
    for one in as_list(named) if isinstance(named, list) else [named]:
        if isinstance(one, str) and one not in SCHEMA_TYPES:
            return one
    inner = [*as_object(members.get("properties")).values(), members.get("items")]
    for name in ("anyOf", "oneOf", "allOf"):
        inner.extend(as_list(members.get(name)))
    return next((found for found in map(_unknown_type, cast("list[Any]", inner)) if found is not None), None)
