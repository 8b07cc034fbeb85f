"""The kinds of values that request bodies are made of, lax as pydantic is: what it takes, what it makes of it, and in
which words it refuses. Knows no body."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from .loose import elements, members
from .schema import Error, Kind, Model, Place, Refused, error, take_model, value_error

_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})
_FALSE = frozenset({"0", "false", "f", "no", "n", "off"})
_WIDE = 2**63
_INTEGER = re.compile(r"\s*[+-]?\d+(?:_\d+)*(?:\.0+)?\s*")


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
            if not -_WIDE <= value < _WIDE:
                sentence = "Unable to parse input string as an integer, exceeded maximum size"
                raise Refused([error("int_parsing_size", place, sentence, value)])
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
    if isinstance(value, int | float | str) and not _beyond(value):
        word = str(int(value)) if isinstance(value, float) else str(value).lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        sentence = "Input should be a valid boolean, unable to interpret input"
        raise Refused([error("bool_parsing", place, sentence, value)])
    raise Refused([error("bool_type", place, "Input should be a valid boolean", value)])


def _beyond(value: float | str) -> bool:
    """A number that is no candidate for a boolean at all."""
    if isinstance(value, float):
        return not (value.is_integer() and -_WIDE <= value < _WIDE)
    return isinstance(value, int) and not -_WIDE <= value < _WIDE


def _strict_boolean(value: Any, place: Place) -> Any:
    if isinstance(value, bool):
        return value
    raise Refused([error("bool_type", place, "Input should be a valid boolean", value)])


def _object(value: Any, place: Place) -> Any:
    if isinstance(value, Mapping):
        return members(value)
    raise Refused([error("dict_type", place, "Input should be a valid dictionary", value)])


def _anything(value: Any, place: Place) -> Any:
    return value


def _bytes(value: Any, place: Place) -> Any:
    if isinstance(value, str | bytes):
        return value
    raise Refused([error("bytes_type", place, "Input should be a valid bytes", value)])


def _decoded(value: Any) -> Any:
    """Text in base64 as bytes, deep in lists; raises ValueError for other text."""
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error:
            raise ValueError("Expected base64-encoded bytes") from None
    return [_decoded(one) for one in elements(value)] if isinstance(value, list) else value


def base64_of(kind: Kind) -> Kind:
    """A kind whose texts are sent in base64."""

    def take(value: Any, place: Place) -> Any:
        try:
            return kind.take(_decoded(value), place)
        except ValueError as wrong:
            raise Refused([value_error(place, str(wrong), value)]) from None

    return Kind(f"function-before[_decode_value(), {kind.tag}]", take)


STR = Kind("str", _string)
BYTES = Kind("bytes", _bytes)
INT = Kind("int", _integer)
FLOAT = Kind("float", _number)
BOOL = Kind("bool", _boolean)
STRICT_BOOL = Kind("bool", _strict_boolean)
DICT = Kind("dict[any,any]", _object)
OBJECT = Kind("dict[str,any]", _object)
ANY = Kind("any", _anything)


def nullable(kind: Kind) -> Kind:
    """The kind, or null."""
    return Kind(f"nullable[{kind.tag}]", lambda value, place: None if value is None else kind.take(value, place))


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


def mapped(kind: Kind) -> Kind:
    """An object whose members are all of the kind."""

    def take(value: Any, place: Place) -> Any:
        errors: list[Error] = []
        taken: dict[str, Any] = {}
        for name, member in _object(value, place).items():
            try:
                taken[name] = kind.take(member, (*place, name))
            except Refused as refused:
                errors.extend(refused.errors)
        if errors:
            raise Refused(errors)
        return taken

    return Kind(f"dict[str,{kind.tag}]", take)


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
    return Kind(tag or shape.name, lambda value, place: take_model(shape, value, place))


def tagged(by: str, kinds: Mapping[str, Kind], find: Callable[[Any], Any] | None = None) -> Kind:
    """The kind that a member names (``by``), or that a function of the server finds."""
    expected = ", ".join(f"'{tag}'" for tag in kinds)
    shown = by if find is not None else f"'{by}'"

    def take(value: Any, place: Place) -> Any:
        if find is None and not isinstance(value, Mapping):
            sentence = "Input should be a valid dictionary or object to extract fields from"
            raise Refused([error("model_attributes_type", place, sentence, value)])
        tag: Any = members(value).get(by) if find is None else find(value)
        if tag is None:
            sentence = f"Unable to extract tag using discriminator {shown}"
            raise Refused([error("union_tag_not_found", place, sentence, value, {"discriminator": shown})])
        kind = kinds.get(tag) if isinstance(tag, str) else None
        if kind is None:
            sentence = f"Input tag '{tag}' found using {shown} does not match any of the expected tags: {expected}"
            context = {"discriminator": shown, "tag": str(tag), "expected_tags": expected}
            raise Refused([error("union_tag_invalid", place, sentence, value, context)])
        return kind.take(value, (*place, tag))

    return Kind(f"tagged-union[{','.join(kind.tag for kind in kinds.values())}]", take)


def matching(pattern: str) -> Kind:
    """Text that a pattern finds."""
    found = re.compile(pattern)

    def take(value: Any, place: Place) -> Any:
        text = _string(value, place)
        if found.search(text):
            return text
        sentence = f"String should match pattern '{pattern}'"
        raise Refused([error("string_pattern_mismatch", place, sentence, value, {"pattern": pattern})])

    return Kind("constrained-str", take)


def above(least: int, *, itself: bool = False) -> Kind:
    """A whole number greater than ``least`` (``itself``: or equal)."""

    def take(value: Any, place: Place) -> Any:
        number = _integer(value, place)
        if number > least or (itself and number == least):
            return number
        if itself:
            sentence = f"Input should be greater than or equal to {least}"
            raise Refused([error("greater_than_equal", place, sentence, value, {"ge": least})])
        raise Refused([error("greater_than", place, f"Input should be greater than {least}", value, {"gt": least})])

    return Kind("constrained-int", take)
