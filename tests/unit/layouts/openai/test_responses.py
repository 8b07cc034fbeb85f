"""OpenAI's Responses as a conversation: what is stored, what is said again, in which order a stream tells, what is
refused."""

from __future__ import annotations

import json
from typing import Any

from fakellm.ask import Request
from support.stages import Spoken, body_of, post, spoken, stage

CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'
TOOLS = [{"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False}]


def server(text: str = "Hello you") -> Any:
    return stage(Spoken(spoken(text)), "openai")


def create(playing: Any, **body: Any) -> dict[str, Any]:
    return json.loads(body_of(playing.answer(post("/v1/responses", {"model": "tiny", "input": "Hi", **body}))))


def get(playing: Any, path: str, method: str = "GET") -> tuple[int, dict[str, Any]]:
    answer = playing.answer(Request(method, path, {}, {}, b""))
    return answer.wire.status, json.loads(body_of(answer))


def kinds(text: str, **body: Any) -> list[str]:
    """The kinds of a stream's events, runs of deltas told once."""
    told = body_of(server(text).answer(post("/v1/responses", {"model": "tiny", "input": "Hi", "stream": True, **body})))
    named = [line[7:] for line in told.decode().splitlines() if line.startswith("event: ")]
    return [name for place, name in enumerate(named) if named[place - 1 : place] != [name]]


def test_a_response_is_stored_unless_told_otherwise() -> None:
    playing = server()
    kept, not_kept = create(playing), create(playing, store=False)

    assert get(playing, f"/v1/responses/{kept['id']}") == (200, kept)
    status, body = get(playing, f"/v1/responses/{not_kept['id']}")
    assert (status, body["error"]["message"]) == (404, f"Response with id '{not_kept['id']}' not found.")


def test_a_deleted_response_is_gone() -> None:
    playing = server()
    identity = create(playing)["id"]

    assert get(playing, f"/v1/responses/{identity}", "DELETE") == (
        200,
        {"id": identity, "object": "response", "deleted": True},
    )
    assert get(playing, f"/v1/responses/{identity}")[0] == 404


def test_the_engine_hears_what_was_said_before() -> None:
    playing = server()
    first = create(playing)
    second = create(playing, input="More", previous_response_id=first["id"])
    alone = create(playing, input="More")

    assert second["previous_response_id"] == first["id"]
    assert second["usage"]["input_tokens"] > alone["usage"]["input_tokens"]


def test_an_unknown_previous_response_is_refused() -> None:
    said = create(server(), previous_response_id="resp_unknown")["error"]

    assert said["message"] == "Previous response with id 'resp_unknown' not found."
    assert said["param"] == "previous_response_id"


def test_a_streamed_response_is_stored_as_it_was_completed() -> None:
    playing = server()
    told = body_of(playing.answer(post("/v1/responses", {"model": "tiny", "input": "Hi", "stream": True}))).decode()
    completed = json.loads(told.strip().splitlines()[-1].removeprefix("data: "))["response"]

    assert get(playing, f"/v1/responses/{completed['id']}") == (200, completed)


def test_text_is_told_in_the_official_order() -> None:
    assert kinds("Hello you") == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]


def test_a_call_is_told_in_the_official_order() -> None:
    assert kinds(CALL, tools=TOOLS) == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]


def test_a_call_is_an_item_of_its_own() -> None:
    output = create(server(CALL), tools=TOOLS)["output"]

    assert [(item["type"], item["name"], json.loads(item["arguments"])) for item in output] == [
        ("function_call", "weather", {"city": "Rome"})
    ]


def test_a_cut_answer_is_incomplete_and_says_why() -> None:
    body = create(stage(Spoken(spoken("Hello you", end=False)), "openai"))

    assert (body["status"], body["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})


def test_scores_are_those_of_the_text_and_only_when_included() -> None:
    scored = create(server(), include=["message.output_text.logprobs"], top_logprobs=0)
    part, bare = scored["output"][0]["content"][0], create(server())["output"][0]["content"][0]

    assert [(entry["token"], entry["logprob"], entry["top_logprobs"]) for entry in part["logprobs"]] == [
        ("Hello", -0.5, []),
        (" you", -0.625, []),
    ]
    assert bare["logprobs"] == []


def test_errors_have_openais_shape() -> None:
    assert create(server(), temperature=9)["error"].keys() == {"message", "type", "param", "code"}
    answer = server().answer(post("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}))
    assert (answer.wire.status, json.loads(body_of(answer))["error"]["type"]) == (400, "invalid_request_error")
