"""The qwen3 grammar's parts alone: finding marks in text and by their ids, states, deltas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from fakellm.layouts.vllm.parsers.grammar.calls import Calls
from fakellm.layouts.vllm.parsers.grammar.coerce import coerced
from fakellm.layouts.vllm.parsers.grammar.lex import DROP, Lexeme, Lexer
from fakellm.layouts.vllm.parsers.grammar.machine import Event, Kind, Machine, State
from fakellm.layouts.vllm.parsers.grammar.scan import Found, Piece, Scanner
from support.stages import TOKENIZER

THINK, THINK_END, TOOL = (TOKENIZER.encode(mark)[0] for mark in ("<think>", "</think>", "<tool_call>"))
START, END = (TOKENIZER.encode(mark)[0] for mark in ("<|im_start|>", "<|im_end|>"))


def text_of(lexemes: Sequence[Lexeme]) -> list[tuple[str | None, str]]:
    return [(lexeme.mark, lexeme.text) for lexeme in lexemes]


class TestLexer:
    def lexer(self, *dropped: str) -> Lexer:
        return Lexer({"OPEN": "<tool>", "LONG": "<tool>s", "CLOSE": ">"}, dropped)

    def test_plain_text_passes_at_once(self) -> None:
        assert [(None, "Hello")] == text_of(self.lexer().feed("Hello"))

    def test_a_beginning_waits_until_it_is_a_mark(self) -> None:
        lexer = self.lexer()
        assert [(None, "a")] == text_of(lexer.feed("a<to"))
        assert lexer.holds
        assert [("OPEN", "<tool>"), (None, "b")] == text_of(lexer.feed("ol>b"))
        assert not lexer.holds

    def test_a_beginning_that_comes_to_nothing_is_text(self) -> None:
        lexer = self.lexer()
        lexer.feed("<to")
        assert [(None, "<top")] == text_of(lexer.feed("p"))

    def test_the_longest_mark_counts(self) -> None:
        lexer = self.lexer()
        assert [] == lexer.feed("<tool>")
        assert [("LONG", "<tool>s")] == text_of(lexer.feed("s"))

    def test_the_end_settles_what_waits(self) -> None:
        lexer = self.lexer()
        lexer.feed("<tool>")
        assert [("OPEN", "<tool>")] == text_of(lexer.flush())

    def test_dropped_texts_are_one_mark(self) -> None:
        assert [(None, "a"), (DROP, "<|x|>"), (None, "b")] == text_of(self.lexer("<|x|>").feed("a<|x|>b"))

    def test_tokens_are_counted_where_they_begin(self) -> None:
        found = self.lexer().feed("ab<tool>c", ["a", "b", "<tool>", "c"], 4)
        assert [2, 1, 1] == [lexeme.tokens for lexeme in found]


class TestScanner:
    def scanner(self, *removed: int) -> Scanner:
        return Scanner(
            {THINK: "THINK", THINK_END: "END", START: DROP},
            lambda one: TOKENIZER.decode([one], skip_special_tokens=False),
            removed=removed,
        )

    def scan(self, scanner: Scanner, text: str, *ids: int) -> list[str]:
        """Pieces as they are, marks by their name."""
        return [item.mark if isinstance(item, Found) else item.text for item in scanner.scan(text, ids)]

    def test_text_is_cut_at_the_ids(self) -> None:
        ids = TOKENIZER.encode("a<think>b")
        assert ["a", "THINK", "b"] == self.scan(self.scanner(), "a<think>b", *ids)

    def test_text_of_a_mark_without_its_id_is_text(self) -> None:
        letters = [TOKENIZER.encode(letter)[0] for letter in "<think>"]
        assert ["<think>"] == self.scan(self.scanner(), "<think>", *letters)

    def test_without_ids_all_is_text(self) -> None:
        assert ["a<think>b"] == self.scan(self.scanner(), "a<think>b")

    def test_a_mark_waits_for_its_text(self) -> None:
        scanner = self.scanner()
        assert [] == self.scan(scanner, "", THINK_END)
        assert scanner.waits
        assert ["held", "END", "x"] == self.scan(scanner, "held</think>x", TOKENIZER.encode("x")[0])

    def test_held_back_text_comes_before(self) -> None:
        assert ["late", "THINK"] == self.scan(self.scanner(), "late<think>", THINK)

    def test_half_of_a_marks_text_waits(self) -> None:
        scanner = self.scanner()
        assert [] == self.scan(scanner, "a</thi", THINK_END)
        assert ["a", "END", "b"] == self.scan(scanner, "nk>b", TOKENIZER.encode("b")[0])

    def test_the_end_settles_what_waits(self) -> None:
        scanner = self.scanner()
        self.scan(scanner, "a</thi", THINK_END)
        assert ["a</thi", "END"] == [item.mark if isinstance(item, Found) else item.text for item in scanner.flush()]
        assert not scanner.waits

    def test_ids_that_decode_otherwise_alone(self) -> None:
        duck = TOKENIZER.encode("🦆")
        assert len(duck) > 1
        assert ["🦆", "END", "y"] == self.scan(
            self.scanner(), "🦆</think>y", *duck, THINK_END, TOKENIZER.encode("y")[0]
        )

    def test_of_two_equal_texts_the_last_is_the_mark(self) -> None:
        ids = [*TOKENIZER.encode("🦆"), TOOL, THINK]
        assert ["<think>🦆<tool_call>", "THINK"] == self.scan(self.scanner(), "<think>🦆<tool_call><think>", *ids)

    def test_tokens_of_a_text_that_comes_later_are_counted_there(self) -> None:
        scanner = self.scanner()
        scanner.scan("", [*TOKENIZER.encode("a"), THINK_END, *TOKENIZER.encode("b")])
        pieces = [item for item in scanner.scan("a</think>b", []) if isinstance(item, Piece)]
        assert [("a", 1), ("b", 1)] == [(piece.text, piece.tokens) for piece in pieces]

    def test_removed_ids_vanish_with_their_text(self) -> None:
        assert ["ab"] == self.scan(self.scanner(END), "a<|im_end|>b", *TOKENIZER.encode("a<|im_end|>b"))


def told(events: Sequence[Event]) -> list[tuple[str, str]]:
    """Events by name, neighbouring texts of one kind joined."""
    found: list[tuple[str, str]] = []
    for event in events:
        if found and found[-1][0] == event.kind.name and event.kind in (Kind.TEXT, Kind.REASONING, Kind.ARGUMENTS):
            found[-1] = (found[-1][0], found[-1][1] + event.text)
        else:
            found.append((event.kind.name, event.text))
    return found


def steps_of(text: str, size: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Text and ids of every step, as a detokenizer gives them: an unfinished character comes with its last id."""
    ids = TOKENIZER.encode(text)
    sent = ""
    for end in range(size, len(ids) + size, size):
        so_far = TOKENIZER.decode(ids[:end], skip_special_tokens=False).rstrip("\ufffd")
        yield so_far[len(sent) :], ids[end - size : end]
        sent = so_far


def run(machine: Machine, text: str, size: int = 1) -> list[tuple[str, str]]:
    """Feed a text in steps of so many tokens, and end."""
    events = [event for step in steps_of(text, size) for event in machine.feed(*step)]
    return told([*events, *machine.finish()])


CALL = "<tool_call><function=add><parameter=a>1</parameter></function></tool_call>"
CALLED = [
    ("REASONING_END", "<tool_call>"),
    ("CALL", "<tool_call>"),
    ("NAME", "add"),
    ("ARGUMENTS", "<parameter=a>1</parameter>"),
    ("CALL_END", "</function>"),
]


class TestMachine:
    @pytest.mark.parametrize("size", [1, 2, 5, 100])
    def test_reasoning_text_call(self, size: int) -> None:
        found = run(Machine(TOKENIZER, State.REASONING), f"<think>hm</think>ok{CALL}", size)
        assert [("REASONING", "hm"), ("REASONING_END", "</think>"), ("TEXT", "ok"), *CALLED] == found

    def test_a_call_ends_the_reasoning(self) -> None:
        assert [("REASONING", "hm"), *CALLED] == run(Machine(TOKENIZER, State.REASONING), f"hm{CALL}")

    def test_reasoning_that_is_cut_ends(self) -> None:
        assert [("REASONING", "hm"), ("REASONING_END", "")] == run(Machine(TOKENIZER, State.REASONING), "hm")

    def test_a_call_that_is_cut_ends(self) -> None:
        found = run(Machine(TOKENIZER, State.CONTENT), "<tool_call><function=add><parameter=a>1")
        assert [*CALLED[:3], ("ARGUMENTS", "<parameter=a>1"), ("CALL_END", "")] == found

    def test_a_function_without_its_wrapper_is_a_call(self) -> None:
        found = run(Machine(TOKENIZER, State.CONTENT), "<function=add></function>")
        assert [("CALL", "<function="), ("NAME", "add"), ("CALL_END", "</function>"), ("CALL_END", "")] == found

    def test_skipping_tools_leaves_them_as_text(self) -> None:
        found = run(Machine(TOKENIZER, State.REASONING, skips_tools=True), f"hm{CALL}")
        assert [("REASONING", "hm"), ("REASONING_END", "<tool_call>"), ("TEXT", CALL)] == found

    def test_keeping_reasoning_marks(self) -> None:
        assert [("TEXT", "a</think>b")] == run(Machine(TOKENIZER, State.CONTENT, keeps_think=True), "a</think>b")

    @pytest.mark.parametrize(("drops", "text"), [(True, "ab"), (False, "a<|im_start|>b")])
    def test_other_special_tokens(self, drops: bool, text: str) -> None:
        machine = Machine(TOKENIZER, State.CONTENT, drops_specials=drops)
        assert [("TEXT", text)] == run(machine, "a<|im_start|>b<|im_end|>", 100)

    def test_reasoning_tokens_are_counted(self) -> None:
        machine = Machine(TOKENIZER, State.REASONING)
        run(machine, "<think>one two</think>three")
        assert len(TOKENIZER.encode("one two")) == machine.reasoning_tokens


SCHEMAS: Any = {"add": {"a": {"type": "integer"}, "s": {"type": "string"}}}


def written(parameters: str, *, schemas: Any = SCHEMAS, strips: bool = False, size: int = 1) -> str:
    """The arguments that a stream of these parameters adds up to."""
    machine, calls = Machine(TOKENIZER, State.CONTENT), Calls(schemas, strips=strips)
    steps = steps_of(f"<tool_call><function=add>{parameters}</function></tool_call>", size)
    found = [calls.delta(machine.feed(*step)) for step in steps]
    found.append(calls.delta(machine.finish(), finished=True))
    pieces = [call.function.get("arguments") or "" for delta in found if delta for call in delta.get("calls", ())]
    assert [("add", "".join(pieces))] == calls.found
    return "".join(pieces)


class TestCalls:
    @pytest.mark.parametrize("size", [1, 2, 3, 100])
    @pytest.mark.parametrize(
        ("parameters", "value"),
        [
            ("<parameter=a>1</parameter>", {"a": 1}),
            ("<parameter=a>\n1\n</parameter>\n<parameter=s>\nx\ny\n</parameter>", {"a": 1, "s": "x\ny"}),
            ('<parameter=s>a "b" \\ {c}</parameter>', {"s": 'a "b" \\ {c}'}),
            ("<parameter=a>no number</parameter>", {"a": "no number"}),
            ("<parameter=new>x</parameter>", {"new": "x"}),
            ("<parameter=s>🦆</parameter>", {"s": "🦆"}),
        ],
    )
    def test_what_is_streamed_adds_up(self, parameters: str, value: Any, size: int) -> None:
        assert value == json.loads(written(parameters, size=size))

    def test_only_the_templates_newlines_are_taken_away(self) -> None:
        assert {"s": " x "} == json.loads(written("<parameter=s>\n x \n</parameter>"))
        assert {"s": "x"} == json.loads(written("<parameter=s>\n x \n</parameter>", strips=True))

    def test_text_of_a_step_behind_a_call_comes_with_the_next(self) -> None:
        calls = Calls({})
        assert calls.delta(
            [Event(Kind.CALL, call=0), Event(Kind.NAME, "f", 0), Event(Kind.ARGUMENTS, "x", 0), Event(Kind.TEXT, "b")]
        )
        assert {"content": "bc"} == calls.delta([Event(Kind.TEXT, "c")])

    @pytest.mark.parametrize(("later_first", "content"), [(False, "ab"), (True, "ba")])
    def test_text_around_a_mark_that_says_nothing_yet(self, later_first: bool, content: str) -> None:
        calls = Calls({}, later_first=later_first)
        events = [Event(Kind.TEXT, "a"), Event(Kind.CALL, call=0), Event(Kind.TEXT, "b")]
        assert {"content": content} == calls.delta(events)

    def test_blanks_before_a_call_are_swallowed(self) -> None:
        calls = Calls({})
        assert calls.delta([Event(Kind.TEXT, "\n")]) is None
        delta = calls.delta([Event(Kind.CALL, call=0), Event(Kind.NAME, "f", 0), Event(Kind.ARGUMENTS, "x", 0)])
        assert delta is not None
        assert "content" not in delta

    def test_blanks_before_text_are_kept(self) -> None:
        calls = Calls({})
        calls.delta([Event(Kind.TEXT, "\n")])
        assert {"content": "\na"} == calls.delta([Event(Kind.TEXT, "a")])

    def test_suppressed_calls_leave_the_text_together(self) -> None:
        calls = Calls({}, suppressed=True)
        events = [Event(Kind.TEXT, "a"), Event(Kind.CALL, call=0), Event(Kind.NAME, "f", 0), Event(Kind.TEXT, "b")]
        assert {"content": "ab"} == calls.delta(events)
        assert [] == calls.found


class TestCoercion:
    @pytest.mark.parametrize(
        ("value", "schema", "becomes"),
        [
            ("1", {"type": "integer"}, 1),
            ("1.5", {"type": "number"}, 1.5),
            ("true", {"type": "boolean"}, True),
            ("[1, 2]", {"type": "array"}, [1, 2]),
            ('{"x": 1}', {"type": "object"}, {"x": 1}),
            ("null", {"type": ["string", "null"]}, None),
            ("x", {"type": "integer"}, "x"),
            ("1", {"type": "string"}, "1"),
        ],
    )
    def test_by_the_schema(self, value: str, schema: Any, becomes: Any) -> None:
        assert becomes == coerced(value, schema)
        assert type(becomes) is type(coerced(value, schema))
