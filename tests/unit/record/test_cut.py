"""Taking members out of JSON text: what stays, stays byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakellm.record.cut import cut, paths_of

NAMES = st.sampled_from(["a", "b", "c", "d é"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "text, removed, nulled, left",
    [
        ('{"a": 1e-05, "b":2}', {("b",)}, set(), '{"a": 1e-05}'),
        ('{"a":1,"b":2}', {("a",)}, set(), '{"b":2}'),
        ('{"a":1}', {("a",)}, set(), "{}"),
        ('[{"a":1,"b":2},{"b":3}]', {("[]", "b")}, set(), '[{"a":1},{}]'),
        ('{"a":{"b":[1,2]},"c":"\\u00e9"}', set(), {("a", "b")}, '{"a":{"b":null},"c":"\\u00e9"}'),
        (' {"a" : 1 , "b" : 2 } ', {("a",)}, set(), ' { "b" : 2 } '),
        ('{"a":1,"a":2,"b":3}', {("a",)}, set(), '{"b":3}'),
    ],
)
def test_members_go_and_the_rest_keeps_its_spelling(text: str, removed: Any, nulled: Any, left: str) -> None:
    assert left == cut(text, removed, nulled)


@pytest.mark.parametrize("text", ["{", '{"a" 1}', '{"a":1 "b":2}', "nul", ""])
def test_what_is_no_json_is_an_error(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        cut(text, {("x",)}, set())


@given(VALUES, st.sets(st.tuples(NAMES) | st.tuples(NAMES, NAMES), max_size=3), st.integers(0, 1))
def test_the_text_of_what_is_left_is_the_text_of_the_pruned_value(value: Any, removed: Any, indent: int) -> None:
    def pruned(one: Any, at: tuple[str, ...]) -> Any:
        if isinstance(one, dict):
            return {key: pruned(inner, (*at, key)) for key, inner in one.items() if (*at, key) not in removed}
        return [pruned(inner, (*at, "[]")) for inner in one] if isinstance(one, list) else one

    text = json.dumps(value, ensure_ascii=bool(indent), separators=(",", ":"))

    assert json.dumps(pruned(value, ()), ensure_ascii=bool(indent), separators=(",", ":")) == cut(text, removed, set())


def test_paths_tell_what_is_null_wherever_it_stands() -> None:
    found = paths_of({"a": None, "b": [{"c": 1}, {"c": None}], "d": {"e": None}})

    assert {
        ("a",): True, ("b",): False, ("b", "[]"): False, ("b", "[]", "c"): False, ("d",): False, ("d", "e"): True,
    } == found  # fmt: skip
