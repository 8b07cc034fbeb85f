"""What Rust's serde says of a JSON body that does not fit: Dynamo's words for syntax, kinds and missing fields.

Dynamo reads its bodies through flattened structs, which are buffered: whatever is wrong with a value, the place told is
the end of the body. A :class:`Struct` is the data of one body; ``read`` gives its members or raises :class:`Misfit`.
Measured against the real frontend (1.6.1 and 1.7.0.dev20261026).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..common.parsing import span_of
from ..common.serde import RUST

RECURSION_LIMIT = 128
"""How deep serde_json goes into a value."""
PREFIX = "Failed to deserialize the JSON body into the target type: "

Check = Callable[[Any], "str | None"]
"""None = the value fits; else what serde says (a :class:`Said` when it is about something inside the value)."""
Path = tuple["str | int", ...]


class Said(str):
    """What serde says of something inside a value. ``path``: where it is; ``unknown``: the member that nobody knows."""

    path: Path
    unknown: str | None

    @classmethod
    def of(cls, said: str, step: str | int) -> Said:
        """The same, one step further out."""
        made = cls(said)
        inner = said if isinstance(said, Said) else None
        made.path = (step, *(inner.path if inner else ()))
        made.unknown = inner.unknown if inner else None
        return made

    @classmethod
    def about(cls, said: str, unknown: str) -> Said:
        """Of a member's name, not of its value."""
        made = cls(said)
        made.path, made.unknown = (), unknown
        return made


class Misfit(Exception):
    """A body that cannot be read; ``str()`` is the whole message."""


@dataclass(frozen=True, slots=True)
class Struct:
    """One body: the Rust name, the members that must be there, what each known member must be, and which of them are
    read as they stand (``direct``), so that an error names their very place."""

    name: str
    required: tuple[str, ...]
    members: Mapping[str, Check]
    direct: frozenset[str] = frozenset()


def read(data: bytes, struct: Struct) -> dict[str, Any]:
    """The members of a body; raises Misfit."""
    value = parsed(data)
    if not isinstance(value, dict):
        column = 0 if isinstance(value, list) else len(data.strip())
        raise Misfit(f"{PREFIX}{invalid_type(value, f'struct {struct.name}')} at line 1 column {column}")
    body = cast("dict[str, Any]", value)
    at = end_of(data)
    for name, member in body.items():
        said = struct.members[name](member) if name in struct.members else None
        if said is not None:
            raise Misfit(f"{PREFIX}{said} at {_found(data, name, said) if name in struct.direct else at}")
    for name in struct.required:
        if name not in body:
            raise Misfit(f"{PREFIX}missing field `{name}` at {at}")
    return body


def parsed(data: bytes) -> Any:
    """Any JSON value; raises Misfit in serde_json's words (the place of a syntax error may be one character off)."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise Misfit(f"{PREFIX}invalid unicode code point at {_place(data, wrong.start + 2)}") from None
    try:
        value, _ = json.JSONDecoder().raw_decode(text.lstrip(" \t\r\n"))
        return value
    except json.JSONDecodeError as wrong:
        skipped = len(text) - len(text.lstrip(" \t\r\n"))
        raise Misfit(PREFIX + _syntax(text, skipped + wrong.pos, wrong.msg)) from None
    except RecursionError:
        raise Misfit(f"{PREFIX}recursion limit exceeded at line 1 column {RECURSION_LIMIT}") from None
    except ValueError:  # a number of thousands of digits
        raise Misfit(f"{PREFIX}number out of range at line 1 column {len(data)}") from None


def _syntax(text: str, position: int, said: str) -> str:
    rest = text[position:].lstrip(" \t\r\n")
    data = text.encode()
    if not rest:
        inside = "an object" if said.startswith("Expecting ',' delimiter") else "a value"
        return f"EOF while parsing {inside} at {_place(data, len(data))}"
    at = _place(data, len(text[: len(text) - len(rest)].encode()) + 1)
    if said.startswith("Expecting property name"):
        return f"{'trailing comma' if rest[0] == '}' else 'key must be a string'} at {at}"
    if said.startswith("Illegal trailing comma"):
        return f"trailing comma at {at}"
    if said.startswith("Expecting ':'"):
        return f"expected `:` at {at}"
    if said.startswith("Expecting ','"):
        return f"expected `,` or `}}` at {at}"
    return f"expected value at {at}"


def _found(data: bytes, name: str, said: str) -> str:
    """The place of an offence in a member that is read as it stands: behind a word or number, before a list or map."""
    path: Path = (name, *(said.path if isinstance(said, Said) else ()))
    text = data.decode()
    start, end = span_of(text, path)
    unknown = said.unknown if isinstance(said, Said) else None
    if unknown is not None:
        value, _ = span_of(text, (*path, unknown))
        key_end = len(text[: text.rindex(":", 0, value)].rstrip(" \t\r\n"))  # however the key was escaped
        return _place(data, len(text[:key_end].encode()))
    return _place(data, len(text[: start if text[start] in "{[" else end].encode()))


def end_of(data: bytes) -> str:
    """The place that buffered structs name: the end of the body."""
    return _place(data, len(data.rstrip(b" \t\r\n")))


def _place(data: bytes, offset: int) -> str:
    before = data[:offset]
    column = len(before) - (before.rfind(b"\n") + 1)
    return f"line {before.count(10) + 1} column {column}"


def invalid_type(value: Any, expected: str) -> str:
    """``invalid type: integer `5`, expected a string``."""
    return RUST.invalid_type(value, expected)


def optional(check: Check) -> Check:
    """Null fits as well."""
    return lambda value: None if value is None else check(value)


def boolean(value: Any) -> str | None:
    return None if isinstance(value, bool) else invalid_type(value, "a boolean")


def text(value: Any) -> str | None:
    return None if isinstance(value, str) else invalid_type(value, "a string")


def mapping(value: Any) -> str | None:
    return None if isinstance(value, dict) else invalid_type(value, "a map")


def anything(value: Any) -> str | None:
    return None


def number(value: Any) -> str | None:
    """f32."""
    return None if isinstance(value, int | float) and not isinstance(value, bool) else invalid_type(value, "f32")


def integer(kind: str) -> Check:
    """``u8``, ``u32``, ``i32``, ``i64``: in range, or serde's invalid value."""
    bits = int(kind[1:])
    low, high = (0, 2**bits - 1) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    def check(value: Any) -> str | None:
        if not isinstance(value, int) or isinstance(value, bool):
            return invalid_type(value, kind)
        return None if low <= value <= high else f"invalid value: integer `{value}`, expected {kind}"

    return check


def sequence(element: Check) -> Check:
    """A list whose elements all fit."""

    def check(value: Any) -> str | None:
        if not isinstance(value, list):
            return invalid_type(value, "a sequence")
        for place, one in enumerate(cast("list[Any]", value)):
            if (said := element(one)) is not None:
                return Said.of(said, place)
        return None

    return check


def variant(*names: str) -> Check:
    """One of these words."""

    def check(value: Any) -> str | None:
        if not isinstance(value, str):
            return invalid_type(value, "string or map")
        listed = ", ".join(f"`{name}`" for name in names)
        return None if value in names else f"unknown variant `{value}`, expected one of {listed}"

    return check


def untagged(enum: str, fits: Callable[[Any], bool]) -> Check:
    """Several shapes, none of which serde explains."""
    return lambda value: None if fits(value) else f"data did not match any variant of untagged enum {enum}"


def struct(name: str, members: Mapping[str, Check], *, required: tuple[str, ...] = (), closed: bool = False) -> Check:
    """A nested object; ``closed``: it knows no other members than these."""

    def check(value: Any) -> str | None:
        if not isinstance(value, dict):
            return invalid_type(value, f"struct {name}")
        for member, given in cast("dict[str, Any]", value).items():
            if member not in members:
                if closed:
                    said = f"unknown field `{member}`, expected one of {', '.join(f'`{one}`' for one in members)}"
                    return Said.about(said, member)
                continue
            if (said := members[member](given)) is not None:
                return Said.of(said, member)
        return next((f"missing field `{one}`" for one in required if one not in value), None)

    return check
