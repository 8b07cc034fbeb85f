"""Globs select cases by id or slug; brackets are literal."""

import pytest

from fakellm.conform.globs import matches

CASE = "ids/nested-under-choice[api=chat,layout=vllm-0.32.0,stream=true]"


@pytest.mark.parametrize(
    "pattern",
    [
        CASE,
        "ids/nested-under-choice",
        "ids/*",
        "ids/nested*",
        "**",
        "**stream=true]",
        "ids/nested-under-choice[api=chat,**",
        "?ds/*",
        "**/nested*",
    ],
)
def test_selects(pattern: str) -> None:
    assert matches(pattern, CASE)


@pytest.mark.parametrize("pattern", ["*", "ids", "ids/nested", "ids/[a-z]*", "ids/nested?under", "IDS/*", ""])
def test_does_not_select(pattern: str) -> None:
    assert not matches(pattern, CASE)


def test_brackets_are_literal_not_a_set_of_characters() -> None:
    assert not matches("ids/nested-under-choice[ac]", "ids/nested-under-choicea")


def test_a_former_name_still_selects_with_and_without_axes() -> None:
    assert matches("ids/below-choice", CASE, ["ids/below-choice"])
    assert matches("ids/below-choice[api=chat,**", CASE, ["ids/below-choice"])
