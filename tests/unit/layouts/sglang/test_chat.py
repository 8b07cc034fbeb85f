"""Chat completions: where ids stand, how scores, alternatives and ends are told, in whole answers and in streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.ask import Request
from fakellm.generation import Choice
from support.sglang import NEWEST, data_of, events, server, told
from support.stages import EOS, TOKENIZER, body_of, chat, post, spoken, token

SAYS = spoken("one two three")
IDS = [each.id for each in SAYS.tokens]
IN_SGLEXT = {"return_input_ids_in_sglext": True, "return_output_ids_in_sglext": True}


def streamed(**more: Any) -> Request:
    return chat(stream=True, **more)


def deltas(found: list[Any], name: str = "content") -> list[Any]:
    return [event["choices"][0]["delta"].get(name) for event in found if event["choices"]]


def sglext(found: list[Any]) -> list[Any]:
    return [event["sglext"] for event in found if event.get("sglext")]


def prompt_of(request: Request) -> list[int]:
    """The ids that the newest server tells for a chat request."""
    body = {**json.loads(request.body), "stream": False, "return_prompt_token_ids": True}
    choice = told(server(says=SAYS), post("/v1/chat/completions", body))["choices"][0]
    return choice["prompt_token_ids"]


class TestIdsOfWholeAnswers:
    def test_prompt_ids_are_those_of_the_template(self) -> None:
        text = TOKENIZER.decode(prompt_of(chat("Hello")), skip_special_tokens=False)
        assert text.startswith("<|im_start|>user")
        assert text.endswith("assistant\n")
        assert "Hello" in text

    @pytest.mark.parametrize(
        ("version", "field"),
        [("0.5.17", "token_ids"), ("0.5.18", "response_token_ids"), (NEWEST, "response_token_ids")],
    )
    def test_completion_ids_by_version(self, version: str, field: str) -> None:
        choice = told(server(version, says=SAYS), chat(return_token_ids=True))["choices"][0]
        assert IDS == choice[field]
        assert prompt_of(chat()) == choice["prompt_token_ids"]

    @pytest.mark.parametrize("version", ["0.5.3", "0.5.12", "0.5.13"])
    def test_older_versions_ignore_the_flag(self, version: str) -> None:
        choice = told(server(version, says=SAYS), chat(return_token_ids=True))["choices"][0]
        assert not {"token_ids", "response_token_ids", "prompt_token_ids"} & set(choice)

    def test_meta_info_carries_ids_with_scores(self) -> None:
        choice = told(server("0.5.13", says=SAYS), chat(return_meta_info=True, logprobs=True))["choices"][0]
        assert IDS == [row[1] for row in choice["meta_info"]["output_token_logprobs"]]

    def test_sglext_of_a_whole_answer(self) -> None:
        body = told(server(says=SAYS), chat(**IN_SGLEXT))
        assert {"input_ids": prompt_of(chat()), "output_ids": [IDS]} == body["sglext"]

    def test_a_prompt_may_come_as_ids(self) -> None:
        body = {
            "model": "tiny",
            "input_ids": [5, 6, 7],
            "messages": [{"role": "user", "content": "x"}],
            "return_prompt_token_ids": True,
        }
        choice = told(server(says=SAYS), post("/v1/chat/completions", body))["choices"][0]
        assert [5, 6, 7] == choice["prompt_token_ids"]


class TestIdsOfStreams:
    @pytest.mark.parametrize("name", ["return_token_ids", "return_prompt_token_ids", "return_meta_info"])
    def test_they_do_not_take_the_flags_of_whole_answers(self, name: str) -> None:
        refused = told(server(says=SAYS), streamed(**{name: True}), status=400)
        assert f"{name} is not supported with streaming" in refused["message"]

    def test_sglext_stands_on_a_chunk_without_choices(self) -> None:
        found = events(server(says=SAYS), streamed(**IN_SGLEXT))
        assert [{"input_ids": prompt_of(chat()), "output_ids": [IDS]}] == sglext(found)
        assert [] == next(event for event in found if event.get("sglext"))["choices"]

    def test_ids_of_several_choices(self) -> None:
        playing = server(says=(spoken("one"), spoken("two")))
        both = [[*TOKENIZER.encode(text), EOS] for text in ("one", "two")]
        assert [both] == [each["output_ids"] for each in sglext(events(playing, streamed(n=2, **IN_SGLEXT)))]

    def test_headers_ask_as_well_as_fields(self) -> None:
        body = {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
        request = post("/v1/chat/completions", body, x_sglext_return_output_ids="1")
        assert [{"output_ids": [IDS]}] == [
            {"output_ids": each["output_ids"]} for each in sglext(events(server(says=SAYS), request))
        ]

    def test_launch_options_ask_for_every_request(self) -> None:
        playing = server(NEWEST, "--return-input-ids", "--return-output-ids", says=SAYS)
        assert [{"input_ids": prompt_of(chat()), "output_ids": [IDS]}] == sglext(events(playing, streamed()))

    def test_older_versions_have_no_way(self) -> None:
        found = events(server("0.5.18", says=SAYS), streamed(**IN_SGLEXT))
        assert [] == sglext(found)
        assert "".join(filter(None, deltas(found))) == "one two three"


class TestStreams:
    def test_role_then_text_then_end(self) -> None:
        found = events(server(says=SAYS), streamed())
        assert ["", "one", " two", " three", None] == deltas(found)
        assert ["assistant", None, None, None, None] == deltas(found, "role")
        assert [None, None, None, None, "stop"] == [event["choices"][0]["finish_reason"] for event in found]
        assert EOS == found[-1]["choices"][0]["matched_stop"]

    def test_usage_comes_last_and_alone(self) -> None:
        found = events(server(says=SAYS), streamed(stream_options={"include_usage": True}))
        assert ([], 4) == (found[-1]["choices"], found[-1]["usage"]["completion_tokens"])
        assert all(event.get("usage") is None for event in found[:-1])

    def test_continuous_usage_counts(self) -> None:
        options = {"include_usage": True, "continuous_usage_stats": True}
        found = events(server(says=SAYS), streamed(stream_options=options))
        counted = [event["usage"]["completion_tokens"] for event in found if event.get("usage")]
        assert 4 == counted[-1]
        assert sorted(counted) == counted
        assert len(counted) > 2

    def test_the_score_of_the_end_token_is_lost(self) -> None:
        found = events(server(says=SAYS), streamed(logprobs=True))
        told_scores = [
            entry["logprob"]
            for event in found
            for choice in event["choices"]
            for entry in (choice["logprobs"] or {"content": []})["content"]
        ]
        assert [-0.5, -0.625, -0.75] == told_scores

    def test_a_stop_string_is_the_matched_stop(self) -> None:
        found = events(server(says=SAYS), streamed(stop=[" three"]))
        assert ("stop", " three") == tuple(found[-1]["choices"][0][name] for name in ("finish_reason", "matched_stop"))
        assert "one two" == "".join(filter(None, deltas(found)))

    def test_it_ends_with_done(self) -> None:
        assert "[DONE]" == data_of(body_of(server(says=SAYS).answer(streamed())))[-1]


class TestScores:
    def test_entries_have_true_bytes(self) -> None:
        content = told(server(says=spoken("🦆")), chat(logprobs=True))["choices"][0]["logprobs"]["content"]
        assert "🦆".encode() == bytes(byte for entry in content[:-1] for byte in entry["bytes"])

    def test_old_versions_spell_the_bytes_of_the_displayed_text(self) -> None:
        content = told(server("0.5.18", says=spoken("🦆")), chat(logprobs=True))["choices"][0]["logprobs"]["content"]
        assert [*"\ufffd".encode()] == content[0]["bytes"]

    def test_alternatives_of_one_text_collapse_in_old_versions_only(self) -> None:
        halves = TOKENIZER.encode("🦆")
        first = token(halves[0], -0.5, top=[(halves[1], -0.25), (halves[2], -0.5)])
        counts = {
            version: len(
                told(server(version, says=Choice((first,), (), "length")), chat(logprobs=True, top_logprobs=2))[
                    "choices"
                ][0]["logprobs"]["content"][0]["top_logprobs"]
            )
            for version in ("0.5.18", NEWEST)
        }
        assert {"0.5.18": 1, NEWEST: 2} == counts

    def test_without_the_flag_there_are_none(self) -> None:
        assert told(server(says=SAYS), chat())["choices"][0]["logprobs"] is None


class TestMessages:
    def test_choices_in_their_order(self) -> None:
        choices = told(server(says=(spoken("one"), spoken("two"))), chat(n=2))["choices"]
        assert [(0, "one"), (1, "two")] == [(each["index"], each["message"]["content"]) for each in choices]

    @pytest.mark.parametrize(("version", "content"), [("0.5.12", None), ("0.5.13", ""), (NEWEST, "")])
    def test_an_empty_message(self, version: str, content: str | None) -> None:
        message = told(server(version, says=spoken("")), chat())["choices"][0]["message"]
        assert content == message["content"]

    @pytest.mark.parametrize(("version", "there"), [("0.5.20", True), (NEWEST, False)])
    def test_tool_calls_without_calls(self, version: str, there: bool) -> None:
        assert there == ("tool_calls" in told(server(version, says=SAYS), chat())["choices"][0]["message"])

    def test_the_answer_is_named_as_asked(self) -> None:
        body = told(server(says=SAYS), chat(rid="mine", model="other"))
        assert ("mine", "other") == (body["id"], body["model"])

    def test_cached_tokens_are_reported_on_request_of_the_server(self) -> None:
        bodies = [told(server(NEWEST, *flag, says=SAYS), chat()) for flag in ((), ("--enable-cache-report",))]
        assert [None, {"cached_tokens": 0}] == [
            {"cached_tokens": body["usage"]["prompt_tokens_details"]["cached_tokens"]}
            if body["usage"]["prompt_tokens_details"]
            else None
            for body in bodies
        ]
