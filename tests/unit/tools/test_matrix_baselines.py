"""What the matrix writes beside the entries of a baseline: the smallest case, and what the results show."""

from __future__ import annotations

from typing import Any

import yaml
from matrix import baselines
from matrix.result import Result

WHOLE = "scores/one-long[api=chat,layout=vllm-0.32.0,stream=false]"
STREAM = "scores/one-long[api=chat,layout=vllm-0.32.0,stream=true]"
OTHER = "scores/empty[api=chat,layout=vllm-0.32.0,stream=false]"


def row(case: str, message: str, check: str = "align.ids-vs-logprobs", **more: Any) -> dict[str, Any]:
    finding = {"check": check, "level": "MUST", "outcome": "FAIL", "message": message}
    return {"type": "case", "id": case, "failed": [finding], **more}


def result(*rows: dict[str, Any]) -> Result:
    return Result({"name": "one"}, list(rows))


def test_an_entry_gets_the_smallest_case_and_what_it_shows() -> None:
    text = (
        "# What one loses.\n- check: align.ids-vs-logprobs\n  case: scores/one-long\n  reason: they are not counted\n"
    )

    told = baselines.retold(text, result(row(STREAM, "13 for 12"), row(WHOLE, "13 for 12")))

    assert told == (
        "# What one loses.\n"
        f"# make matrix CLIENT=one MATRIX_ARGS=\"--only '{WHOLE}'\"\n"
        "- check: align.ids-vs-logprobs\n"
        '  case: "scores/one-long"\n'
        '  reason: "they are not counted. Seen: 13 for 12"\n'
    )


def test_telling_it_again_changes_nothing() -> None:
    shown = result(row(WHOLE, "13 for 12"))
    once = baselines.retold("- check: align.ids-vs-logprobs\n  case: scores/*\n  reason: not counted\n", shown)

    assert baselines.retold(once, shown) == once


def test_ways_to_fail_are_told_with_the_cases_that_show_them() -> None:
    shown = baselines.matching(
        result(row(WHOLE, "13 for 12"), row(OTHER, "0 for 12")), "align.ids-vs-logprobs", "scores/*"
    )

    assert baselines.seen(shown) == "0 for 12 (scores/empty); 13 for 12 (scores/one-long)"


def test_an_entry_that_no_result_shows_stays_as_it_is() -> None:
    text = '- check: usage.kept\n  case: "usage/absent"\n  reason: "no: \\"usage\\""\n  flaky: true\n'

    told = baselines.retold(text, result(row(WHOLE, "13 for 12")))

    assert yaml.safe_load(told) == yaml.safe_load(text)
    assert "make matrix" not in told


def test_a_captured_value_is_told_where_the_message_has_none() -> None:
    shown = row(WHOLE, "text is not what was sent", "text.kept")
    shown["failed"][0]["kept"] = '"Hello"'

    assert baselines.seen([(shown, shown["failed"][0])]) == 'text is not what was sent; kept "Hello"'
