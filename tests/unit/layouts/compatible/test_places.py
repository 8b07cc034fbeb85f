"""Where each OpenAI-like vendor keeps ids and scores, what it does with the end token, and how it spells an error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.reading.paths import MISSING, find, steps
from support.stages import EOS, TOKENIZER, Spoken, body_of, chat, post, spoken, stage

HELLO = TOKENIZER.encode("Hello you")
ENDED = [*HELLO, EOS]
PROMPT = [4090, 2417, 10, 3272, 4091, 10, 4090, 3615, 10]
SCORES = [-0.5, -0.625]
ENDED_SCORES = [*SCORES, -0.75]
CONTENT = "choices[].logprobs.content[]"

WHOLE: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("tensorrt-llm", {"logprobs": True}, {f"{CONTENT}.logprob": ENDED_SCORES, "choices[].token_ids": MISSING}),
    ("lmdeploy", {"return_token_ids": True}, {"choices[].output_ids[]": HELLO}),
    ("lmdeploy", {"logprobs": True}, {f"{CONTENT}.logprob": SCORES, f"{CONTENT}.token": ["Hello", "Ġyou"]}),
    ("llama-cpp", {"logprobs": True}, {f"{CONTENT}.id": ENDED, f"{CONTENT}.logprob": ENDED_SCORES}),
    ("tgi", {"logprobs": True}, {f"{CONTENT}.token": ["Hello", " you", "<|im_end|>"]}),
    ("nemo", {"logprobs": True, "return_tokens_as_token_ids": True}, {
        "choices[].message.prompt_token_ids[]": PROMPT,
        "choices[].message.generation_token_ids[]": ENDED,
        "choices[].message.generation_log_probs[]": ENDED_SCORES,
    }),
    ("prime-rl", {"logprobs": True, "return_token_ids": True}, {
        "prompt_token_ids": PROMPT,
        "choices[].token_ids[]": ENDED,
    }),
    ("tinker", {}, {
        "choices[].message.provider_specific_fields.prompt_token_ids[]": PROMPT,
        "choices[].message.provider_specific_fields.completion_token_ids[]": ENDED,
    }),
    ("litellm", {"return_token_ids": True}, {
        "choices[].message.provider_specific_fields.prompt_token_ids[]": PROMPT,
        "choices[].message.provider_specific_fields.token_ids[]": ENDED,
    }),
    ("mistral", {"logprobs": True}, {f"{CONTENT}.token_id": ENDED}),
    ("openrouter", {"logprobs": True}, {f"{CONTENT}.logprob": SCORES, "provider": "Fake"}),
    ("deepseek", {"logprobs": True}, {f"{CONTENT}.logprob": SCORES}),
    ("ollama", {"logprobs": True}, {f"{CONTENT}.logprob": SCORES}),
]  # fmt: skip

SAID = "Invalid type for 'messages': expected an array, but got an integer instead."
FULL = {"message": SAID, "type": "invalid_request_error", "param": "messages"}
ERRORS: dict[str, Any] = {
    "openai": {"error": {**FULL, "code": "invalid_type"}},
    "tensorrt-llm": {"object": "error", **FULL, "code": 400},
    "llama-cpp": {"error": {"code": 400, "message": SAID, "type": "invalid_request_error"}},
    "openrouter": {"error": {"message": SAID, "code": 400}},
    "tinker": {"detail": SAID},
}


def answered(layout: str, request: Any) -> dict[str, Any]:
    return json.loads(body_of(stage(Spoken(spoken("Hello you")), layout).answer(request)))


def streamed(layout: str, request: Any) -> list[dict[str, Any]]:
    body = body_of(stage(Spoken(spoken("Hello you")), layout).answer(request)).decode()
    data = [line.removeprefix("data:").strip() for line in body.splitlines() if line.startswith("data:")]
    return [json.loads(line) for line in data if line != "[DONE]"]


@pytest.mark.parametrize(("layout", "flags", "places"), WHOLE, ids=[f"{row[0]}-{'+'.join(row[1])}" for row in WHOLE])
def test_a_whole_chat_answer_keeps_its_values_in_place(
    layout: str, flags: dict[str, Any], places: dict[str, Any]
) -> None:
    body = answered(layout, chat(**flags))

    assert {path: _list(find(body, steps(path))) for path in places} == {
        path: [None] if value is MISSING else _list(value) for path, value in places.items()
    }


def _list(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else [None] if value is MISSING else value


@pytest.mark.parametrize(("layout", "flags"), [(row[0], row[1]) for row in WHOLE if "logprobs" in row[1]])
def test_scores_stay_away_when_nobody_asks(layout: str, flags: dict[str, Any]) -> None:
    choice = answered(layout, chat())["choices"][0]

    assert choice.get("logprobs") is None


def test_prompt_ids_stand_in_another_place_on_each_api_of_fireworks() -> None:
    chatted = answered("fireworks", chat(return_token_ids=True))
    completed = answered(
        "fireworks", post("/v1/completions", {"model": "tiny", "prompt": "Hi", "return_token_ids": True})
    )

    assert chatted["prompt_token_ids"] == PROMPT
    assert completed["choices"][0]["prompt_token_ids"] == [3272]


def test_litellm_tells_prompt_ids_once_and_ids_chunk_by_chunk() -> None:
    chunks = streamed("litellm", chat(stream=True, return_token_ids=True))
    fields = [chunk["choices"][0]["delta"].get("provider_specific_fields") for chunk in chunks if chunk["choices"]]

    assert fields == [{"prompt_token_ids": PROMPT}, *({"token_ids": [one]} for one in ENDED)]


@pytest.mark.parametrize("layout", ERRORS)
def test_an_error_has_the_vendors_shape(layout: str) -> None:
    assert answered(layout, post("/v1/chat/completions", {"model": "tiny", "messages": 3})) == ERRORS[layout]


def test_llama_cpps_own_route_tells_ids_and_scores_only_when_asked() -> None:
    asked = answered("llama-cpp", post("/completion", {"prompt": "Hi", "return_tokens": True, "n_probs": 1}))
    bare = answered("llama-cpp", post("/completion", {"prompt": "Hi"}))

    assert asked["tokens"] == ENDED
    assert [entry["id"] for entry in asked["completion_probabilities"]] == ENDED
    assert (bare["content"], bare["tokens"], bare["stop_type"]) == ("Hello you", [], "eos")
    assert "completion_probabilities" not in bare


def test_tgis_own_stream_tells_one_token_an_event_and_the_text_at_the_end() -> None:
    events = streamed("tgi", post("/generate_stream", {"inputs": "Hi"}))

    assert [(event["token"]["id"], event["token"]["logprob"]) for event in events] == list(
        zip(ENDED, ENDED_SCORES, strict=True)
    )
    assert [event["token"]["special"] for event in events] == [False, False, True]
    assert [event["generated_text"] for event in events] == [None, None, "Hello you"]


def test_tgis_root_route_wraps_a_whole_answer_in_a_list() -> None:
    asked = {"inputs": "Hi", "parameters": {"details": True}}
    playing = stage(Spoken(spoken("Hello you")), "tgi")

    alone = json.loads(body_of(playing.answer(post("/generate", asked))))
    assert [alone] == json.loads(body_of(playing.answer(post("/", asked))))


def test_ollama_streams_lines_until_done() -> None:
    answer = stage(Spoken(spoken("Hello you")), "ollama").answer(
        post("/api/chat", {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}]})
    )
    lines = [json.loads(line) for line in body_of(answer).splitlines()]

    assert "".join(line["message"]["content"] for line in lines) == "Hello you"
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    assert lines[-1]["done_reason"] == "stop"


def test_atropos_tells_one_object_a_token() -> None:
    body = answered("atropos", post("/generate", {"prompt": "Hi", "logprobs": 0}))

    assert body["token_ids"] == [ENDED]
    assert body["logprobs"] == [[[{str(one): score}] for one, score in zip(ENDED, ENDED_SCORES, strict=True)]]


def test_tinker_promises_first_and_delivers_when_asked_again() -> None:
    playing = stage(Spoken(spoken("Hello you")), "tinker")
    body = {"prompt": {"chunks": [{"type": "encoded_text", "tokens": [3272]}]}}
    promise = json.loads(body_of(playing.answer(post("/api/v1/asample", body))))
    answer = playing.answer(post("/api/v1/retrieve_future", {"request_id": promise["request_id"]}))
    sequence = json.loads(body_of(answer))["sequences"][0]

    assert (sequence["tokens"], sequence["logprobs"]) == (ENDED, ENDED_SCORES)


def test_prime_rl_takes_the_prompt_as_tokens() -> None:
    said = [{"role": "user", "content": "Hi"}]
    body = {"model": "tiny", "messages": said, "tokens": [7, 8, 9], "return_token_ids": True}
    answer = answered("prime-rl", post("/v1/chat/completions/tokens", body))

    assert answer["prompt_token_ids"] == [7, 8, 9]
    assert answer["choices"][0]["token_ids"] == ENDED
