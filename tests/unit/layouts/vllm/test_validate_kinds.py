"""Values are checked and coerced as pydantic does in lax mode; flaws carry its types, places and words."""

import pytest

from fakellm.layouts.vllm.validate.containers import ListOf, MapOf, Maybe, Union
from fakellm.layouts.vllm.validate.kinds import Flag, Number, OneOf, Text, Whole
from fakellm.layouts.vllm.validate.records import OMITTED, REQUIRED, Branches, Field, Record


def checked(kind, value):
    flaws = []
    return kind.check(value, ("body", "x"), flaws), flaws


@pytest.mark.parametrize(
    ("kind", "given", "taken"),
    [
        (Flag(), "Yes", True),
        (Flag(), "off", False),
        (Flag(), 1, True),
        (Flag(), 0.0, False),
        (Whole(), "1_000", 1000),
        (Whole(), " 12.0 ", 12),
        (Whole(), True, 1),
        (Whole(), 2.0, 2),
        (Number(), "1e5", 100000.0),
        (Number(), 3, 3.0),
        (Maybe(Whole()), None, None),
        (Union((ListOf(Whole()), ListOf(Text()))), ["1"], ["1"]),
        (Union((ListOf(Whole()), ListOf(Text()))), [1], [1]),
        (MapOf(Number()), {"a": 1}, {"a": 1.0}),
    ],
)
def test_what_is_taken(kind, given, taken):
    value, flaws = checked(kind, given)

    assert [] == flaws
    assert taken == value
    assert type(taken) is type(value)


@pytest.mark.parametrize(
    ("kind", "given", "flaw", "message"),
    [
        (Flag(), "maybe", "bool_parsing", "Input should be a valid boolean, unable to interpret input"),
        (Flag(), 2, "bool_parsing", "Input should be a valid boolean, unable to interpret input"),
        (Flag(), 0.5, "bool_type", "Input should be a valid boolean"),
        (Flag(), [], "bool_type", "Input should be a valid boolean"),
        (Whole(), "1.5", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"),
        (Whole(), 1.5, "int_from_float", "Input should be a valid integer, got a number with a fractional part"),
        (Whole(), float("inf"), "finite_number", "Input should be a finite number"),
        (Whole(), [1], "int_type", "Input should be a valid integer"),
        (Whole(0), -1, "greater_than_equal", "Input should be greater than or equal to 0"),
        (Number(-2.0, 2.0), 3, "less_than_equal", "Input should be less than or equal to 2"),
        (Number(), "hot", "float_parsing", "Input should be a valid number, unable to parse string as a number"),
        (Number(), 10**400, "float_type", "Input should be a valid number"),
        (Text(), 5, "string_type", "Input should be a valid string"),
        (Text(1), "", "string_too_short", "String should have at least 1 character"),
        (OneOf(("a", "b", "c")), "d", "literal_error", "Input should be 'a', 'b' or 'c'"),
        (ListOf(Text()), "ab", "list_type", "Input should be a valid list"),
        (ListOf(Text(), at_most=1), ["a", "b"], "too_long", "List should have at most 1 item after validation, not 2"),
        (MapOf(Text()), [], "dict_type", "Input should be a valid dictionary"),
    ],
)
def test_what_is_flawed(kind, given, flaw, message):
    _, flaws = checked(kind, given)

    assert [(flaw, ("body", "x"), message, given)] == [(f.kind, f.path, f.message, f.given) for f in flaws]


def test_a_union_reports_every_member_by_its_label():
    kind = Union((Text(), ListOf(Text(), at_most=4)))

    _, flaws = checked(kind, [1, 2])

    places = [flaw.path[2:] for flaw in flaws]
    assert [("str",), ("list[str]", 0), ("list[str]", 1)] == places


def test_records_report_in_the_order_of_their_fields_and_keep_defaults():
    record = Record(
        "R",
        (
            Field("late", Whole(), 3),
            Field("first", Text(), REQUIRED),
            Field("key", Text(), OMITTED),
            Field("n", Whole(), 1),
        ),
    )

    value, _ = checked(record, {"first": "a", "extra": 1})
    _, flaws = checked(record, {"n": "two", "late": "x"})

    assert {"late": 3, "first": "a", "n": 1} == value
    assert ["late", "first", "n"] == [flaw.path[-1] for flaw in flaws]
    assert ["int_parsing", "missing", "int_parsing"] == [flaw.kind for flaw in flaws]


@pytest.mark.parametrize(
    ("nature", "kind"),
    [("model", "model_attributes_type"), ("dictionary", "dict_type"), ("dataclass", "dataclass_type")],
)
def test_the_nature_of_a_record_shows_in_its_flaw(nature, kind):
    _, flaws = checked(Record("R", (), nature), 5)

    assert [kind] == [flaw.kind for flaw in flaws]


def test_fields_come_and_go_with_versions():
    record = Record("R", (Field("old", Text(), until=(0, 12, 0)), Field("new", Text(), since=(0, 24, 0))))

    assert {"old"} == record.at((0, 10, 2)).names()
    assert frozenset() == record.at((0, 16, 0)).names()
    assert {"new"} == record.at((0, 32, 0)).names()


def test_a_body_of_several_records_takes_the_first_that_fits():
    body = Branches((Record("A", (Field("a", Text(), REQUIRED),)), Record("B", (Field("b", Text(), REQUIRED),))))

    value, flaws = checked(body, {"b": "x"})
    _, neither = checked(body, {})

    assert ({"b": "x"}, []) == (value, flaws)
    assert [("A", "a"), ("B", "b")] == [flaw.path[2:] for flaw in neither]
