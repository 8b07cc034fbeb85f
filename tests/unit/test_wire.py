"""wire: JSON in every server's spelling, and the framing of streams."""

import json
import math
import struct
from types import MappingProxyType

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakellm.message import Frame, Message, Rendering
from fakellm.wire import SPELLINGS, dumps, float32, frames

finite = st.floats(allow_nan=False, allow_infinity=False)
text = st.text(st.characters())
"""Any text, lone surrogates included."""
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)


def python_spelling(value: object) -> bytes:
    """The slow reference for ``json``: what Starlette's JSONResponse does."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def serde_number(number: float) -> str:
    """The slow reference for ``serde``: the shortest digits of repr, laid out as pydantic-core lays them out."""
    sign = "-" if math.copysign(1, number) < 0 else ""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    if not exponent:
        return sign + mantissa
    power = int(exponent)
    if power == -5:
        return f"{sign}0.0000{mantissa.replace('.', '')}"
    return f"{sign}{mantissa}e{'+' if power > 0 else ''}{power}"


@given(json_values)
def test_json_is_what_python_writes(value: object) -> None:
    """Compact, raw UTF-8, floats by repr, for every value that JSON can hold."""
    assert python_spelling(value) == dumps(value, "json")


@given(json_values)
def test_python_is_json_dumps_untouched(value: object) -> None:
    assert json.dumps(value).encode() == dumps(value, "python")


@given(finite)
def test_serde_lays_floats_out_as_pydantic_core_does(number: float) -> None:
    assert serde_number(number) == dumps(number, "serde").decode()


@given(json_values)
def test_every_spelling_reads_back_as_the_same_value(value: object) -> None:
    for spelling in SPELLINGS:
        assert json.dumps(value) == json.dumps(json.loads(dumps(value, spelling)))


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("json", b'{"a":-5.960462772236497e-07,"b":8.9e-05,"c":1e+16,"d":0.0001}'),
        ("serde", b'{"a":-5.960462772236497e-7,"b":0.000089,"c":1e+16,"d":0.0001}'),
        ("python", b'{"a": -5.960462772236497e-07, "b": 8.9e-05, "c": 1e+16, "d": 0.0001}'),
    ],
)
def test_small_and_large_floats_as_the_servers_were_seen_to_write_them(spelling: str, expected: bytes) -> None:
    value = {"a": -5.960462772236497e-07, "b": 8.9e-05, "c": 1e16, "d": 0.0001}

    assert expected == dumps(value, spelling)


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("json", b"[null,null]"),
        ("serde", b"[null,null]"),
        ("json-nan", b"[NaN,-Infinity]"),
        ("python", b"[NaN, -Infinity]"),
    ],
)
def test_what_is_no_number_is_null_or_literal(spelling: str, expected: bytes) -> None:
    assert expected == dumps([math.nan, -math.inf], spelling)


def test_text_that_looks_like_a_number_stays_as_it_is() -> None:
    assert b'{"a":"x:0.00001 ,1e5","b":"\xc3\xa9"}' == dumps({"a": "x:0.00001 ,1e5", "b": "é"}, "json")


def test_mappings_tuples_and_keys_of_other_types_are_written_as_python_does() -> None:
    value = MappingProxyType({"a": (1, 2), "b": {1: None}})

    assert b'{"a":[1,2],"b":{"1":null}}' == dumps(value, "json")


def test_members_of_a_mapping_may_need_repair_too() -> None:
    assert b'{"a":{"b":1e-05}}' == dumps(MappingProxyType({"a": MappingProxyType({"b": 1e-05})}), "json")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_json_cannot_hold_is_refused_by_type(spelling: str) -> None:
    with pytest.raises(TypeError, match="complex"):
        dumps({"a": complex(1)}, spelling)


def test_an_unknown_spelling_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="serde"):
        dumps(1, "yaml")


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float32_keeps_the_float_and_needs_few_digits(number: float) -> None:
    """Read back into 32 bits it is the same number, and it never takes more than nine digits."""
    shortest = float32(number)

    assert struct.pack("<f", number) == struct.pack("<f", shortest)
    assert len(repr(abs(shortest)).partition("e")[0].replace(".", "").strip("0")) <= 9


def test_float32_drops_the_digits_that_widening_made() -> None:
    assert -0.1 == float32(-0.10000000149011612)
    assert math.inf == float32(math.inf)
    assert 1e300 == float32(1e300)


SSE = (("content-type", "text/event-stream; charset=utf-8"),)


def stream(*messages: Message, headers: tuple[tuple[str, str], ...] = SSE) -> list[bytes]:
    return [frame.data for frame in frames(Rendering(200, headers, messages, stream=True))]


def test_an_event_is_data_and_a_blank_line() -> None:
    assert [b'data: {"a":1}\n\n', b"data: [DONE]\n\n"] == stream(Message("delta", {"a": 1}), Message("done", "[DONE]"))


def test_a_named_event_says_its_name_first() -> None:
    assert [b"event: ping\ndata: {}\n\n"] == stream(Message("event", {}, event="ping"))


def test_a_comment_is_its_text_alone() -> None:
    assert [b": keep-alive\n\n"] == stream(Message("comment", "keep-alive"))


def test_text_of_several_lines_is_one_event_of_several_data_lines() -> None:
    assert [b"data: a\ndata: b\n\n"] == stream(Message("event", "a\nb"))


def test_bytes_go_out_untouched() -> None:
    assert [b"data: {"] == stream(Message("event", b"data: {"))


def test_json_lines_are_lines() -> None:
    lines = stream(Message("delta", {"a": 1}), headers=(("content-type", "application/x-ndjson"),))

    assert [b'{"a":1}\n'] == lines


def test_frames_keep_the_due_time_of_their_message() -> None:
    rendering = Rendering(200, SSE, (Message("delta", {}, due_ms=5.0), Message("done", "x", due_ms=7.5)), stream=True)

    assert (Frame(b"data: {}\n\n", 5.0), Frame(b"data: x\n\n", 7.5)) == frames(rendering)


def test_a_whole_answer_is_one_frame() -> None:
    rendering = Rendering(200, (), (Message("body", {"a": 1e-05}, due_ms=3.0),))

    assert (Frame(b'{"a":1e-05}', 3.0),) == frames(rendering)


def test_an_answer_without_a_body_has_no_frames() -> None:
    assert () == frames(Rendering(200, (), ()))


def test_the_usual_answer_takes_the_fast_path() -> None:
    """No rewriting where orjson already spells it right: what comes out is orjson's own."""
    value = {"logprob": -0.003462512046098709, "top": [{"bytes": [72]}], "x": None}

    assert orjson.dumps(value) == dumps(value, "json")
