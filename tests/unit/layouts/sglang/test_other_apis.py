"""The Responses API, Anthropic's messages and the Ollama routes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.ask import Request
from support.sglang import NEWEST, data_of, events, server, told
from support.stages import body_of, chat, post, spoken

SAYS = spoken("one two three")
USER = [{"role": "user", "content": "Hi"}]


def response(**more: Any) -> Request:
    return post("/v1/responses", {"model": "tiny", "input": "Hi", **more})


def message(**more: Any) -> Request:
    return post("/v1/messages", {"model": "tiny", "max_tokens": 40, "messages": USER, **more})


def get(path: str) -> Request:
    return Request("GET", path, {}, {}, b"")


class TestResponses:
    def test_the_message_is_the_output(self) -> None:
        body = told(server(says=SAYS), response())
        (item,) = body["output"]
        assert ("completed", "message", "one two three") == (body["status"], item["type"], item["content"][0]["text"])
        assert 4 == body["usage"]["output_tokens"]

    def test_the_limit_is_two_less_than_asked(self) -> None:
        body = told(server(says=SAYS), response(max_output_tokens=4))
        assert ("incomplete", "one two") == (body["status"], body["output"][0]["content"][0]["text"])

    def test_scores_on_request(self) -> None:
        body = told(server(says=SAYS), response(include=["message.output_text.logprobs"]))
        entries = body["output"][0]["content"][0]["logprobs"]
        assert [-0.5, -0.625, -0.75, -0.875] == [entry["logprob"] for entry in entries]

    def test_events_count_from_zero_and_end_with_the_whole(self) -> None:
        found = events(server(says=SAYS), response(stream=True))
        assert [*range(len(found))] == [event["sequence_number"] for event in found]
        text = "".join(event["delta"] for event in found if event["type"] == "response.output_text.delta")
        assert "one two three" == text == found[-1]["response"]["output"][0]["content"][0]["text"]
        assert ("response.created", "response.completed") == (found[0]["type"], found[-1]["type"])

    def test_event_lines_name_the_types(self) -> None:
        body = body_of(server(says=SAYS).answer(response(stream=True))).decode()
        names = [line[7:] for line in body.splitlines() if line.startswith("event: ")]
        assert names == [json.loads(data)["type"] for data in data_of(body.encode())]

    def test_old_streams_tell_no_deltas(self) -> None:
        kinds = [event["type"] for event in events(server("0.5.12", says=SAYS), response(stream=True))]
        assert ["response.created", "response.in_progress", "response.completed"] == kinds

    @pytest.mark.parametrize(("version", "phase"), [("0.5.18", False), ("0.5.20", True), (NEWEST, True)])
    def test_items_say_what_they_are_for(self, version: str, phase: bool) -> None:
        assert phase == ("phase" in told(server(version, says=SAYS), response())["output"][0])

    def test_stored_answers_can_be_fetched_and_continued(self) -> None:
        playing = server(NEWEST, "--enable-response-store", says=SAYS)
        first = told(playing, response())
        assert first["output"] == told(playing, get(f"/v1/responses/{first['id']}"))["output"]
        second = told(playing, response(previous_response_id=first["id"]))
        assert second["usage"]["input_tokens"] > first["usage"]["input_tokens"]

    def test_without_the_store_there_is_no_conversation(self) -> None:
        refused = told(server(says=SAYS), response(previous_response_id="resp_1"), status=400)
        assert "Response store is disabled" in refused["error"]["message"]

    def test_an_unknown_response_is_not_found(self) -> None:
        playing = server(NEWEST, "--enable-response-store", says=SAYS)
        assert "resp_none" in str(told(playing, response(previous_response_id="resp_none"), status=404))

    @pytest.mark.parametrize(("version", "status"), [("0.5.18", 200), (NEWEST, 404)])
    def test_an_unknown_model(self, version: str, status: int) -> None:
        told(server(version, says=SAYS), response(model="other"), status=status)


class TestMessages:
    def test_the_text_is_a_block(self) -> None:
        body = told(server(says=SAYS), message())
        assert [{"type": "text", "text": "one two three"}] == body["content"]
        assert ("end_turn", 4) == (body["stop_reason"], body["usage"]["output_tokens"])

    @pytest.mark.parametrize(
        ("more", "reason"),
        [({"max_tokens": 2}, "max_tokens"), ({"stop_sequences": [" three"]}, "end_turn"), ({}, "end_turn")],
    )
    def test_why_it_ended(self, more: dict[str, Any], reason: str) -> None:
        assert reason == told(server(says=SAYS), message(**more))["stop_reason"]

    def test_events_open_and_close_blocks(self) -> None:
        found = events(server(says=SAYS), message(stream=True))
        kinds = [event["type"] for event in found]
        assert "message_start" == kinds[0]
        assert ["content_block_stop", "message_delta", "message_stop"] == kinds[-3:]
        assert "one two three" == "".join(
            event["delta"]["text"] for event in found if "delta" in event and "text" in event["delta"]
        )

    def test_the_system_prompt_counts(self) -> None:
        plain, told_more = (
            told(server(), post("/v1/messages/count_tokens", {"model": "tiny", "messages": USER, **more}))[
                "input_tokens"
            ]
            for more in ({}, {"system": "Be brief."})
        )
        assert plain < told_more

    def test_counting_agrees_with_answering(self) -> None:
        counted = told(server(), post("/v1/messages/count_tokens", {"model": "tiny", "messages": USER}))
        assert counted["input_tokens"] == told(server(says=SAYS), message())["usage"]["input_tokens"]

    def test_refusals_wear_their_own_envelope(self) -> None:
        refused = told(server(), post("/v1/messages", {"model": "tiny", "messages": USER}), status=400)
        assert ("error", "invalid_request_error") == (refused["type"], refused["error"]["type"])
        assert "max_tokens" in refused["error"]["message"]

    def test_versions_before_have_no_such_route(self) -> None:
        told(server("0.5.6"), message(), status=404)


class TestOllama:
    def test_chat_streams_lines_by_default(self) -> None:
        answer = server(says=SAYS).answer(post("/api/chat", {"model": "tiny", "messages": USER}))
        lines = [json.loads(line) for line in body_of(answer).decode().splitlines() if line]
        assert "one two three" == "".join(line["message"]["content"] for line in lines)
        assert [False] * (len(lines) - 1) + [True] == [line["done"] for line in lines]

    def test_generate_whole(self) -> None:
        body = told(server(says=SAYS), post("/api/generate", {"model": "tiny", "prompt": "Hi", "stream": False}))
        assert ("one two three", True, 4) == (body["response"], body["done"], body["eval_count"])

    def test_options_limit(self) -> None:
        request = post("/api/chat", {"model": "tiny", "messages": USER, "stream": False, "options": {"num_predict": 2}})
        body = told(server(says=SAYS), request)
        assert ("one two", 2, "stop") == (body["message"]["content"], body["eval_count"], body["done_reason"])

    def test_tags_and_show(self) -> None:
        playing = server(NEWEST, "--served-model-name", "mine")
        assert ["mine"] == [model["name"] for model in told(playing, get("/api/tags"))["models"]]
        assert "model_info" in told(playing, post("/api/show", {"model": "mine"}))

    @pytest.mark.parametrize(("version", "words"), [("0.5.9", "Ollama is running"), ("0.5.10", "SGLang is running")])
    def test_the_greeting(self, version: str, words: str) -> None:
        assert words in body_of(server(version).answer(get("/"))).decode()


def test_every_api_tells_the_same_truth() -> None:
    playing = server(says=SAYS)
    texts = {
        told(playing, chat())["choices"][0]["message"]["content"],
        told(playing, response())["output"][0]["content"][0]["text"],
        told(playing, message())["content"][0]["text"],
        told(playing, post("/generate", {"text": "Hi"}))["text"],
        told(playing, post("/v1/completions", {"model": "tiny", "prompt": "Hi"}))["choices"][0]["text"],
        told(playing, post("/api/chat", {"model": "tiny", "messages": USER, "stream": False}))["message"]["content"],
    }
    assert {"one two three"} == texts
