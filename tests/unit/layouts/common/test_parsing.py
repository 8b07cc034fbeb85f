"""Taking an answer apart: reasoning, content, calls told whole, what is held and what becomes of it."""

from __future__ import annotations

import pytest

from fakellm.layouts.common.parsing import HELD, AnswerParser, Marks, calls_in, closed, span_of
from fakellm.told import Part

CALL = '<tool_call>{"name": "add", "arguments": {"a":  1}}</tool_call>'


PLAIN = Marks()


def pushed(*texts: str, marks: Marks = PLAIN, tools: bool = True) -> list[tuple[Part, ...]]:
    """The parts of each step; the last text finishes the answer."""
    parser = AnswerParser(marks, tools=tools)
    return [parser.push(text, finished=text is texts[-1]) for text in texts]


def test_reasoning_and_content_of_one_step_come_apart() -> None:
    assert [(Part("reasoning", "Hm."), Part("content", "Yes."))] == pushed("<think>Hm.</think>Yes.")


def test_a_stray_end_mark_is_dropped() -> None:
    assert [(Part("content", "a"), Part("content", "b"))] == pushed("a</think>b")


def test_a_call_keeps_the_blanks_of_its_arguments() -> None:
    assert [(Part("tool", '{"a":  1}', 0, "add"),)] == pushed(CALL)


def test_text_around_calls_is_content() -> None:
    (parts,) = pushed(f"x{CALL}y")

    assert (Part("content", "x"), Part("tool", '{"a":  1}', 0, "add"), Part("content", "y")) == parts


def test_what_may_be_a_call_is_held_until_it_is_certain() -> None:
    assert [(Part("content", "a "), HELD), (Part("content", "<tool x"),)] == pushed("a <tool", " x")


def test_a_call_that_has_begun_holds_every_step_until_its_end() -> None:
    first, second, last = pushed("<tool_call>{", '"name": "f"}', "</tool_call>")

    assert ((HELD,), (HELD,)) == (first, second)
    assert (Part("tool", "{}", 0, "f"),) == last


def test_a_call_cut_off_is_told_when_closing_it_makes_one() -> None:
    (parts,) = pushed('<tool_call>{"name": "f", "arguments": {"a": "x')

    assert (Part("tool", '{"a": "x"}', 0, "f"),) == parts


def test_a_call_cut_off_in_a_name_is_dropped() -> None:
    (parts,) = pushed('a<tool_call>{"name": "f", "argum')

    assert (Part("content", "a"), HELD, Part("content", "")) == parts


def test_calls_are_text_where_no_tools_were_offered() -> None:
    assert [(Part("content", CALL),)] == pushed(CALL, tools=False)


def test_reasoning_marks_in_pieces_are_waited_for_only_where_a_server_waits() -> None:
    assert [(), (Part("reasoning", "a"),)] == pushed("<thi", "nk>a", marks=Marks(waits=True))
    assert [(Part("content", "<thi"),), (Part("content", "nk>a"),)] == pushed("<thi", "nk>a")


def test_an_array_is_several_calls() -> None:
    assert [("f", "{}"), ("g", "[1]")] == calls_in('[{"name": "f"}, {"name": "g", "parameters": [1]}]')


@pytest.mark.parametrize("written", ["", "no json", "[1]", '{"name": 5}', "7"])
def test_what_is_no_call_gives_none(written: str) -> None:
    assert [] == calls_in(written)


def test_what_is_open_is_closed() -> None:
    assert '{"a": [1, {"b": "c\\""}]}' == closed('{"a": [1, {"b": "c\\"')


def test_a_value_is_found_in_the_text_by_its_path() -> None:
    text = '{"a": {"b": [1, "x"]}, "a" : {"b":[ 1 , "yy"] } }'

    start, end = span_of(text, ("a", "b", 1))

    assert '"yy"' == text[start:end]
