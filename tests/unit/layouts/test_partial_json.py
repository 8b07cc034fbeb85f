"""JSON that is still being written, read as ``partial-json-parser`` 0.2.1 reads it: the values were taken from it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakellm.layouts.partial_json import NotJson, Unpaired, read_partial
from fakellm.layouts.sglang.parsers.partial import read_partial as read_as_sglang

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "value", "without_strings"),
    [
        ('{"a": "b c', {"a": "b c"}, {}),
        ('{"a": "b ', {"a": "b"}, {}),
        ('["\\t ', ["\t"], []),
        ('{"a": "x\\u00e', {"a": "x"}, {}),
        ('{"a": "x\\', {"a": "x"}, {}),
        ('{"a": nu', {"a": None}, {"a": None}),
        ('{"a": nu ', {"a": None}, {"a": None}),
        ('{"a": tr', {"a": True}, {"a": True}),
        ('{"a": 12.', {"a": 12}, {"a": 12}),
        ('{"a": -', {}, {}),
        ('{"a": 1, "b', {"a": 1}, {"a": 1}),
        ('{"a": 1, "b":', {"a": 1}, {"a": 1}),
        ('{"a": 1,', {"a": 1}, {"a": 1}),
        ("{, ", {}, {}),
        ("[1, [2, ", [1, [2]], [1, [2]]),
        ('[{"a": [1, {"x": "', [{"a": [1, {"x": ""}]}], [{"a": [1, {}]}]),
    ],
)
def test_what_is_open_is_closed(text: str, value: Any, without_strings: Any) -> None:
    assert (value, len(text), False) == read_partial(text)
    assert (without_strings, len(text), False) == read_partial(text, strings=False)


@pytest.mark.parametrize("text", ["", " ", "x", "-", '{"a" 1', '{"a": 1 x', '{"a": "b"]', "[1 2", '{"a": 1, x'])
def test_what_cannot_become_json(text: str) -> None:
    with pytest.raises(NotJson):
        read_partial(text)


def test_what_stands_behind_a_value_is_left() -> None:
    assert ({"a": 1}, 8, True) == read_partial('{"a": 1}{"b')


def test_what_closes_too_much_is_left_by_sglang_alone() -> None:
    assert ({}, 2, True) == read_as_sglang("{}]")
    with pytest.raises(Unpaired):
        read_partial("{}]")


@given(VALUES)
def test_a_whole_text_is_its_value(value: Any) -> None:
    text = json.dumps(value)
    assert (value, len(text), True) == read_partial(text)


@given(VALUES, st.data())
def test_a_beginning_is_never_more_than_the_whole(value: Any, data: st.DataObject) -> None:
    text = json.dumps([value])
    end = data.draw(st.integers(1, len(text)))

    shown = read_partial(text[:end])[0]

    assert isinstance(shown, list)
    assert len(shown) <= 1
