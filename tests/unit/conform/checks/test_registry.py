"""Every check says what it requires, why, and where that comes from."""

from __future__ import annotations

import re

import pytest

from fakellm.conform.check import Check
from fakellm.conform.checks import all_checks, find_check
from fakellm.conform.finding import Level
from fakellm.errors import UsageError

FIXED = {"align.ids-vs-logprobs", "capture.recovered", "capture.kept", "capture.yield", "outcome.crash-on-untrusted"}


def test_the_words_of_the_contract_are_there() -> None:
    assert FIXED <= {check.id for check in all_checks()}
    assert len(all_checks()) == len({check.id for check in all_checks()})


@pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.id)
def test_a_check_explains_itself(check: Check) -> None:
    word = {Level.MUST: "MUST", Level.SHOULD: "SHOULD"}.get(check.level)

    assert word is None or word in check.requirement
    assert re.fullmatch(r"\S.*\.", check.requirement)
    assert check.sources
    assert all(source.startswith("https://") for source in check.sources)


def test_an_unknown_check_is_told_with_the_closest_one() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'align\.logprobs'"):
        find_check("align.logprob")
