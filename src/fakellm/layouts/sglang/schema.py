"""A small reader of request bodies that refuses as pydantic does: the same error types, places and sentences.

A body's shape is data (:class:`Model` with fields of :class:`Kind`); ``read`` gives the values with defaults filled
in, or the list of errors that FastAPI would show. Only the lax rules that JSON can meet are here. The sentences are
facts of the captured servers (pydantic 2.14); the installed pydantic is never asked. Knows no vendor and no HTTP.

>>> read(Model("Ask", (Field("n", INT, 1),)), {"n": "x"}).errors[0]["msg"]
'Input should be a valid integer, unable to parse string as an integer'
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .loose import elements, members

Place = tuple[str | int, ...]
Error = dict[str, Any]

_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})
_FALSE = frozenset({"0", "false", "f", "no", "n", "off"})
_INTEGER = re.compile(r"\s*[+-]?\d+(?:_\d+)*(?:\.0+)?\s*")


class Refused(Exception):
    """Raised by a kind whose value is not acceptable; carries the errors."""

    def __init__(self, errors: list[Error]) -> None:
        super().__init__(len(errors))
        self.errors = errors


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value: ``tag`` as pydantic names it in unions, ``take`` gives the value or raises Refused."""

    tag: str
    take: Callable[[Any, Place], Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a body. ``default`` REQUIRED = it must be there; ``check``: a further rule that may raise
    ValueError with the sentence to show (pydantic's field validator), ``early`` = before the kind is looked at."""

    name: str
    kind: Kind
    default: Any = None
    check: Callable[[Any], None] | None = None
    early: bool = False


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


@dataclass(frozen=True, slots=True)
class Model:
    """A body or an object in it. Members that are not listed are ignored (``extra``: kept as they are)."""

    name: str
    fields: tuple[Field, ...]
    extra: bool = False
    dataclass: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What ``read`` found: all members with their values, or errors."""

    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    errors: tuple[Error, ...] = ()


def read(model: Model, body: Any, place: Place = ("body",)) -> Reading:
    """Read a body by a model."""
    try:
        return Reading(_take_model(model, body, place))
    except Refused as refused:
        return Reading(errors=tuple(refused.errors))


def error(kind: str, place: Place, sentence: str, value: Any, context: Mapping[str, Any] | None = None) -> Error:
    """One error as pydantic lists it."""
    made: Error = {"type": kind, "loc": place, "msg": sentence, "input": value}
    if context is not None:
        made["ctx"] = dict(context)
    return made


def _take_model(model: Model, body: Any, place: Place) -> dict[str, Any]:
    if not isinstance(body, Mapping):
        if model.dataclass:
            sentence = f"Input should be a dictionary or an instance of {model.name}"
            raise Refused([error("dataclass_type", place, sentence, body, {"class_name": model.name})])
        sentence = "Input should be a valid dictionary or object to extract fields from"
        raise Refused([error("model_attributes_type", place, sentence, body)])
    known = members(body)
    values: dict[str, Any] = {}
    errors: list[Error] = []
    for member in model.fields:
        at = (*place, member.name)
        if member.name not in known:
            if member.default is REQUIRED:
                errors.append(error("missing", at, "Field required", body))
            values[member.name] = member.default
            continue
        try:
            values[member.name] = _take_member(member, known[member.name], at)
        except Refused as refused:
            errors.extend(refused.errors)
    if errors:
        raise Refused(errors)
    if model.extra:
        values.update((name, value) for name, value in known.items() if name not in values)
    return values


def _take_member(member: Field, value: Any, place: Place) -> Any:
    taken = value if member.early and member.check else member.kind.take(value, place)
    if member.check is not None:
        try:
            member.check(taken)
        except ValueError as wrong:
            raise Refused([value_error(place, str(wrong), value)]) from None
    return member.kind.take(value, place) if member.early else taken


def value_error(place: Place, sentence: str, value: Any) -> Error:
    """A validator's own refusal."""
    return error("value_error", place, f"Value error, {sentence}", value, {"error": ValueError(sentence)})


def _string(value: Any, place: Place) -> Any:
    if isinstance(value, str):
        return value
    raise Refused([error("string_type", place, "Input should be a valid string", value)])


def _integer(value: Any, place: Place) -> Any:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Refused([error("finite_number", place, "Input should be a finite number", value)])
        if value.is_integer():
            return int(value)
        sentence = "Input should be a valid integer, got a number with a fractional part"
        raise Refused([error("int_from_float", place, sentence, value)])
    if isinstance(value, str):
        if _INTEGER.fullmatch(value):
            return int(value.strip().replace("_", "").split(".")[0])
        sentence = "Input should be a valid integer, unable to parse string as an integer"
        raise Refused([error("int_parsing", place, sentence, value)])
    raise Refused([error("int_type", place, "Input should be a valid integer", value)])


def _number(value: Any, place: Place) -> Any:
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            sentence = "Input should be a valid number, unable to parse string as a number"
            raise Refused([error("float_parsing", place, sentence, value)]) from None
    raise Refused([error("float_type", place, "Input should be a valid number", value)])


def _boolean(value: Any, place: Place) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float | str):
        word = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        sentence = "Input should be a valid boolean, unable to interpret input"
        raise Refused([error("bool_parsing", place, sentence, value)])
    raise Refused([error("bool_type", place, "Input should be a valid boolean", value)])


def _object(value: Any, place: Place) -> Any:
    if isinstance(value, Mapping):
        return members(value)
    raise Refused([error("dict_type", place, "Input should be a valid dictionary", value)])


def _anything(value: Any, place: Place) -> Any:
    return value


STR = Kind("str", _string)
INT = Kind("int", _integer)
FLOAT = Kind("float", _number)
BOOL = Kind("bool", _boolean)
DICT = Kind("dict", _object)
OBJECT = Kind("dict[str,any]", _object)
ANY = Kind("any", _anything)


def nullable(kind: Kind) -> Kind:
    """The kind, or null."""
    return Kind(kind.tag, lambda value, place: None if value is None else kind.take(value, place))


def listed(kind: Kind) -> Kind:
    """A list of the kind."""

    def take(value: Any, place: Place) -> Any:
        if not isinstance(value, list):
            raise Refused([error("list_type", place, "Input should be a valid list", value)])
        errors: list[Error] = []
        taken: list[Any] = []
        for number, element in enumerate(elements(value)):
            try:
                taken.append(kind.take(element, (*place, number)))
            except Refused as refused:
                errors.extend(refused.errors)
        if errors:
            raise Refused(errors)
        return taken

    return Kind(f"list[{kind.tag}]", take)


def literal(*words: str) -> Kind:
    """One of these words."""
    quoted = [f"'{word}'" for word in words]
    expected = quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"

    def take(value: Any, place: Place) -> Any:
        if isinstance(value, str) and value in words:
            return value
        sentence = f"Input should be {expected}"
        raise Refused([error("literal_error", place, sentence, value, {"expected": expected})])

    return Kind(f"literal[{','.join(quoted)}]", take)


def either(*kinds: Kind) -> Kind:
    """The first kind that takes the value as it is, else the first that takes it at all; all errors otherwise."""

    def take(value: Any, place: Place) -> Any:
        errors: list[Error] = []
        found: list[Any] = []
        for kind in kinds:
            try:
                taken = kind.take(value, (*place, kind.tag))
            except Refused as refused:
                errors.extend(refused.errors)
                continue
            if type(taken) is type(value) and taken == value:
                return taken
            found.append(taken)
        if found:
            return found[0]
        raise Refused(errors)

    return Kind(f"union[{','.join(kind.tag for kind in kinds)}]", take)


def model(shape: Model, tag: str | None = None) -> Kind:
    """An object of a shape."""
    return Kind(tag or shape.name, lambda value, place: _take_model(shape, value, place))


def spelled(errors: Sequence[Error], source: str) -> str:
    """The text of FastAPI's RequestValidationError: every error, where it was raised, and the list once more.

    ``source``: the lines that say where (file, function, route).
    """
    plural = "" if len(errors) == 1 else "s"
    lines = "".join(f"\n  {made}" for made in errors)
    return f"{len(errors)} validation error{plural}:{lines}{source} {list(errors)}"
