"""A difference is named by its first position and by the kind of damage."""

from __future__ import annotations

from typing import Any

import pytest

from fakellm.conform.checks.compare import difference, equal_ids, equal_scores

SCORES = (-0.5, -0.25, -0.125, -1.5, -2.5)


@pytest.mark.parametrize(
    ("position", "sentence", "got"),
    [
        (4, "the last 1 of 5 are missing", SCORES[:4]),
        (0, "an empty list stands for what is not known", ()),
        (5, "padded at the end with 2 times 0.0", (*SCORES, 0.0, 0.0)),
        (5, "everything 2 times over", SCORES * 2),
        (5, "1 too many at the end", (*SCORES, -3.0)),
        (2, "shifted by one from position 2", (-0.5, -0.25, -0.25, -0.125, -1.5)),
        (1, "1 of 5 is missing, the first at position 1", (-0.5, -0.125, -1.5, -2.5)),
        (2, "null at position 2", (-0.5, -0.25, None, -1.5, -2.5)),
        (1, "rounded: off by up to 0.005, from position 1", (-0.5, -0.255, -0.125, -1.5, -2.5)),
        (0, "strings instead of numbers from position 0", ("-0.5", *SCORES[1:])),
        (0, "other values from position 0", (-7.0, -8.0, -9.0, -10.0, -11.0)),
    ],
)
def test_the_kind_of_damage_is_named(position: int, sentence: str, got: tuple[Any, ...]) -> None:
    found = difference(SCORES, got, equal_scores)

    assert found is not None
    assert (position, sentence) == (found.position, found.sentence)


def test_equal_sequences_have_no_difference() -> None:
    assert difference((1, 2), (1, 2), equal_ids) is None
    assert difference((), (), equal_ids) is None
