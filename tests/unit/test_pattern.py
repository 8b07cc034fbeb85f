"""Regex rules agree with Python's own search, and cost little whatever the pattern."""

from __future__ import annotations

import random
import re
import time
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakellm.errors import ScenarioError
from fakellm.pattern import MAX_TEXT, Pattern

ATOMS = [
    *"abc_é1 ", r"\n", ".", r"\d", r"\w", r"\s", r"\W", r"\D", r"\S", "[ab]", "[^a]", "[a-c]", r"[^\n\w]", "^", "$",
    r"\b", r"\B", r"\A", r"\Z", "(?:a|b)", "(ab)", "(?i:A)", "(?s:.)", "(?m:^)", "(?m:$)", r"\x61", r"\u0062", "[]a]",
    "[a-]", "(?P<n>b)", "{", "(?:a{,2})", r"\.", "(?#note)", "(?i:[^A-B])", "|", r"\101", r"[\d_]", r"[\x61-\x63]",
]  # fmt: skip
QUANTIFIERS = ["", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,2}", "{1,}", "*?", "+?", "??"]
pieces = st.tuples(st.sampled_from(ATOMS), st.sampled_from(QUANTIFIERS)).map("".join)
groups = st.tuples(st.sampled_from(["(", "(?:"]), st.lists(pieces, max_size=4), st.sampled_from(QUANTIFIERS)).map(
    lambda parts: f"{parts[0]}{''.join(parts[1])}){parts[2]}"
)
patterns = st.lists(pieces | groups, min_size=1, max_size=5).map("".join)
texts = st.text(alphabet="aAbcé_1 \n.x{", min_size=1, max_size=10)


class TestSameAsPython:
    @given(source=patterns, text=texts, flags=st.sampled_from(["", "(?i)", "(?m)", "(?s)", "(?ims)"]))
    @settings(max_examples=600)
    def test_a_pattern_is_found_where_python_finds_it(self, source: str, text: str, flags: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = bool(re.search(flags + source, text))
            except re.error:
                return

        assert expected == Pattern(flags + source).found_in(text)

    @pytest.mark.parametrize(
        ("source", "text", "found"),
        [
            (r"\b(weather|temperature) in \w+", "What is the weather in Paris?", True),
            (r"^hello$", "hello\n", True),
            (r"\Ahello\Z", "hello\n", False),
            (r"(?i)straße", "STRASSE", False),
            (r"[^\W\d]{3}", "12abc", True),
            (r"colou?r|grey", "a gray cat", False),
            (r"", "", True),
        ],
    )
    def test_patterns_that_people_write(self, source: str, text: str, found: bool) -> None:
        assert found == Pattern(source).found_in(text)

    def test_a_pattern_gives_the_same_answer_twice(self) -> None:
        pattern = Pattern("a+b")

        assert [True, False, True] == [pattern.found_in(text) for text in ("xaab", "xaac", "xaab")]


class TestRefused:
    @pytest.mark.parametrize(
        ("source", "what"),
        [
            ("(?=a)", "a look-ahead"),
            ("(?<!a)b", "a look-behind"),
            (r"(a)\1", "a backreference"),
            ("(?P<x>a)(?P=x)", "a backreference"),
            ("(?>a)", "an atomic group"),
            ("a++", "a possessive repetition"),
            ("(?x) a", "the flag x"),
            (r"\N{BULLET}", "a character by its name"),
            ("a{2000}", "a repetition of more than 1000"),
            ("(", "this is not a regex"),
            ("(((a{100}){100}){100})", "too large"),
            ("(" * 400 + ")" * 400, "nested too deeply"),
            ("a" * 2000, "more than 1000"),
        ],
    )
    def test_what_an_automaton_cannot_do_is_named(self, source: str, what: str) -> None:
        with pytest.raises(ScenarioError) as caught:
            Pattern(source)

        assert what in caught.value.message


class TestCost:
    """Python's own search would need minutes to centuries for these."""

    @pytest.mark.parametrize(
        ("source", "text"),
        [
            ("(a+)+$", "a" * 100_000 + "b"),
            ("(a|aa)*b", "a" * 100_000),
            ("(x+x+)+y", "x" * 100_000),
            (".*.*.*.*=", "a" * 500_000),
        ],
    )
    def test_patterns_that_make_backtracking_explode_take_milliseconds(self, source: str, text: str) -> None:
        started = time.process_time()

        assert not Pattern(source).found_in(text)
        assert time.process_time() - started < 2.0

    def test_a_pattern_with_too_many_states_is_given_up_with_words(self) -> None:
        pattern = Pattern("(a|b)*a(a|b){300}c")
        text = "".join(random.Random(1).choices("ab", k=100_000))

        with pytest.raises(ScenarioError, match="too much work on a text of 100000 characters"):
            pattern.found_in(text)

    def test_only_the_beginning_of_an_enormous_text_is_searched(self) -> None:
        assert not Pattern("b").found_in("a" * MAX_TEXT + "b")
