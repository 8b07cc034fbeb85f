"""Choices stay apart; requests reach the server once and whole."""

from __future__ import annotations

from typing import Any

import pytest

from fakellm.capture import CapturedChoice
from support.observations import REQUEST, WHOLE, but, observation, outcomes

OTHER = but(index=1, completion_token_ids=(15, 16, 2), logprobs=(-1.5, -1.25, -1.125), text="ho")
TWO: dict[str, Any] = {"truth": (WHOLE, OTHER), "n": 2}


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ("PASS", (WHOLE, OTHER)),
        ("PASS", (OTHER, WHOLE)),
        ("PASS", (but(index=1), but(OTHER, index=2))),
        ("FAIL", (but(index=1), but(OTHER, index=0))),
        ("FAIL", (but(logprobs=(-0.5, -1.25, -0.125)), OTHER)),
        ("FAIL", (but(completion_token_ids=(5, 15, 6, 16, 2, 2)), OTHER)),
    ],
)
def test_choices_are_told_apart_by_index(expected: str, got: tuple[CapturedChoice, ...]) -> None:
    assert [expected] == outcomes("choices.apart", observation(*got, **TWO))


@pytest.mark.parametrize(
    ("expected", "got"), [("PASS", (WHOLE, OTHER)), ("FAIL", (WHOLE,)), ("FAIL", (WHOLE, OTHER, WHOLE))]
)
def test_no_choice_is_lost_or_made_up(expected: str, got: tuple[CapturedChoice, ...]) -> None:
    assert [expected] == outcomes("choices.complete", observation(*got, **TWO))


@pytest.mark.parametrize(
    ("check", "body"),
    [
        ("request.flags-sent", {key: value for key, value in REQUEST.items() if key != "return_token_ids"}),
        ("request.flags-sent", {**REQUEST, "return_token_ids": 1}),
        ("request.fields-kept", {**REQUEST, "x_mine": {"a": [1, 2]}}),
        ("request.fields-kept", {**REQUEST, "x_mine": {}}),
        ("request.fields-kept", {"model": "m", "messages": [], "return_token_ids": True}),
    ],
)
def test_what_the_caller_asked_for_reaches_the_server(check: str, body: dict[str, Any]) -> None:
    assert ["PASS"] == outcomes(check, observation(WHOLE, body={**REQUEST, "stream": False}))
    assert ["FAIL"] == outcomes(check, observation(WHOLE, body=body))


@pytest.mark.parametrize(
    ("expected", "calls"),
    [("PASS", (200,)), ("PASS", (503, 429, 200)), ("FAIL", (200, 200)), ("FAIL", (400, 200)), ("FAIL", ())],
)
def test_one_call_and_another_only_with_reason(expected: str, calls: tuple[int, ...]) -> None:
    assert [expected] == outcomes("request.one-call", observation(WHOLE, calls=calls))
