"""YAML and JSON texts to plain data: YAML 1.2 scalars only, and nothing that hides what is meant."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakellm.errors import ScenarioError
from fakellm.scenario.source import parse_scalar, read_text, spell


def read(text: str) -> object:
    return read_text(text, "x.yaml").data


class TestScalars:
    @pytest.mark.parametrize(
        "text",
        ["NO", "no", "yes", "on", "Off", "y", "0x1F", "0o17", "1_000", "12:30", "2001-01-01", "1e", "=", "- 1x"[2:]],
    )
    def test_words_that_older_yaml_reads_otherwise_stay_text(self, text: str) -> None:
        assert text == read(f"a: {text}")["a"]  # type: ignore[index]

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("12", 12),
            ("-3", -3),
            ("010", 10),
            ("1.5", 1.5),
            ("1e3", 1000.0),
            (".5", 0.5),
            ("true", True),
            ("False", False),
        ],
    )
    def test_numbers_and_booleans_are_read(self, text: str, value: object) -> None:
        found = read(f"a: {text}")["a"]  # type: ignore[index]

        assert value == found
        assert type(value) is type(found)

    @pytest.mark.parametrize("text", ["", "~", "null", "NULL"])
    def test_nothing_is_null(self, text: str) -> None:
        assert {"a": None} == read(f"a: {text}")

    def test_infinity_is_a_number(self) -> None:
        assert -math.inf == parse_scalar("-.inf")
        assert math.isnan(parse_scalar(".nan"))

    @pytest.mark.parametrize("text", ["'12'", '"true"', "!!str 12", "|-\n  12"])
    def test_quoted_scalars_are_text(self, text: str) -> None:
        assert isinstance(read(f"a: {text}")["a"], str)  # type: ignore[index]

    def test_keys_are_text(self) -> None:
        assert {"1": "a", "NO": "b", "true": "c"} == read("{1: a, NO: b, true: c}")


class TestRefusals:
    @pytest.mark.parametrize(
        ("text", "line", "words"),
        [
            ("a: 1\nb: 2\na: 3", 3, "the key 'a' a second time"),
            ("a: &x 1", 1, "the anchor &x"),
            ("a: 1\nb: *x", 2, "the alias *x"),
            ("<<: {a: 1}", 1, "a merge key"),
            ("a: !!python/name:os.system 1", 1, "the tag tag:yaml.org,2002:python/name:os.system"),
            ("? [1]\n: 2", 1, "a key that is not plain text"),
            ("a: 1\n---\nb: 2", 2, "a second document"),
            ("a:\n  b: [1,\n", 3, "this is not YAML"),
            ("a: " + "[" * 90 + "]" * 90, 1, "nesting deeper than 64"),
            ("a: " + "9" * 500, 1, "a number of more than 400 digits"),
        ],
    )
    def test_what_is_refused_is_named_with_its_line(self, text: str, line: int, words: str) -> None:
        with pytest.raises(ScenarioError) as caught:
            read(text)

        assert words in caught.value.message
        assert (caught.value.where or "").startswith(f"x.yaml:{line}")

    @pytest.mark.parametrize("text", ["", "  \n\n", "# only a comment\n", "\0"])
    def test_a_file_with_nothing_in_it_is_refused(self, text: str) -> None:
        with pytest.raises(ScenarioError, match=r"empty|only comments|not YAML"):
            read(text)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ('{"a": 1, "a": 2}', "a second time"),
            ('{"a": NaN}', "NaN is not JSON"),
            ('{"a": }', "this is not JSON"),
            ("[" * 100_000, "cannot be read"),
            ("9" * 5_000, "cannot be read"),
        ],
    )
    def test_json_is_as_strict(self, text: str, words: str) -> None:
        with pytest.raises(ScenarioError, match=words):
            read_text(text, "x.json")


class TestPlaces:
    def test_every_value_has_its_line(self) -> None:
        source = read_text("replies:\n  - say: a\n  - say: b\n    when:\n      api: chat\n", "dir/x.yaml")

        assert "dir/x.yaml:5, field replies[1].when.api" == source.where(("replies", 1, "when", "api"))

    def test_what_is_not_there_has_the_line_of_what_is_around_it(self) -> None:
        source = read_text("replies:\n  - when: {}\n", "x.yaml")

        assert "x.yaml:2, field replies[0].say" == source.where(("replies", 0, "say"))

    def test_json_has_lines_too(self) -> None:
        assert "x.json:2, field b" == read_text('{"a": 1,\n "b": 2}', "x.json").where(("b",))

    def test_a_path_is_spelled_as_people_write_it(self) -> None:
        assert "replies[0].say.tokens[2]" == spell(("replies", 0, "say", "tokens", 2))


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(plain.filter(lambda value: value is not None))
def test_json_reads_back_what_was_written(value: object) -> None:
    assert value == read_text(json.dumps(value), "x.json").data


@given(st.text(max_size=80) | st.text(alphabet="ab:{}[]-&*!'\"|>?#,% \n\t~<", max_size=60))
def test_any_text_gives_data_or_a_scenario_error(text: str) -> None:
    for name in ("x.yaml", "x.json"):
        where: str | None = name
        try:
            read_text(text, name)
        except ScenarioError as error:
            where = error.where

        assert (where or "").startswith(name)
