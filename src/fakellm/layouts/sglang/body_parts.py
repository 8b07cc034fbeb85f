"""What the bodies of chat and completion requests have in common, version by version: routing hints, adapters, output
formats, tools. A row that is not in a version is ignored there, as pydantic ignores members that it does not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from .kinds import ANY, BOOL, DICT, INT, OBJECT, STR, STRICT_BOOL, either, listed, literal, model, nullable
from .loose import members
from .schema import REQUIRED, Crashed, Field, Kind, Members, Model, Place
from .traits import Span, Version

NOTHING: Mapping[str, Any] = MappingProxyType({})
_LIST_FIRST: Version = (0, 5, 21)
Rows = Sequence[Field | tuple[Span, Field]]


def since(last: int, name: str, kind: Kind, default: Any = None) -> tuple[Span, Field]:
    """A row that the versions from 0.5.``last`` on have."""
    return Span((0, 5, last), None, name), Field(name, kind, default)


def until(last: int, name: str, kind: Kind, default: Any = None) -> tuple[Span, Field]:
    """A row that the versions before 0.5.``last`` have."""
    return Span(None, (0, 5, last), name), Field(name, kind, default)


def rows_of(version: Version, *groups: Rows) -> tuple[Field, ...]:
    """The rows that a version has."""
    rows = [row if isinstance(row, tuple) else (None, row) for group in groups for row in group]
    return tuple(field for span, field in rows if span is None or span.holds(version))


def words(name: str, first: int = 0) -> tuple[tuple[Span, Field], tuple[Span, Field]]:
    """One word or several, or null: which of the two is tried first has changed."""
    one, many = nullable(either(STR, listed(STR))), nullable(either(listed(STR), STR))
    return (Span((0, 5, first), _LIST_FIRST, name), Field(name, one)), (
        Span(_LIST_FIRST, None, name),
        Field(name, many),
    )


ROUTING: Rows = (
    *words("bootstrap_host"),
    Field("bootstrap_port", nullable(either(listed(nullable(INT)), INT))),
    Field("bootstrap_room", nullable(either(listed(INT), INT))),
    since(10, "routed_dp_rank", nullable(INT)),
    since(10, "disagg_prefill_dp_rank", nullable(INT)),
)
"""What a router in front of several engines writes into a request."""
TOLD: Rows = (
    until(17, "return_hidden_states", BOOL, default=False),
    since(17, "return_hidden_states", either(BOOL, literal("last")), default=False),
    since(9, "return_routed_experts", BOOL, default=False),
    since(12, "routed_experts_start_len", INT, 0),
    since(9, "return_cached_tokens_details", BOOL, default=False),
    since(20, "return_spec_tokens_details", BOOL, default=False),
)
"""What an answer is asked to tell."""
LIMITED: Rows = (
    Field("regex", nullable(STR)),
    Field("ebnf", nullable(STR)),
)
ADAPTED: Rows = (
    Field("lora_path", nullable(either(listed(nullable(STR)), STR))),
    since(17, "session_id", nullable(STR)),
    Field("session_params", nullable(DICT)),
)
"""Adapters and sessions."""
KEYED: Rows = (
    *words("rid"),
    *words("extra_key"),
    *words("cache_salt"),
    Field("priority", nullable(INT)),
)


_CHOSEN = Model(
    "ToolChoice",
    (
        Field("function", model(Model("ToolChoiceFuncName", (Field("name", nullable(STR)),))), REQUIRED),
        Field("type", literal("function"), "function"),
    ),
)
TOOL_CHOICE = either(model(_CHOSEN), literal("auto", "required", "none"))


def stream_options(version: Version) -> Kind:
    """``stream_options`` of a version."""
    fields = rows_of(
        version,
        (
            Field("include_usage", nullable(BOOL), False),
            since(6, "continuous_usage_stats", nullable(BOOL), default=False),
        ),
    )
    return nullable(model(Model("StreamOptions", fields)))


def tool(version: Version) -> Kind:
    """One offered tool, as the server itself writes it down again: templates show that."""
    function = rows_of(
        version,
        (
            Field("description", nullable(STR)),
            Field("name", STR, REQUIRED),
            Field("parameters", ANY),
            until(21, "strict", BOOL, default=False),
            since(21, "strict", nullable(BOOL)),
            since(12, "defer_loading", nullable(BOOL)),
        ),
    )
    ordered = _with_key_order if version >= _KEYS_ORDERED else None
    shape = Model("Function", function, prepare=ordered)
    fields = rows_of(
        version,
        (
            Field("type", STR, "function"),
            Field("function", model(shape), REQUIRED),
            since(12, "defer_loading", nullable(BOOL)),
        ),
    )
    kind = model(Model("Tool", fields))

    def take(value: Any, place: Place) -> Any:
        taken = kind.take(value, place)
        sent: Mapping[str, Any] = members(members(value).get("function")) if ordered is not None else NOTHING
        return {**taken, "function": _written(taken["function"], sent)}

    return Kind(kind.tag, take)


def _written(function: Members, sent: Mapping[str, Any]) -> Members:
    """A function without the hints that nobody gave, what was ``sent`` first and in its order."""
    optional = ("defer_loading", "strict")
    kept = {name: value for name, value in function.items() if value is not None or name not in optional}
    return {name: kept[name] for name in (*sent, *kept) if name in kept}


def response_format(version: Version) -> Kind:
    """``response_format`` of a version."""
    schema = Model(
        "JsonSchemaResponseFormat",
        rows_of(
            version,
            (
                Field("name", STR, REQUIRED),
                Field("description", nullable(STR)),
                Field("schema", nullable(OBJECT)),
                until(18, "strict", nullable(BOOL)),
                since(18, "strict", nullable(STRICT_BOOL)),
            ),
        ),
    )
    plain = Model(
        "ResponseFormat",
        (
            Field("type", literal("text", "json_object", "json_schema"), REQUIRED),
            Field("json_schema", nullable(model(schema))),
        ),
    )
    structure = Model(
        "StructuresResponseFormat",
        (Field("begin", STR, REQUIRED), Field("schema", nullable(OBJECT)), Field("end", STR, REQUIRED)),
    )
    tagged = rows_of(
        version,
        (
            Field("type", literal("structural_tag"), REQUIRED),
            Field("structures", listed(model(structure)), REQUIRED),
            Field("triggers", listed(STR), REQUIRED),
            since(12, "at_least_one", BOOL, default=False),
        ),
    )
    if version < _TAGS_OF_XGRAMMAR:
        return nullable(either(model(plain), model(Model("StructuralTagResponseFormat", tagged))))
    tags = Model(
        "StructuralTag", (Field("type", literal("structural_tag"), "structural_tag"), Field("format", OBJECT, REQUIRED))
    )
    return nullable(either(model(plain), model(Model("LegacyStructuralTagResponseFormat", tagged)), model(tags)))


def grammar_of(form: Any) -> dict[str, str]:
    """The sampling parameter that an output format becomes: which one, and that it is there."""
    kind = members(form).get("type")
    if kind in ("json_schema", "json_object"):
        return {"json_schema": "{}"}
    return {"structural_tag": "{}"} if kind == "structural_tag" else {}


def with_rank(values: Members) -> Members:
    """An old name of the rank is read as the new one."""
    if values.get("data_parallel_rank") is not None and values.get("routed_dp_rank") is None:
        return {**values, "routed_dp_rank": values["data_parallel_rank"]}
    return values


def with_schema(values: Members) -> Members:
    """``response_format`` that says its schema outside of json_schema; raises Crashed for one that is no object."""
    wanted: Any = values.get("response_format")
    if not wanted:
        return values
    if not isinstance(wanted, Mapping):
        raise Crashed
    form = dict(members(wanted))
    if form.get("type") != "json_schema":
        return values
    schema: Any = form.pop("schema", None)
    if not form.get("json_schema") and schema:
        if not isinstance(schema, Mapping):
            raise Crashed
        form["json_schema"] = {"name": members(schema).get("title", "Schema"), "schema": schema, "strict": None}
    return {**values, "response_format": form}


def _with_key_order(values: Members) -> Members:
    return {**values, "key_order": list(values)}


_KEYS_ORDERED: Version = (0, 5, 21)
_TAGS_OF_XGRAMMAR: Version = (0, 5, 6)
