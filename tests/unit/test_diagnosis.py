"""The diagnosis names the damage that was done."""

import math

import pytest

from fakellm.diagnosis import diagnose

TRUTH = [-0.1, -0.2, -0.3, -0.4, -0.5, -0.6]


@pytest.mark.parametrize(
    ("got", "sentence"),
    [
        (TRUTH, None),
        ([], "all 6 scores are lost"),
        (TRUTH[:-1], "the last of the scores is lost: 5 of 6 are there"),
        (TRUTH[:-2], "the last 2 scores are lost: 4 of 6 are there"),
        ([*TRUTH[:2], *TRUTH[3:]], "one of the scores is lost: position 2 of 6"),
        ([*TRUTH[:1], *TRUTH[3:]], "2 scores are lost: positions 1 to 2 of 6"),
        ([*TRUTH[1:], 0.0], "scores are shifted by one from position 0"),
        ([-9.0, *TRUTH[:-1]], "scores are shifted by one from position 0"),
        ([*TRUTH[:2], -9.0, *TRUTH[2:-1]], "scores are shifted by one from position 2"),
        ([*TRUTH, -9.0], "1 scores too many: 7 for 6"),
        ([*TRUTH, *TRUTH], "all scores are there twice"),
        ([*TRUTH[:3], -9.0, *TRUTH[4:]], "scores differ from position 3 on"),
    ],
)
def test_damage_in_one_sentence(got: list[float], sentence: str | None) -> None:
    assert sentence == diagnose(TRUTH, got, "scores")


def test_float32_rounding_is_no_damage() -> None:
    assert diagnose([-0.1], [-0.10000000149011612], "scores") is None


def test_not_a_number_is_damage() -> None:
    assert "scores differ from position 1 on" == diagnose([-0.1, -0.2, -0.3], [-0.1, math.nan, -0.3], "scores")
