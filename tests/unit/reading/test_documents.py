"""JSON is read leniently where nothing is lost, and refused where two readings are possible."""

from __future__ import annotations

import math

import pytest

from fakellm.reading import Refused
from fakellm.reading.documents import parse_document


def test_the_same_key_twice_with_the_same_value_is_one_key() -> None:
    assert {"a": [1, {"b": 2}]} == parse_document('{"a":[1,{"b":2}],"a":[1,{"b":2}]}')


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', '{"a":1,"a":1.0}', '{"a":1,"a":true}', '{"x":{"a":null,"a":0}}'])
def test_a_key_that_says_two_things_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_document(text)

    assert refused.value.kind == "duplicate-keys"


def test_numbers_that_json_does_not_know_are_read_as_what_they_say() -> None:
    values = parse_document("[NaN, -Infinity]")

    assert math.isnan(values[0])
    assert values[1] == -math.inf


@pytest.mark.parametrize(
    "body",
    [b'{"a":1} trailing', b"", b"<html>", b'{"a"', b'"\xff"', b"[" * 100_000, b'{"a":' + b"9" * 5000 + b"}"],
    ids=["trailing", "empty", "html", "cut", "not utf-8", "deep", "huge number"],
)
def test_what_is_not_one_document_is_refused(body: bytes) -> None:
    with pytest.raises(Refused) as refused:
        parse_document(body)

    assert refused.value.kind == "unreadable"


def test_a_byte_order_mark_is_no_part_of_the_document() -> None:
    assert {"a": 1} == parse_document(b'\xef\xbb\xbf{"a":1}')
