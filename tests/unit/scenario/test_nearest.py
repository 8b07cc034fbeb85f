"""The 501 answer: the three closest replies, field by field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.ask import Ask
from fakellm.scenario.load import from_data
from fakellm.scenario.match import Script
from fakellm.scenario.nearest import NoReply
from support.asking import ask


def missed(request: Ask, *replies: Any, played: int = 0) -> NoReply:
    script = Script(from_data({"replies": list(replies)}, "story"))
    for _ in range(played):
        script.match(request)
    with pytest.raises(NoReply) as caught:
        script.match(request)
    return caught.value


def test_every_field_says_what_was_wanted_and_what_came() -> None:
    error = missed(
        ask("Hello you", model="tiny"), {"say": "x", "when": {"model": "tiny", "last_message": {"contains": "hello"}}}
    )

    assert [
        {"field": "model", "rule": "equals 'tiny'", "got": '"tiny"', "holds": True},
        {"field": "last_message", "rule": "contains 'hello'", "got": '"Hello you"', "holds": False},
    ] == error.body()["fakellm"]["near_misses"][0]["fields"]
    assert "FAIL last_message contains 'hello'; the request has \"Hello you\"" in error.message


def test_the_reply_that_fails_on_least_comes_first() -> None:
    error = missed(
        ask("c"),
        {"say": "x", "when": {"api": "completions", "model": "other", "last_message": "c"}},
        {"say": "x", "when": {"api": "chat", "last_message": "c", "turn": 5}},
        {"say": "x", "when": {"model": "other", "turn": 5}},
        {"say": "x", "when": {"model": "other"}},
    )

    assert [1, 3, 0] == [miss.index for miss in error.near_misses]


def test_among_equals_the_most_alike_text_comes_first_also_among_thousands() -> None:
    replies = [{"say": "x", "when": {"last_message": f"question number {at}"}} for at in range(3_000)]

    error = missed(ask("question number 2718?"), *replies)

    assert 2718 == error.near_misses[0].index
    assert 3 == len(error.near_misses)


def test_a_reply_that_is_used_up_says_so() -> None:
    error = missed(ask("x"), {"say": "x", "times": 2}, played=2)

    assert [("times", "at most 2", "2 before it", False)] == [
        (check.field, check.rule, check.got, check.holds) for check in error.near_misses[0].fields
    ]


def test_what_is_absent_is_called_nothing() -> None:
    error = missed(ask("x"), {"say": "x", "when": {"json": {"seed": 7}, "flags": ["return_token_ids"]}})

    assert ["nothing", "nothing"] == [check.got for check in error.near_misses[0].fields]


def test_secrets_are_not_repeated() -> None:
    error = missed(
        ask("x", headers={"authorization": "Bearer s3cret"}), {"say": "x", "when": {"headers": {"Authorization": "y"}}}
    )

    assert "s3cret" not in json.dumps(error.body())


def test_long_values_are_cut() -> None:
    error = missed(ask("x" * 100_000), {"say": "x", "when": {"last_message": "y"}})

    assert len(error.message) < 600


def test_several_messages_show_the_closest() -> None:
    error = missed(ask("nothing alike", "hello there"), {"say": "x", "when": {"messages": "hello here"}})

    assert '"hello there" (and 1 more)' == error.near_misses[0].fields[0].got


def test_the_body_is_an_error_that_clients_show_and_machines_read() -> None:
    body = missed(ask("x"), {"say": "x", "when": {"api": "tito"}}).body()

    assert 501 == body["error"]["code"]
    assert "no reply of scenario 'story' matches this request" in body["error"]["message"]
    assert "story" == body["fakellm"]["scenario"]
    assert body == json.loads(json.dumps(body))
