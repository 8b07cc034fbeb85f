"""Seeded chance is the same everywhere: the numbers below were written down once and must never change."""

from __future__ import annotations

import itertools

from fakellm.chance import Stream


def test_equal_words_give_the_same_numbers_on_every_machine() -> None:
    stream = Stream(7, "greeting", 0)

    assert [1428070752538767860, 5668630168672300216] == [stream.next(), stream.next()]


def test_words_are_told_apart_where_they_are_cut() -> None:
    rows = [Stream("a", "bc"), Stream("ab", "c"), Stream("abc"), Stream(1), Stream("1"), Stream()]

    assert len({row.next() for row in rows}) == len(rows)


def test_a_row_goes_on_without_repeating() -> None:
    stream = Stream("long")

    assert len({stream.next() for _ in range(10_000)}) == 10_000


def test_numbers_keep_within_their_bounds_and_reach_both_ends() -> None:
    stream = Stream("bounds")

    assert set(range(6)) == {stream.below(6) for _ in range(200)}
    assert all(0.0 <= stream.unit() < 1.0 for _ in range(200))
    assert {"a", "b"} == {stream.pick("ab") for _ in range(50)}


def test_normal_numbers_have_mean_zero_and_deviation_one() -> None:
    stream = Stream("normal")
    drawn = [stream.normal() for _ in range(4_000)]
    mean = sum(drawn) / len(drawn)
    deviation = (sum((number - mean) ** 2 for number in drawn) / len(drawn)) ** 0.5

    assert abs(mean) < 0.06
    assert 0.95 < deviation < 1.05
    assert all(-10 < number < 10 for number in drawn)
    assert len(set(itertools.islice(drawn, 100))) == 100
