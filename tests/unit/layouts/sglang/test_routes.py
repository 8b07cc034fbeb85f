"""Routes beside generation, and what the server remembers: weight version, pause, stored responses, counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.ask import Request
from support.sglang import NEWEST, server, told
from support.stages import TOKENIZER, body_of, chat, post, spoken

SAYS = spoken("one two three")


def get(path: str, **headers: str) -> Request:
    return Request("GET", path, {}, {name.replace("_", "-"): value for name, value in headers.items()}, b"")


def status(playing: Any, request: Request) -> int:
    return playing.answer(request).wire.status


class TestInformation:
    def test_the_model_card(self) -> None:
        body = told(server(NEWEST, "--served-model-name", "mine", "--context-length", "512"), get("/v1/models"))
        assert [("mine", "sglang", 512)] == [
            (card["id"], card["owned_by"], card["max_model_len"]) for card in body["data"]
        ]

    @pytest.mark.parametrize(
        ("version", "there", "gone"),
        [
            ("0.5.3", set[str](), {"has_image_understanding", "model_type", "embedding"}),
            ("0.5.9", {"has_image_understanding", "model_type"}, {"embedding", "served_model_name"}),
            ("0.5.17", {"embedding"}, {"served_model_name"}),
            ("0.5.18", {"embedding", "served_model_name"}, {"disaggregation_mode"}),
            (NEWEST, {"disaggregation_mode", "reasoning_parser"}, set[str]()),
        ],
    )
    def test_model_info_by_version(self, version: str, there: set[str], gone: set[str]) -> None:
        known = set(told(server(version), get("/get_model_info")))
        assert (there, set()) == (there & known, gone & known)

    @pytest.mark.parametrize(
        ("path", "absent", "present"),
        [
            ("/model_info", "0.5.3", "0.5.6"),
            ("/v1/loads", "0.5.6", "0.5.9"),
            ("/get_load", NEWEST, "0.5.20"),
            ("/ready", "0.5.18", "0.5.20"),
        ],
    )
    def test_routes_come_and_go(self, path: str, absent: str, present: str) -> None:
        assert (404, 200) == (status(server(absent), get(path)), status(server(present), get(path)))

    @pytest.mark.parametrize("path", ["/health", "/health_generate", "/ping"])
    def test_health_is_an_empty_success(self, path: str) -> None:
        answer = server().answer(get(path))
        assert (200, b"") == (answer.wire.status, body_of(answer))

    def test_a_wrong_method_is_405(self) -> None:
        answer = server().answer(get("/v1/chat/completions"))
        assert (405, {"detail": "Method Not Allowed"}) == (answer.wire.status, json.loads(body_of(answer)))

    def test_loads_and_metrics_count_what_is_in_flight(self) -> None:
        playing = server(NEWEST, "--enable-metrics")
        playing.in_flight(3)
        assert [3] == [load["num_running_reqs"] for load in told(playing, get("/v1/loads"))["loads"]]
        assert 'sglang:num_running_reqs{model_name="tiny"} 3.0' in body_of(playing.answer(get("/metrics"))).decode()

    def test_metrics_count_tokens(self) -> None:
        playing = server(NEWEST, "--enable-metrics", says=SAYS)
        for _ in range(3):
            playing.answer(chat())
        text = body_of(playing.answer(get("/metrics"))).decode()
        assert 'sglang:num_requests_total{model_name="tiny"} 3' in text
        assert 'sglang:generation_tokens_total{model_name="tiny"} 12' in text

    def test_metrics_are_off_by_default(self) -> None:
        assert 404 == status(server(), get("/metrics"))


class TestTokens:
    def test_there_and_back(self) -> None:
        playing = server()
        ids = told(playing, post("/tokenize", {"model": "tiny", "prompt": "Hi there", "add_special_tokens": False}))
        assert ([*TOKENIZER.encode("Hi there")], 2) == (ids["tokens"], ids["count"])
        assert "Hi there" == told(playing, post("/detokenize", {"model": "tiny", "tokens": ids["tokens"]}))["text"]

    def test_a_batch(self) -> None:
        body = told(server(), post("/tokenize", {"model": "tiny", "prompt": ["Hi", "Hi there"]}))
        assert [1, 2] == body["count"]

    def test_messages_go_through_the_template(self) -> None:
        wanted = told(server(says=SAYS), chat("Hello", return_prompt_token_ids=True))["choices"][0]
        request = post("/tokenize", {"model": "tiny", "messages": [{"role": "user", "content": "Hello"}]})
        assert wanted["prompt_token_ids"] == told(server(), request)["tokens"]


class TestState:
    def test_a_weight_version_shows_in_every_api(self) -> None:
        playing = server(says=SAYS)
        told(playing, post("/update_weight_version", {"new_version": "step-7"}))
        assert "step-7" == told(playing, get("/model_info"))["weight_version"]
        assert "step-7" == told(playing, post("/generate", {"text": "Hi"}))["meta_info"]["weight_version"]
        assert "step-7" == told(playing, chat())["metadata"]["weight_version"]

    def test_weights_from_disk_change_model_and_version(self) -> None:
        playing = server()
        request = post("/update_weights_from_disk", {"model_path": "/models/next", "weight_version": "next"})
        assert told(playing, request)["success"]
        info = told(playing, get("/model_info"))
        assert ("/models/next", "next") == (info["model_path"], info["weight_version"])

    def test_pause_and_continue(self) -> None:
        playing = server()
        station: Any = playing.station
        paused = told(playing, post("/pause_generation", {}))
        assert "Generation paused successfully." == paused["message"]
        assert station.state.paused
        told(playing, post("/continue_generation", {}))
        assert not station.state.paused

    def test_servers_do_not_share_their_state(self) -> None:
        first, second = server(), server()
        told(first, post("/update_weight_version", {"new_version": "x"}))
        assert "default" == told(second, get("/model_info"))["weight_version"]

    def test_the_version_given_at_launch(self) -> None:
        assert "w0" == told(server(NEWEST, "--weight-version", "w0"), get("/model_info"))["weight_version"]


class TestKeys:
    OPTIONS = ("--api-key", "key", "--admin-api-key", "admin")

    @pytest.mark.parametrize(
        ("key", "model", "flush"),
        [(None, 401, 401), ("wrong", 401, 401), ("key", 200, 401), ("admin", 401, 200)],
    )
    def test_who_may_do_what(self, key: str | None, model: int, flush: int) -> None:
        playing = server(NEWEST, *self.OPTIONS)
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        statuses = status(playing, get("/v1/models", **headers)), status(playing, post("/flush_cache", {}, **headers))
        assert (model, flush) == statuses

    def test_health_needs_no_key(self) -> None:
        assert 200 == status(server(NEWEST, *self.OPTIONS), get("/health"))

    def test_the_refusal_is_told_in_its_own_words(self) -> None:
        assert {"error": "Unauthorized"} == told(server(NEWEST, *self.OPTIONS), get("/v1/models"), status=401)
