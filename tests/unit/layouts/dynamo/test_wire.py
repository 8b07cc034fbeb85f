"""Dynamo's wire: where nvext goes, the end token's empty entry, tool calls, refusals and their places, native
routes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.ask import Request
from fakellm.generation import Choice
from support.stages import EOS, TOKENIZER, Spoken, body_of, chat, post, spoken, stage, token

HELLO = TOKENIZER.encode("Hello you")
PROMPT = [4090, 2417, 10, 3272, 4091, 10, 4090, 3615, 10]
BOTH = {"nvext": {"extra_fields": ["prompt_token_ids", "completion_token_ids"]}}
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]


def wire(request: Request, text: str = "Hello you", *options: str, layout: str = "dynamo-1.6.1") -> tuple[int, str]:
    answer = stage(Spoken(spoken(text)), layout, *options).answer(request)
    return answer.wire.status, body_of(answer).decode()


def whole(request: Request, text: str = "Hello you", *options: str, layout: str = "dynamo-1.6.1") -> dict[str, Any]:
    return json.loads(wire(request, text, *options, layout=layout)[1])


def chunks(request: Request, text: str = "Hello you", *options: str) -> list[dict[str, Any]]:
    lines = wire(request, text, *options)[1].splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def test_prompt_ids_come_on_the_finish_chunk_alone_and_ids_with_every_chunk() -> None:
    assert [chunk.get("nvext") for chunk in chunks(chat(stream=True, **BOTH))] == [
        {"completion_token_ids": [HELLO[0]]},
        {"completion_token_ids": [HELLO[1]]},
        {"completion_token_ids": [EOS], "prompt_token_ids": PROMPT},
    ]


def test_a_whole_answer_has_one_nvext_at_its_end() -> None:
    body = whole(chat(**BOTH))

    assert list(body)[-1] == "nvext"
    assert body["nvext"] == {"completion_token_ids": [*HELLO, EOS], "prompt_token_ids": PROMPT}
    assert "nvext" not in whole(chat())


def test_the_end_token_is_an_empty_entry_with_null_bytes() -> None:
    last = whole(chat(logprobs=True))["choices"][0]["logprobs"]["content"][-1]

    assert last == {"token": "", "logprob": -0.75, "token_id": EOS, "bytes": None, "top_logprobs": []}


def test_completions_take_more_alternatives_from_1_7_on() -> None:
    asked = post("/v1/completions", {"model": "tiny", "prompt": "Hi", "logprobs": 6})

    assert whole(asked)["message"] == "Validation: Logprobs must be between 0 and 5, got 6"
    assert whole(asked, layout="dynamo-1.7")["choices"][0]["logprobs"]["tokens"] == ["Hello", " you", ""]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"return_token_ids": True}, "Validation: Unsupported parameter(s): `return_token_ids`"),
        ({"messages": []}, "Validation: The 'messages' field cannot be empty. At least one message is required."),
        ({"temperature": 9}, "Validation: Temperature must be between 0 and 2, got 9"),
        ({"top_logprobs": 21, "logprobs": True}, "Validation: Top_logprobs must be between 0 and 20, got 21"),
    ],
    ids=str,
)
def test_a_refusal_is_flat(body: dict[str, Any], said: str) -> None:
    assert whole(chat(**body)) == {"message": said, "type": "Bad Request", "code": 400}


def test_a_value_of_the_wrong_kind_is_refused_at_the_end_of_its_body() -> None:
    """The members are gathered first (they are flattened into one struct), so that the place is behind the last one."""
    raw = b'{"model": "tiny",\n "messages": [],\n "stream": "x"}'
    answer = stage(Spoken(spoken("Hi")), "dynamo-1.6.1").answer(
        Request("POST", "/v1/chat/completions", {}, {"content-type": "application/json"}, raw)
    )

    assert json.loads(body_of(answer))["message"] == (
        "Failed to deserialize the JSON body into the target type: "
        'invalid type: string "x", expected a boolean at line 3 column 15'
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"background": True}, "Validation: `background: true` is not supported."),
        (
            {"nvext": {"extra_fields": ["completion_token_ids"]}},
            'Validation: `nvext.extra_fields=["completion_token_ids"]` is not supported by the Responses API.',
        ),
    ],
    ids=str,
)
def test_responses_refuse_what_they_cannot_do_with_501(body: dict[str, Any], said: str) -> None:
    status, told = wire(post("/v1/responses", {"model": "tiny", "input": "Hi", **body}))

    assert (status, json.loads(told)) == (501, {"message": said, "type": "Not Implemented", "code": 501})


def test_a_call_is_one_chunk_that_keeps_the_scores_of_its_tokens() -> None:
    said = chunks(chat(stream=True, tools=TOOLS, logprobs=True), f"I look.{CALL}", "--dyn-tool-call-parser", "hermes")
    deltas = [chunk["choices"][0] for chunk in said]
    call = next(delta for delta in deltas if delta["delta"].get("tool_calls"))
    ids = [entry["token_id"] for delta in deltas for entry in (delta["logprobs"] or {}).get("content", [])]

    assert call["delta"]["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"city": "Rome"}'}
    assert ids == [*TOKENIZER.encode(f"I look.{CALL}"), EOS]
    assert deltas[-1]["finish_reason"] == "tool_calls"


def test_reasoning_stands_beside_the_content_and_is_counted() -> None:
    body = whole(chat(), "<think>\nHm.\n</think>\n\nYes", "--dyn-reasoning-parser", "qwen3")
    message = body["choices"][0]["message"]

    assert (message["reasoning_content"], message["content"]) == ("\nHm.\n", "\n\nYes")
    assert body["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0


def test_annotations_are_events_with_a_comment() -> None:
    _, told = wire(chat(stream=True, nvext={"annotations": ["token_ids"]}))

    assert told.startswith(f'event: token_ids\n: "{json.dumps(PROMPT, separators=(",", ":"))}"\n\ndata: {{')


def test_native_routes_are_there_only_when_switched_on() -> None:
    asked = post("/generate", {"model": "tiny", "input_ids": [1], "stream": True})

    assert wire(asked) == (404, '{"message":"Route not found: POST /generate","type":"Not Found","code":404}')
    assert wire(asked, "Hello", "--native-routes")[0] == 200


def test_generate_streams_cumulative_objects_and_nothing_else() -> None:
    asked = {"model": "tiny", "input_ids": [1], "stream": True, "return_logprob": True}
    last = chunks(post("/generate", asked), "Hello you", "--native-routes")[-1]

    assert last["output_ids"] == [*HELLO, EOS]
    assert [score for score, _, _ in last["meta_info"]["output_token_logprobs"]] == [-0.5, -0.625, -0.75]
    assert wire(post("/generate", asked | {"stream": False}), "Hello", "--native-routes")[0] == 501


def test_token_in_token_out_tells_tokens_by_id() -> None:
    asked = {"model": "tiny", "token_ids": [1], "sampling_params": {"logprobs": 0}}
    choice = whole(post("/inference/v1/generate", asked), "Hello you", "--native-routes")["choices"][0]

    assert choice["token_ids"] == [*HELLO, EOS]
    assert [entry["token"] for entry in choice["logprobs"]["content"]] == [f"token_id:{one}" for one in [*HELLO, EOS]]


@pytest.mark.parametrize(
    ("path", "more", "options"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}], "logprobs": True}, ()),
        ("/v1/completions", {"prompt": "Hi", "logprobs": 1}, ()),
        ("/inference/v1/generate", {"token_ids": [1], "sampling_params": {"logprobs": 0}}, ("--native-routes",)),
    ],
    ids=["chat", "completions", "tito"],
)
def test_what_was_told_is_exactly_what_stands_on_the_wire(
    path: str, more: dict[str, Any], options: tuple[str, ...]
) -> None:
    choice = Choice((token(HELLO[0], -0.1234567), token(EOS, -0.3)), finish_reason="stop")
    answer = stage(Spoken(choice), "dynamo-1.6.1", *options).answer(post(path, {"model": "tiny", **more}))
    played, body = answer.behind(), json.loads(body_of(answer))["choices"][0]["logprobs"]
    assert played is not None
    told = [score.logprob for score in played.told.choices[0].scores or () if score is not None]

    assert told == body.get("token_logprobs", [entry["logprob"] for entry in body.get("content", [])])
