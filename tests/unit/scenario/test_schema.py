"""The JSON Schema for editors says the same as the loader."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from fakellm.errors import ScenarioError
from fakellm.scenario.load import from_data
from fakellm.scenario.schema import json_schema

VALIDATOR = jsonschema.Draft202012Validator(json_schema())

GOOD: list[Any] = [
    {"replies": [{"say": "x"}]},
    {"title": "t", "why": "w", "server": {"layout": "vllm", "max-model-len": 4096}, "replies": [{"say": "x"}]},
    {"replies": [{"say": {"tokens": [1, "a"]}, "when": {"api": "chat", "last_message": {"contains": "x"}}}]},
    {"replies": [{"say": {"text": "x", "logprobs": [-1, "-inf", None, {"logprob": -1, "rank": 2}]}, "steps": [1, 2]}]},
    {"replies": [{"say": {"choices": ["a", {"auto": {"tokens": 3}}]}, "then": [{"say": "b"}], "times": 2}]},
    {
        "replies": [
            {"say": "x", "timing": {"between_ms": {"lognormal": {"median": 2, "sigma": 1}}}, "faults": ["a", {"b": {}}]}
        ]
    },
    {
        "replies": [
            {"say": "x", "when": {"api": ["chat", "tito"], "json": {"a": {"present": True}}, "headers": {"x": "y"}}}
        ]
    },
]
BAD: list[Any] = [
    [],
    {},
    {"replies": []},
    {"replies": [{"say": 7}]},
    {"replies": [{"say": "x", "whne": {}}]},
    {"replies": [{"say": {"tokens": [1.5]}}]},
    {"replies": [{"say": {"text": "x", "finish_reason": "tool_calls"}}]},
    {"replies": [{"say": "x", "when": {"last_message": {"matches": "x"}}}]},
    {"replies": [{"say": "x", "times": 0}]},
    {"replies": [{"say": "x", "logprobs": [0.5]}]},
    {"replies": [{"say": "x", "timing": {"between_ms": "20"}}]},
]


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("data", GOOD)
def test_what_loads_is_valid(data: Any) -> None:
    from_data(data, "x")

    assert [] == [error.message for error in VALIDATOR.iter_errors(data)]


@pytest.mark.parametrize("data", BAD)
def test_what_does_not_load_is_not_valid(data: Any) -> None:
    with pytest.raises(ScenarioError):
        from_data(data, "x")

    assert not VALIDATOR.is_valid(data)


def test_keys_are_described() -> None:
    when = json_schema()["$defs"]["WhenForm"]["properties"]

    assert {
        "api",
        "model",
        "stream",
        "last_message",
        "messages",
        "system",
        "prompt",
        "json",
        "headers",
        "flags",
        "turn",
        "call",
    } == set(when)
    assert [] == [name for name, field in when.items() if not field.get("description")]
