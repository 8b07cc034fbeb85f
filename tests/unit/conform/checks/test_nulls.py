"""Null is judged by the client's declaration, and beside the other exchanges of the run."""

from __future__ import annotations

from fakellm.conform.checks import usable
from support.observations import REFUSED, WHOLE, but, fault, observation, outcomes, sends

NULL = but(prompt_token_ids=None)


def test_null_now_and_then_is_lost() -> None:
    findings = outcomes("capture.kept", observation(WHOLE), observation(NULL))

    assert ["FAIL", *["PASS"] * 4] == sorted(findings)


def test_null_in_all_exchanges_of_a_mode_is_not_exposed_there() -> None:
    streams = [observation(NULL, stream=True), observation(NULL, stream=True)]

    findings = outcomes("capture.kept", observation(WHOLE), *streams)

    assert findings.count("FAIL (SHOULD)") == 1
    assert "FAIL" not in findings


def test_null_everywhere_is_no_yield() -> None:
    assert "FAIL" in outcomes("capture.yield", observation(NULL), observation(NULL, api="completions"))
    assert "FAIL" not in outcomes("capture.yield", observation(NULL), observation(WHOLE, api="completions"))


def test_what_is_not_declared_cannot_be_lost() -> None:
    one = observation(NULL, captures=("completion_token_ids",))

    assert ["PASS"] == outcomes("capture.kept", one)
    assert ["PASS"] == outcomes("capture.yield", one)


def test_null_where_the_wire_had_nothing_counts_for_nothing() -> None:
    absent = observation(
        NULL, sent=sends(but(prompt_token_ids=None)), faults=[fault("null", values=("prompt_token_ids",))]
    )

    assert "FAIL" not in outcomes("capture.kept", observation(WHOLE), absent)


def test_refusing_everything_is_no_yield() -> None:
    assert "FAIL" in outcomes("capture.yield", observation(ending=REFUSED), observation(ending=REFUSED))


def test_a_run_of_nothing_but_right_refusals_says_nothing_of_the_yield() -> None:
    refused = observation(ending=REFUSED, faults=[fault("recover", "refuse")])

    assert [] == outcomes("capture.yield", refused, refused)


def test_the_yield_line_counts_exchanges_that_carried_ids() -> None:
    nothing = observation(but(completion_token_ids=None))

    assert (1, 3) == usable([observation(WHOLE), nothing, observation(ending=REFUSED)])
