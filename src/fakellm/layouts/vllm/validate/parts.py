"""Kinds of value that several APIs share: stream options, response formats, tools, sampling fields.

Only shapes stand here, by the names that vLLM's own request classes have; the APIs put them together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..options import V12, V16, V20, V24, V28, V32
from .containers import AsFlaw, Checked, ListOf, MapOf, Maybe, Union
from .flaws import Flaw, Objection, Path
from .kinds import Anything, Flag, Flaws, Kind, Number, OneOf, Text, Whole
from .records import REQUIRED, Field, Record, Version
from .spelling import Raised, check_as_flaw

WRAPPED = "function-wrap[__log_extra_fields__()]"
"""Every vLLM model is wrapped by one validator: its label as a union member."""

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

TEXT = Text()
WHOLE = Whole()
NUMBER = Number()
FLAG = Flag()
ANYTHING = Anything()
OBJECT = MapOf(ANYTHING)

ANY_OBJECT = MapOf(ANYTHING, key=ANYTHING)

MAYBE_TEXT = Maybe(TEXT)
MAYBE_WHOLE = Maybe(WHOLE)
MAYBE_NUMBER = Maybe(NUMBER)
MAYBE_FLAG = Maybe(FLAG)
MAYBE_OBJECT = Maybe(OBJECT)
MAYBE_WHOLES = Maybe(ListOf(WHOLE))
SEED = Maybe(Whole(INT64_MIN, INT64_MAX))


def model(*fields: Field) -> Record:
    """One of vLLM's own models: unknown names in it are ignored."""
    return Record(WRAPPED, fields)


def stream_options(version: Version) -> Kind:
    return model(
        Field("include_usage", MAYBE_FLAG, version < V20),
        Field("continuous_usage_stats", MAYBE_FLAG, False),
    )


_JSON_SCHEMA = model(
    Field("name", TEXT, REQUIRED),
    Field("description", MAYBE_TEXT),
    Field("schema", MAYBE_OBJECT),
    Field("strict", MAYBE_FLAG),
)
_RESPONSE_FORMAT = model(
    Field("type", OneOf(("text", "json_object", "json_schema")), REQUIRED),
    Field("json_schema", Maybe(_JSON_SCHEMA)),
)
_STRUCTURE = model(Field("begin", TEXT, REQUIRED), Field("schema", MAYBE_OBJECT), Field("end", TEXT, REQUIRED))
_STRUCTURAL_TAG = model(Field("type", OneOf(("structural_tag",)), REQUIRED), Field("format", ANYTHING, REQUIRED))
_OLD_STRUCTURAL_TAG = model(
    Field("type", OneOf(("structural_tag",)), REQUIRED),
    Field("structures", ListOf(_STRUCTURE), REQUIRED),
    Field("triggers", ListOf(TEXT), REQUIRED),
)


STRUCTURAL_TAGS: tuple[Kind, ...] = (_OLD_STRUCTURAL_TAG, _STRUCTURAL_TAG)


def response_format(version: Version) -> Kind:
    if version < V12:
        return Union((_RESPONSE_FORMAT, _OLD_STRUCTURAL_TAG))
    return Union((_RESPONSE_FORMAT, _STRUCTURAL_TAG, _OLD_STRUCTURAL_TAG))


TOOL = model(
    Field("type", OneOf(("function",)), "function"),
    Field(
        "function",
        model(
            Field("name", TEXT, REQUIRED),
            Field("description", MAYBE_TEXT),
            Field("parameters", MAYBE_OBJECT),
            Field("strict", MAYBE_FLAG, since=V24),
            Field("defer_loading", MAYBE_FLAG, since=V24),
        ),
        REQUIRED,
    ),
    Field("defer_loading", MAYBE_FLAG, since=V24),
)
NAMED_TOOL = model(
    Field("function", model(Field("name", TEXT, REQUIRED)), REQUIRED),
    Field("type", OneOf(("function",)), "function"),
)


def stop_strings(version: Version, limit: int) -> Kind:
    """0.28 and newer take at most ``limit`` strings (VLLM_MAX_STOP_STRINGS)."""
    many = ListOf(TEXT, at_most=limit) if version >= V28 else ListOf(TEXT)
    return Maybe(Union((TEXT, many)))


def thinking_budget(version: Version) -> Kind:
    if version < V24:
        return MAYBE_WHOLE
    return Checked(MAYBE_WHOLE, before=_thinking_budget, as_flaw=_field_flaw(version))


def _field_flaw(version: Version) -> AsFlaw | None:
    """How a version reports the objection of a field: up to 0.24 as a flaw of the field."""
    if version >= V28:
        return None
    return lambda objection, given, path: check_as_flaw(objection, given, path, typed=version >= V16)


def _thinking_budget(value: object) -> object:
    unusable = isinstance(value, bool) or not isinstance(value, int) or value < -1
    if value is not None and unusable:
        text = "`thinking_token_budget` must be a non-negative integer or -1 for unlimited."
        raise Objection(text, "thinking_token_budget", value)
    return None if value == -1 else value


def xargs(lists: bool) -> Kind:
    """vllm_xargs: words and numbers, and lists of them where the version takes lists."""
    scalars = (TEXT, WHOLE, NUMBER)
    return Maybe(MapOf(Union((*scalars, ListOf(Union(scalars))) if lists else scalars)))


_CONSTRAINTS = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")


def structured_outputs(version: Version) -> Kind:
    fields = (
        Field("json", Maybe(Union((TEXT, ANY_OBJECT)))),
        Field("regex", MAYBE_TEXT),
        Field("choice", Maybe(ListOf(TEXT))),
        Field("grammar", MAYBE_TEXT),
        Field("json_object", MAYBE_FLAG),
        Field("disable_fallback", FLAG, False, until=V20),
        Field("disable_any_whitespace", FLAG, False),
        Field("disable_additional_properties", FLAG, False),
        Field("whitespace_pattern", MAYBE_TEXT),
        Field("structural_tag", MAYBE_TEXT),
    )
    record = Record("StructuredOutputsParams", fields, nature="dataclass").at(version)
    return Checked(record, after=_one_constraint(version), label=record.label, as_flaw=_field_flaw(version))


def _one_constraint(version: Version) -> Callable[[Any, Path, Flaws], Any]:
    """The dataclass counts its constraints when it is made: too many, and from 0.16 none, is refused."""

    def check(value: dict[str, Any], path: Path, flaws: Flaws) -> Any:
        found = sum(value.get(name) is not None for name in _CONSTRAINTS)
        text = None
        if found > 1:
            text = "You can only use one kind of structured outputs constraint but multiple are specified"
        elif found < 1 and version >= V16:
            text = "You must use one kind of structured outputs constraint but none are specified"
        if text is not None:
            inner = {**value, "_backend": None, "_backend_was_auto": False}
            raise Objection(f"{text}: {inner}", plain=version < V28)
        return value

    return check


REPETITION = Record(
    "RepetitionDetectionParams",
    (
        Field("max_pattern_size", WHOLE, 0),
        Field("min_pattern_size", WHOLE, 0),
        Field("min_count", WHOLE, 0),
    ),
    nature="dataclass",
)

PENALTY_DEFAULT_UNTIL_32 = 0.0


def penalty(name: str) -> tuple[Field, Field]:
    """A penalty: 0.0 unless given, from 0.32 nothing (the model's own default counts)."""
    return Field(name, MAYBE_NUMBER, 0.0, until=V32), Field(name, MAYBE_NUMBER, since=V32)


def value_flaw(text: str, path: Path, value: Any) -> Flaw:
    """The flaw that a field's own check makes of a ValueError."""
    return Flaw("value_error", path, f"Value error, {text}", value, {"error": Raised("ValueError", text)})


def top_logprobs(version: Version) -> Kind:
    """0.32 takes null as 0."""
    if version < V32:
        return MAYBE_WHOLE
    return Checked(WHOLE, before=lambda value: 0 if value is None else value)
