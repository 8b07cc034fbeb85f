"""The adapter protocol: what is a good answer, what is not, and schemas that say the same as the code."""

import json
import math
from importlib import resources
from typing import Any

import jsonschema
import pytest

from fakellm.conform.observation import Kind
from fakellm.conform.protocol import RunnerError, read_answer, read_capture_line, read_started, schemas

HELLO: dict[str, Any] = {
    "protocol": 1,
    "client": {"name": "c", "version": "1"},
    "supports": {"apis": ["chat"], "captures": ["logprobs"], "stream": [True]},
}


@pytest.mark.parametrize("name", sorted(schemas()))
def test_the_shipped_schemas_are_those_of_the_code(name: str) -> None:
    shipped = resources.files("fakellm.conform").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")

    assert schemas()[name] == json.loads(shipped)


def test_what_the_contract_shows_fits_the_schemas() -> None:
    answers: list[dict[str, Any]] = [
        {"seq": 7, "captured": [{"index": 0, "prompt_token_ids": [1], "completion_token_ids": None, "logprobs": None,
                                 "text": None, "finish_reason": "stop"}]},
        {"seq": 7, "refused": {"kind": "x", "message": "y"}},
        {"seq": 7, "skipped": {"message": "y", "issue_url": None}},
        {"seq": 7, "errored": {"message": "y", "traceback": "z"}},
    ]  # fmt: skip

    jsonschema.validate(HELLO, dict(schemas()["started"]))
    for answer in answers:
        jsonschema.validate(answer, dict(schemas()["answer"]))
        read_answer(json.dumps(answer))


def test_a_declaration_is_read_and_the_optional_parts_have_defaults() -> None:
    supports = read_started(json.dumps(HELLO))

    assert (frozenset({"logprobs"}), frozenset({True}), 1, ()) == (
        supports.captures, supports.stream, supports.max_parallel, supports.layouts,
    )  # fmt: skip


def captured(**choice: Any) -> Any:
    ending = read_answer(json.dumps({"seq": 1, "captured": [choice]})).ending()
    assert ending.capture is not None
    return ending.capture.choices[0]


def test_a_clients_odd_ids_are_its_own_failure_and_no_violation_of_the_protocol() -> None:
    assert ("11", 2.5, True, None) == captured(completion_token_ids=["11", 2.5, True, None]).completion_token_ids


def test_numbers_that_json_lacks_are_words() -> None:
    nan, high, low = captured(logprobs=["NaN", "Infinity", "-Infinity"]).logprobs

    assert math.isnan(nan)
    assert (math.inf, -math.inf) == (high, low)


def test_exact_logprobs_win_over_rounded_ones() -> None:
    exact = captured(logprobs=[-0.1], logprobs_exact=["-0.10000000149011612"])

    assert (-0.10000000149011612,) == exact.logprobs


def test_null_is_not_an_empty_list() -> None:
    choice = captured(completion_token_ids=[], logprobs=None)

    assert ((), None) == (choice.completion_token_ids, choice.logprobs)


def test_usage_may_stand_beside_the_list_or_in_it() -> None:
    beside = read_answer('{"seq": 1, "captured": [{}], "usage": {"completion_tokens": 3}}').ending().capture
    inside = read_answer('{"seq": 1, "captured": [{"usage": {"completion_tokens": 3}}]}').ending().capture

    assert beside is not None
    assert inside is not None
    assert {"completion_tokens": 3} == beside.usage == inside.usage


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("hello", "not-json"),
        ("{", "not-json"),
        ("[]", "schema-violation"),
        ('{"captured": []}', "schema-violation"),
        ('{"seq": 1}', "schema-violation"),
        ('{"seq": 1, "captured": {}}', "schema-violation"),
        ('{"seq": 1, "captured": [], "errored": {}}', "schema-violation"),
        ('{"seq": 1, "captured": [{"completion_token_ids": "1,2"}]}', "schema-violation"),
        ('{"seq": 1, "captured": [{"completion_token_ids": [[1]]}]}', "schema-violation"),
    ],
)
def test_a_bad_line_is_named_and_shown(line: str, name: str) -> None:
    with pytest.raises(RunnerError) as caught:
        read_answer(line)

    assert name == caught.value.name
    assert line in str(caught.value)


@pytest.mark.parametrize(
    "line",
    ['{"captured": [{"text": "hi"}]}', '[{"text": "hi"}]', '{"text": "hi"}'],
)
def test_a_per_case_command_may_print_an_answer_a_list_or_one_choice(line: str) -> None:
    ending = read_capture_line(line).ending()

    assert Kind.CAPTURED == ending.kind
    assert ending.capture is not None
    assert "hi" == ending.capture.choices[0].text
