"""vLLM's development, weight, LoRA and counting routes: what they answer, and what they change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.ask import Request
from fakellm.house import Choices, House
from fakellm.stage import Stage
from support.stages import body_of, chat, post


def server(layout: str = "vllm-0.32.0", *options: str, **env: str) -> Stage:
    """A plain auto server in development mode."""
    choices = Choices(layout=layout, options=options, env={"VLLM_SERVER_DEV_MODE": "1", **env})
    return House.open(None, choices).fake.default


def call(playing: Stage, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    target, _, query = path.partition("?")
    pairs = tuple(tuple(pair.split("=")) for pair in query.split("&")) if query else ()
    data = b"" if body is None else json.dumps(body).encode()
    request = Request(method, target, dict(pairs), {"content-type": "application/json"}, data, pairs)  # type: ignore[arg-type]
    answer = playing.answer(request)
    text = body_of(answer).decode()
    try:
        return answer.wire.status, json.loads(text)
    except ValueError:
        return answer.wire.status, text


class TestSleepAndPause:
    """State that a trainer sets and asks for."""

    def test_sleeping_is_remembered_until_it_wakes(self) -> None:
        playing = server()

        assert (200, {"status": "sleeping", "level": 2}) == call(playing, "POST", "/sleep?level=2")
        assert (200, {"is_sleeping": True}) == call(playing, "GET", "/is_sleeping")
        assert (200, {"status": "awake", "tags": ["weights"]}) == call(playing, "POST", "/wake_up?tags=weights")
        assert (200, {"is_sleeping": False}) == call(playing, "GET", "/is_sleeping")

    @pytest.mark.parametrize("level", ["7", "-1", "deep"])
    def test_a_level_that_does_not_exist(self, level: str) -> None:
        status, body = call(server(), "POST", f"/sleep?level={level}")

        assert (400, "query.level") == (status, body["error"]["param"])

    def test_old_versions_say_nothing(self) -> None:
        assert (200, "") == call(server("vllm-0.20.2"), "POST", "/sleep")
        assert 404 == call(server("vllm-0.10.2"), "POST", "/pause")[0]

    def test_without_development_mode_there_are_no_such_routes(self) -> None:
        playing = House.open(None, Choices(layout="vllm-0.32.0")).fake.default

        assert 404 == call(playing, "POST", "/sleep")[0]


class TestWeights:
    """The weight version travels with every token answer."""

    def test_an_update_shows_in_the_next_answer(self) -> None:
        playing = server("vllm-0.32.0", "--enable-scale-out")
        asked = {"token_ids": [5, 6, 7], "sampling_params": {"max_tokens": 3}}

        before = call(playing, "POST", "/inference/v1/generate", asked)[1]["choices"][0]["weight_versions"]
        call(playing, "POST", "/finish_weight_update", {"weight_version": "step-8"})
        after = call(playing, "POST", "/inference/v1/generate", asked)[1]["choices"][0]["weight_versions"]

        assert [{"version": "default", "start": 0, "end": 3}] == before
        assert [{"version": "step-8", "start": 0, "end": 3}] == after
        assert (200, {"weight_version": "step-8"}) == call(playing, "GET", "/weight_info")

    def test_bodies_are_checked(self) -> None:
        playing = server()

        assert 400 == call(playing, "POST", "/update_weights", {})[0]
        assert 200 == call(playing, "POST", "/update_weights", {"update_info": {}})[0]
        assert 400 == call(playing, "POST", "/update_weight_version", {"new_version": 8})[0]
        assert (200, {"status": "aborted", "aborted": 2}) == call(
            playing, "POST", "/abort_requests", {"request_ids": ["a", "b"]}
        )

    def test_the_world_is_as_large_as_the_launch_options_say(self) -> None:
        playing = server("vllm-0.32.0", "--tensor-parallel-size", "4", "--data-parallel-size", "2")

        assert {"world_size": 8} == call(playing, "GET", "/get_world_size")[1]
        assert {"world_size": 4} == call(playing, "GET", "/get_world_size?include_dp=false")[1]


class TestAdapters:
    """LoRA adapters come and go while it runs, where that is allowed."""

    def test_load_list_unload(self) -> None:
        playing = server("vllm-0.32.0", "--served-model-name", "tiny", VLLM_ALLOW_RUNTIME_LORA_UPDATING="1")
        named = {"lora_name": "poet", "lora_path": "adapters/poet"}

        assert 200 == call(playing, "POST", "/v1/load_lora_adapter", named)[0]
        assert 400 == call(playing, "POST", "/v1/load_lora_adapter", named)[0]
        rows = {row["id"]: row for row in call(playing, "GET", "/v1/models")[1]["data"]}
        assert ("tiny", "adapters/poet") == (rows["poet"]["parent"], rows["poet"]["root"])
        assert 200 == call(playing, "POST", "/v1/unload_lora_adapter", {"lora_name": "poet"})[0]
        assert 404 == call(playing, "POST", "/v1/unload_lora_adapter", {"lora_name": "poet"})[0]

    def test_not_allowed_means_not_there(self) -> None:
        assert 404 == call(server(), "POST", "/v1/load_lora_adapter", {"lora_name": "a", "lora_path": "b"})[0]


class TestMetrics:
    """Numbers under vLLM's own names, of what was really served, planned answers too."""

    def test_answers_are_counted(self) -> None:
        playing = server("vllm-0.32.0", "--served-model-name", "tiny")
        for _ in range(3):
            usage = json.loads(body_of(playing.answer(chat("Hi", max_tokens=4))))["usage"]

        text = call(playing, "GET", "/metrics")[1]

        labels = 'engine="0",model_name="tiny"'
        assert f"vllm:prompt_tokens_total{{{labels}}} {3.0 * usage['prompt_tokens']}" in text
        assert f"vllm:generation_tokens_total{{{labels}}} 12.0" in text
        assert f'vllm:request_success_total{{{labels},finished_reason="length"}} 3.0' in text
        assert f'vllm:request_generation_tokens_bucket{{{labels},le="5.0"}} 3.0' in text

    def test_load_counts_only_where_it_was_asked_for(self) -> None:
        counting, silent = server("vllm-0.32.0", "--enable-server-load-tracking"), server()
        for playing in (counting, silent):
            playing.in_flight(1)

        assert {"server_load": 1} == call(counting, "GET", "/load")[1]
        assert {"server_load": 0} == call(silent, "GET", "/load")[1]


class TestBatch:
    """Many conversations in one request."""

    def test_one_choice_each_in_order(self) -> None:
        body = {"model": "tiny", "messages": [[{"role": "user", "content": text}] for text in ("one", "two")]}

        status, answer = 200, json.loads(body_of(server().answer(post("/v1/chat/completions/batch", body))))

        assert 200 == status
        assert [0, 1] == [choice["index"] for choice in answer["choices"]]
        assert (
            answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]
        )
