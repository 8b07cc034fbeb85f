"""The event parser reads what the WHATWG specification says, however the bytes are split."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakellm.reading import Event, EventParser

STREAM = "\ufeffdata: é\u2028a\u0085b\r\n\r\n: note\rdata:x\rdata:  y\r\revent: done\nid: 1\ndata\n\ndata: end\n\n"
EVENTS = [Event("é\u2028a\u0085b"), Event("x\n y"), Event("", "done"), Event("end")]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_every_line_end_of_the_specification_ends_a_line(end: str) -> None:
    stream = f"data: one{end}{end}data: two{end}{end}".encode()

    events = EventParser().feed(stream)

    assert [Event("one"), Event("two")] == events


@given(st.lists(st.integers(0, len(STREAM.encode())), max_size=8))
def test_events_do_not_depend_on_how_the_bytes_are_split(cuts: list[int]) -> None:
    body = STREAM.encode()
    edges = [0, *sorted(cuts), len(body)]

    parser = EventParser()
    events = [event for start, end in itertools.pairwise(edges) for event in parser.feed(body[start:end])]

    assert EVENTS == events
    assert parser.close() is None


def test_one_byte_at_a_time_is_a_split_like_any_other() -> None:
    parser = EventParser()

    events = [event for byte in STREAM.encode() for event in parser.feed(bytes([byte]))]

    assert EVENTS == events


def test_an_event_without_data_is_none() -> None:
    assert [] == EventParser().feed(b"event: ping\nid: 3\n\n: comment\n\n\n")


def test_an_event_that_the_end_cut_off_is_discarded_and_told() -> None:
    parser = EventParser()

    assert [] == parser.feed(b"data: [DONE]")
    assert parser.close() == "[DONE]"


def test_a_comment_that_the_end_cut_off_is_nothing() -> None:
    parser = EventParser()
    parser.feed(b"data: a\n\n: keep-al")

    assert parser.close() is None


def test_a_byte_order_mark_is_dropped_only_at_the_start() -> None:
    bom = b"\xef\xbb\xbf"

    assert [Event("a"), Event("\ufeffb")] == EventParser().feed(bom + b"data: a\n\ndata: " + bom + b"b\n\n")
    assert [] == EventParser().feed(bom + bom + b"data: a\n\n")
