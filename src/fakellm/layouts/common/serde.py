"""How Rust's serde tells what it met where it wanted something else, and how SGLang's Python imitates it.

The same sentence in two spellings: Rust writes texts as its ``{:?}`` does (escapes) and floats without an exponent;
SGLang's generated Python decoder writes texts as they are and floats as Python does. Knows no field.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

_NAMED = {"\0": "\\0", "\t": "\\t", "\r": "\\r", "\n": "\\n", '"': '\\"', "\\": "\\\\"}
_EXTENDING = frozenset({"Mn", "Me"})
"""Marks that attach to the character before them: escaped, because nothing may stand before them."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """``escaped``: texts and floats as Rust writes them, else as Python's f-string does."""

    escaped: bool

    def invalid_type(self, value: Any, expected: str) -> str:
        """``invalid type: integer `5`, expected a string``."""
        return f"invalid type: {self.unexpected(value)}, expected {expected}"

    def unexpected(self, value: Any) -> str:
        """What was met."""
        if value is None:
            return "null"
        if isinstance(value, bool):
            return f"boolean `{str(value).lower()}`"
        if isinstance(value, int):
            return f"integer `{value}`"
        if isinstance(value, float):
            return f"floating point `{without_exponent(value) if self.escaped else value}`"
        if isinstance(value, str):
            return f"string {debug_text(value)}" if self.escaped else f'string "{value}"'
        return "map" if isinstance(value, Mapping) else "sequence"


RUST = Spelling(escaped=True)
PYTHON = Spelling(escaped=False)


def debug_text(text: str) -> str:
    r"""A text as Rust's ``{:?}`` writes it.

    >>> print(debug_text('a "b"\n\x07'))
    "a \"b\"\n\u{7}"
    """
    return '"' + "".join(map(_debug_character, text)) + '"'


def _debug_character(character: str) -> str:
    if character in _NAMED:
        return _NAMED[character]
    if character.isprintable() and unicodedata.category(character) not in _EXTENDING:
        return character
    return f"\\u{{{ord(character):x}}}"


def without_exponent(value: float) -> str:
    """A float as Rust's Display writes it, with a decimal point in any case."""
    text = format(Decimal(repr(value)), "f")
    return text if "." in text else f"{text}.0"
