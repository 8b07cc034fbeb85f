"""Plausible answers that keep to what the request binds: forced tools and response formats."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakellm.ask import Ask
from fakellm.chance import Stream
from fakellm.scenario.bound import MAX_PARTS, instance_of
from fakellm.scenario.compose import compose
from fakellm.scenario.load import from_data
from fakellm.scenario.match import Script
from fakellm.scenario.plain import plain_auto
from fakellm.scenario.voice import Voice, forced_by, voice_of
from support.asking import TOKENIZER, ask

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 3},
        "unit": {"enum": ["celsius", "fahrenheit"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
        "at": {"type": ["null", "string"], "format": "date"},
        "places": {"type": "array", "items": {"$ref": "#/$defs/place"}, "minItems": 2},
    },
    "required": ["city", "unit", "places"],
    "$defs": {"place": {"anyOf": [{"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}]}},
}
NESTED: dict[str, Any] = {"$ref": "#", "type": "object"}
ENDLESS: dict[str, Any] = {
    "type": "object",
    "properties": {name: {"$ref": "#"} for name in "abcdef"},
    "required": list("abcdef"),
}


def requests(**body: Any) -> Ask:
    request = ask("What is the weather?", **body)
    return Ask(
        api="chat",
        request=request.request,
        body=request.body,
        prompts=request.prompts,
        messages=request.messages,
        tools=tuple(body.get("tools", ())),
        tool_choice=body.get("tool_choice"),
        n=2,
    )


def said(request: Ask, voice: Voice, **reply: Any) -> list[str]:
    """The raw text of both choices, without the end token."""
    scenario = from_data({"replies": [reply]}, "x") if reply else plain_auto()
    generation = compose(Script(scenario).match(request), request, TOKENIZER, voice=voice)[0]
    return [b"".join(token.bytes for token in choice.tokens[:-1]).decode() for choice in generation.choices]


TOOLS = [
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
    {"type": "function", "function": {"name": "weather", "parameters": WEATHER}},
]
NAMED = {"type": "function", "function": {"name": "weather"}}


class TestInstances:
    @given(st.integers())
    def test_an_instance_is_valid(self, seed: int) -> None:
        jsonschema.validate(instance_of(WEATHER, Stream(seed)), WEATHER)

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
            {"type": "number", "maximum": -2},
            {"type": "integer", "minimum": 100},
            {"type": "string", "maxLength": 2},
            {"type": "string", "minLength": 40},
            {"const": None},
            {"type": "boolean"},
            {"type": "null"},
            {"type": "array", "items": {"type": "integer"}, "minItems": 3},
            {"allOf": [{"type": "string"}]},
            {},
            {"properties": {"a": {}}},
        ],
    )
    def test_bounds_are_kept(self, schema: dict[str, Any]) -> None:
        for seed in range(20):
            jsonschema.validate(instance_of(schema, Stream(seed)), schema)

    @pytest.mark.parametrize(
        "schema", [NESTED, ENDLESS, {"$ref": "#/nowhere"}, {"$ref": 7}, {"items": 3, "type": "array"}]
    )
    def test_a_schema_that_never_ends_or_makes_no_sense_is_cut_short(self, schema: dict[str, Any]) -> None:
        assert len(json.dumps(instance_of(schema, Stream(1)))) < 40 * MAX_PARTS


class TestForced:
    def test_a_named_function_is_answered_by_its_arguments_alone(self) -> None:
        texts = said(requests(tools=TOOLS, tool_choice=NAMED), voice_of(forced_json=True))

        for text in texts:
            jsonschema.validate(json.loads(text), WEATHER)
        assert texts[0] != texts[1]

    def test_a_required_tool_is_answered_by_an_array_of_calls(self) -> None:
        texts = said(requests(tools=TOOLS, tool_choice="required"), voice_of(forced_json=True))

        assert [[{"name": "now", "parameters": {}}]] * 2 == [json.loads(text) for text in texts]
        assert texts[0] != texts[1]

    def test_a_server_that_does_not_bind_the_engine_gets_an_ordinary_call(self) -> None:
        text = said(requests(tools=TOOLS, tool_choice="required"), Voice())[0]

        assert '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>' == text

    def test_a_written_call_is_spelled_as_the_request_forces_it(self) -> None:
        say = {"reasoning": "Hm.", "tool_calls": [{"name": "now"}, {"name": "weather", "arguments": {"city": "Rome"}}]}

        named = said(requests(tools=TOOLS, tool_choice=NAMED), voice_of(forced_json=True), say=say)[0]
        required = said(requests(tools=TOOLS, tool_choice="required"), voice_of(forced_json=True), say=say)[0]
        free = said(requests(tools=TOOLS), voice_of(forced_json=True), say=say)[0]

        assert '<think>Hm.</think>{"city": "Rome"}' == named
        assert ["now", "weather"] == [row["name"] for row in json.loads(required.removeprefix("<think>Hm.</think>"))]
        assert 2 == free.count("<tool_call>")

    @pytest.mark.parametrize(
        ("choice", "forced"),
        [
            (None, ""),
            ("auto", ""),
            ("none", ""),
            ("required", "required"),
            (NAMED, "named weather"),
            ({"type": "function", "name": "weather"}, "named weather"),
            ({"type": "auto"}, ""),
            ({"function": 7}, ""),
        ],
    )
    def test_what_a_tool_choice_forces(self, choice: Any, forced: str) -> None:
        assert forced == forced_by(choice)


class TestFormats:
    @pytest.mark.parametrize(
        "body",
        [
            {"response_format": {"type": "json_schema", "json_schema": {"name": "w", "schema": WEATHER}}},
            {"text": {"format": {"type": "json_schema", "name": "w", "schema": WEATHER}}},
        ],
    )
    def test_an_answer_keeps_to_the_schema(self, body: dict[str, Any]) -> None:
        for text in said(requests(**body), voice_of(forced_json=True)):
            jsonschema.validate(json.loads(text), WEATHER)

    def test_a_json_object_is_an_object(self) -> None:
        assert ["answer"] == list(
            json.loads(said(requests(response_format={"type": "json_object"}), voice_of(forced_json=True))[0])
        )

    def test_a_request_that_binds_nothing_gets_text(self) -> None:
        assert (
            "You asked about"
            in said(requests(tools=TOOLS, response_format={"type": "text"}), voice_of(forced_json=True))[0]
        )
