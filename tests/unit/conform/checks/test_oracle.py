"""The table of CONFORMANCE section 2, row by row: what passes and what fails when the wire lies."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fakellm.capture import CapturedChoice
from fakellm.conform.observation import Ending, Loss, Observation, Sent
from support.observations import CRASHED, REFUSED, WHOLE, but, fault, observation, outcomes, sends

HOLLOW = CapturedChoice(index=0)


@pytest.mark.parametrize(
    ("check", "spoilt"),
    [
        ("align.prompt-ids", but(prompt_token_ids=(7, 8))),
        ("align.prompt-ids", but(prompt_token_ids=())),
        ("align.completion-ids", but(completion_token_ids=(5, 6))),
        ("align.completion-ids", but(completion_token_ids=("5", "6", "2"))),
        ("align.completion-ids", but(completion_token_ids=(5.0, 6.0, 2.0))),
        ("align.logprobs", but(logprobs=(-0.25, -0.125, -0.5))),
        ("align.logprobs", but(logprobs=(-0.5, -0.25, None))),
        ("align.logprobs", but(logprobs=(-0.5, -0.25, -0.1251))),
        ("align.ids-vs-logprobs", but(logprobs=(-0.5, -0.25))),
        ("scores.finite", but(logprobs=(-0.5, math.nan, -0.125))),
        ("scores.finite", but(logprobs=(-0.5, -9999.0, -0.125))),
        ("scores.finite", but(logprobs=(-0.5, 0.1, -0.125))),
        ("text.kept", but(text="hi ")),
        ("finish.kept", but(finish_reason="length")),
        ("ids.from-the-wire", but(completion_token_ids=(5, 6, 77))),
        ("outcome.errors-surfaced", HOLLOW),
    ],
)
def test_a_healthy_answer_has_to_be_captured_as_it_is(check: str, spoilt: CapturedChoice) -> None:
    assert ["PASS"] == outcomes(check, observation(WHOLE))
    assert ["FAIL"] == outcomes(check, observation(spoilt))


@pytest.mark.parametrize("ending", [REFUSED, CRASHED])
def test_a_healthy_answer_must_not_be_refused(ending: Ending) -> None:
    assert ["FAIL"] == outcomes("outcome.healthy-captured", observation(ending=ending))
    assert ["PASS"] == outcomes("outcome.healthy-captured", observation(WHOLE))


@pytest.mark.parametrize(("finish_reason", "expected"), [("abort", []), ("length", ["FAIL"])])
def test_of_healthy_answers_only_an_aborted_one_may_be_refused(finish_reason: str, expected: list[str]) -> None:
    cut_off = but(finish_reason=finish_reason)

    seen = observation(truth=(cut_off,), sent=sends(cut_off), ending=REFUSED)

    assert expected == outcomes("outcome.healthy-captured", seen)


def test_float32_is_the_precision_of_scores() -> None:
    rounded = but(logprobs=(-0.5, -0.25 - 1e-10, -0.125))

    assert ["PASS"] == outcomes("align.logprobs", observation(rounded))


RECOVER = [fault("recover", values=("prompt_token_ids",))]


@pytest.mark.parametrize(
    ("expected", "one"),
    [
        ("PASS", observation(WHOLE, faults=RECOVER)),
        ("FAIL", observation(but(prompt_token_ids=(1,)), faults=RECOVER)),
        ("FAIL", observation(but(prompt_token_ids=None), faults=RECOVER)),
        ("FAIL", observation(ending=REFUSED, faults=RECOVER)),
        ("FAIL", observation(ending=CRASHED, faults=RECOVER)),
        ("PASS", observation(ending=REFUSED, faults=[fault("recover", "refuse")])),
        ("PASS", observation(WHOLE, faults=[fault("recover", "refuse")])),
        ("FAIL", observation(but(text="no"), faults=[fault("recover", "refuse")])),
    ],
)
def test_recover(expected: str, one: Observation) -> None:
    assert [expected] == outcomes("capture.recovered", one, observation(WHOLE))


def test_a_null_is_no_lost_recovery_where_the_client_never_shows_the_value() -> None:
    unexposed = observation(but(prompt_token_ids=None), faults=RECOVER)

    assert ["PASS"] == outcomes("capture.recovered", unexposed)


NULL = [fault("null", values=("prompt_token_ids",))]
WITHOUT: Sent = sends(but(prompt_token_ids=None))


@pytest.mark.parametrize(
    ("expected", "one"),
    [
        (["PASS"], observation(but(prompt_token_ids=None), sent=WITHOUT, faults=NULL)),
        (["PASS"], observation(ending=REFUSED, sent=WITHOUT, faults=NULL)),
        (["FAIL"], observation(but(prompt_token_ids=()), sent=WITHOUT, faults=NULL)),
        (["FAIL"], observation(but(prompt_token_ids=(7, 8, 9)), sent=WITHOUT, faults=NULL)),
        ([], observation(but(prompt_token_ids=()), sent=WITHOUT, faults=NULL, captures=("text",))),
    ],
)
def test_null_where_nothing_is_on_the_wire(expected: list[str], one: Observation) -> None:
    assert expected == outcomes("capture.nothing-invented", one)


PARTLY: dict[str, Any] = {"sent": sends(but(logprobs=(-0.5, -0.25))), "faults": [fault("null", values=("logprobs",))]}


@pytest.mark.parametrize(
    ("expected", "one"),
    [
        ("PASS", observation(but(logprobs=None), **PARTLY)),
        ("PASS", observation(ending=REFUSED, **PARTLY)),
        ("FAIL", observation(but(logprobs=(-0.5, -0.25)), **PARTLY)),
        ("FAIL", observation(but(logprobs=(-0.5, -0.25, 0.0)), **PARTLY)),
        ("FAIL", observation(but(logprobs=()), **PARTLY)),
    ],
)
def test_null_where_a_part_is_on_the_wire(expected: str, one: Observation) -> None:
    assert [expected] == outcomes("capture.partial-is-not-whole", one)


REFUSE: dict[str, Any] = {
    "sent": sends(but(logprobs=(-0.5, None, -0.125))),
    "faults": [fault("refuse", values=("logprobs",))],
}


@pytest.mark.parametrize(
    ("expected", "one"),
    [
        ("PASS", observation(ending=REFUSED, **REFUSE)),
        ("PASS", observation(ending=CRASHED, **REFUSE)),
        ("PASS", observation(but(logprobs=None), **REFUSE)),
        ("FAIL", observation(but(logprobs=(-0.5, None, -0.125)), **REFUSE)),
        ("FAIL", observation(but(logprobs=(-0.5, 0.0, -0.125)), **REFUSE)),
    ],
)
def test_refuse(expected: str, one: Observation) -> None:
    assert [expected] == outcomes("outcome.contradiction-refused", one)


SHIFTED = but(logprobs=(-0.25, -0.125, -0.5))
AS_SENT: dict[str, Any] = {"sent": sends(SHIFTED), "faults": [fault("as-sent", values=("logprobs",))]}


@pytest.mark.parametrize(
    ("expected", "one"),
    [
        (["PASS"], observation(SHIFTED, **AS_SENT)),
        (["FAIL"], observation(WHOLE, **AS_SENT)),
        ([], observation(ending=REFUSED, **AS_SENT)),
    ],
)
def test_as_sent(expected: list[str], one: Observation) -> None:
    assert expected == outcomes("align.logprobs", one)


LOST: dict[str, Any] = {
    "truth": (but(logprobs=(-0.5, -0.25)),),
    "losses": [Loss(value="logprobs", words="steps without text")],
}


@pytest.mark.parametrize("got", [but(logprobs=(-0.5, -0.25)), but(logprobs=None)])
def test_a_loss_that_the_layout_declares_may_be_shown_as_it_is_or_as_null(got: CapturedChoice) -> None:
    one = observation(got, **LOST)

    assert "FAIL" not in outcomes("align.logprobs", one) + outcomes("align.ids-vs-logprobs", one)
    assert [] == outcomes("outcome.healthy-captured", observation(ending=REFUSED, **LOST))


def test_a_fault_that_did_nothing_here_excuses_nothing() -> None:
    one = observation(but(prompt_token_ids=None), faults=NULL)

    assert outcomes("capture.kept", one, observation(WHOLE)).count("FAIL") == 1


USAGE_WRONG: dict[str, Any] = {
    "sent": sends(WHOLE, usage={"prompt_tokens": 3, "completion_tokens": 9}),
    "faults": [fault("refuse", values=("usage",))],
}


@pytest.mark.parametrize(
    ("expected", "one"),
    [
        ("PASS", observation(ending=REFUSED, **USAGE_WRONG)),
        ("PASS", observation(but(completion_token_ids=None), **USAGE_WRONG)),
        ("FAIL", observation(WHOLE, **USAGE_WRONG)),
        ("FAIL", observation(but(prompt_token_ids=None), **USAGE_WRONG)),
    ],
)
def test_a_usage_that_contradicts_the_ids(expected: str, one: Observation) -> None:
    assert [expected] == outcomes("usage.contradiction-noticed", one)


ERROR: dict[str, Any] = {"truth": (), "sent": Sent(status=503, body=b'{"error":"busy"}')}


@pytest.mark.parametrize(
    ("expected", "one"),
    [
        ("PASS", observation(ending=REFUSED, **ERROR)),
        ("PASS", observation(ending=CRASHED, **ERROR)),
        ("FAIL", observation(**ERROR)),
        ("FAIL", observation(HOLLOW, **ERROR)),
        ("FAIL", observation(WHOLE, sent=sends(WHOLE, cut=True))),
        ("FAIL", observation(WHOLE, sent=sends(WHOLE, body=b'{"error":{"message":"boom"}}'))),
        ("FAIL", observation(WHOLE, faults=[fault("refuse")])),
        ("FAIL", observation()),
    ],
)
def test_an_error_has_to_come_to_light(expected: str, one: Observation) -> None:
    assert [expected] == outcomes("outcome.errors-surfaced", one)


def test_a_crash_on_an_untrustworthy_answer_is_a_finding_of_its_own() -> None:
    assert ["FAIL"] == outcomes("outcome.crash-on-untrusted", observation(ending=CRASHED, **REFUSE))
    assert ["PASS"] == outcomes("outcome.crash-on-untrusted", observation(ending=REFUSED, **REFUSE))
    assert [] == outcomes("outcome.crash-on-untrusted", observation(ending=CRASHED))
