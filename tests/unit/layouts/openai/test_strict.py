"""OpenAI's answers against the official SDK's own models, as strict as they can be: validated, and nothing beside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from openai.types import Completion, Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from fakellm.ask import Request
from fakellm.generation import Choice
from support.stages import Spoken, body_of, chat, post, spoken, stage

CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'
CHAT_TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
TOOLS = [{"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False}]
SCORED = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}
UNDECLARED = {"store", "presence_penalty", "frequency_penalty"}
"""What the Open Responses schema demands of a response object and the SDK's model does not declare."""
SPOKEN: dict[str, Choice] = {
    "text": spoken("Hello you"),
    "cut": spoken("Hello you", end=False),
    "call": spoken(CALL),
    "text and call": spoken(f"I look.{CALL}"),
    "reasoning": spoken("<think>\nHm.\n</think>\n\nYes"),
}


def extras(value: Any, where: str = "") -> Iterator[str]:
    """Where a validated model holds members that it does not declare."""
    if isinstance(value, BaseModel):
        yield from (f"{where}.{name}" for name in value.model_extra or ())
        for name in type(value).model_fields:
            yield from extras(getattr(value, name), f"{where}.{name}")
    elif isinstance(value, list):
        for number, element in enumerate(value):
            yield from extras(element, f"{where}[{number}]")


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """The validator of a kind; those of large unions take long to build."""
    return TypeAdapter(kind)


def surplus(kind: Any, value: Any) -> list[str]:
    """Validates a JSON value as a kind and names what it does not declare."""
    return list(extras(adapter(kind).validate_python(value)))


def declared(response: dict[str, Any]) -> dict[str, Any]:
    """A response object without the three members that only one of the two schemas knows; they must be there."""
    assert response.keys() >= UNDECLARED
    return {name: value for name, value in response.items() if name not in UNDECLARED}


def answered(request: Request, choice: Choice | None = None, *more: Choice) -> str:
    return body_of(stage(Spoken(choice or spoken("Hello you"), *more), "openai").answer(request)).decode()


def events(body: str) -> list[dict[str, Any]]:
    """The JSON values of a stream."""
    lines = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def responses(**body: Any) -> Request:
    return post("/v1/responses", {"model": "tiny", "input": "Hi", **body})


@pytest.mark.parametrize("name", SPOKEN)
@pytest.mark.parametrize("asked", [{}, {"logprobs": True, "top_logprobs": 2}, {"tools": CHAT_TOOLS}], ids=str)
def test_chat_is_a_chat_completion_and_no_more(name: str, asked: dict[str, Any]) -> None:
    assert surplus(ChatCompletion, json.loads(answered(chat(**asked), SPOKEN[name]))) == []


@pytest.mark.parametrize("name", SPOKEN)
@pytest.mark.parametrize("asked", [{"logprobs": True}, {"tools": CHAT_TOOLS}], ids=str)
def test_chat_streams_are_chunks_and_no_more(name: str, asked: dict[str, Any]) -> None:
    body = answered(chat(stream=True, stream_options={"include_usage": True}, **asked), SPOKEN[name])

    assert body.endswith("data: [DONE]\n\n")
    assert [found for event in events(body) for found in surplus(ChatCompletionChunk, event)] == []


@pytest.mark.parametrize("asked", [{}, {"logprobs": 2}, {"echo": True, "logprobs": 1}], ids=str)
def test_completions_are_completions_and_no_more(asked: dict[str, Any]) -> None:
    body = {"model": "tiny", "prompt": "Hi", "max_tokens": 64, **asked}

    assert surplus(Completion, json.loads(answered(post("/v1/completions", body)))) == []
    streamed = events(answered(post("/v1/completions", {**body, "stream": True})))
    for choice in (choice for event in streamed[:-1] for choice in event["choices"]):
        assert choice.pop("finish_reason") is None  # the SDK has one model for both modes, which knows no null
        choice["finish_reason"] = "stop"
    assert [found for event in streamed for found in surplus(Completion, event)] == []


@pytest.mark.parametrize("name", SPOKEN)
@pytest.mark.parametrize("asked", [{}, SCORED, {"tools": TOOLS}, {"instructions": "Be short."}], ids=str)
def test_responses_are_responses_and_no_more(name: str, asked: dict[str, Any]) -> None:
    assert surplus(Response, declared(json.loads(answered(responses(**asked), SPOKEN[name])))) == []


@pytest.mark.parametrize("name", SPOKEN)
@pytest.mark.parametrize("asked", [SCORED, {"tools": TOOLS}], ids=str)
def test_response_events_are_events_and_no_more(name: str, asked: dict[str, Any]) -> None:
    told = events(answered(responses(stream=True, **asked), SPOKEN[name]))

    bare = [event | {"response": declared(event["response"])} if "response" in event else event for event in told]
    assert [found for event in bare for found in surplus(ResponseStreamEvent, event)] == []
    assert [event["sequence_number"] for event in told] == list(range(len(told)))


def test_models_are_models_and_no_more() -> None:
    listed = json.loads(answered(Request("GET", "/v1/models", {}, {}, b"")))

    assert [surplus(Model, model) for model in listed["data"]] == [[] for _ in listed["data"]]
    assert listed["object"] == "list"
    assert listed["data"]
