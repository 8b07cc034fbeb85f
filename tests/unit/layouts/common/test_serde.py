"""serde's words for a value of the wrong kind, as Rust spells them and as SGLang's Python does."""

from __future__ import annotations

from typing import Any

import pytest

from fakellm.layouts.common.serde import PYTHON, RUST, debug_text, without_exponent


@pytest.mark.parametrize(
    ("value", "rust", "python"),
    [
        (None, "null", "null"),
        (True, "boolean `true`", "boolean `true`"),
        (-3, "integer `-3`", "integer `-3`"),
        (2.0, "floating point `2.0`", "floating point `2.0`"),
        (1e21, "floating point `1000000000000000000000.0`", "floating point `1e+21`"),
        ('a "b"\n', r'string "a \"b\"\n"', 'string "a "b"\n"'),
        ([], "sequence", "sequence"),
        ({}, "map", "map"),
    ],
)
def test_what_was_met(value: Any, rust: str, python: str) -> None:
    assert (rust, python) == (RUST.unexpected(value), PYTHON.unexpected(value))


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("é🙂", '"é🙂"'),
        ("it's", '"it\'s"'),
        ("\x07\x7f", r'"\u{7}\u{7f}"'),
        ("a\u0301", r'"a\u{301}"'),
        ("\u2028", r'"\u{2028}"'),
        ("\0\t\\", r'"\0\t\\"'),
    ],
)
def test_texts_as_rust_debugs_them(text: str, spelled: str) -> None:
    assert spelled == debug_text(text)


def test_small_numbers_have_no_exponent() -> None:
    assert "0.0000001" == without_exponent(1e-7)
