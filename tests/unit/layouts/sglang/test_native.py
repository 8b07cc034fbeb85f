"""/generate: what an object tells, batches and samples, and every fashion its streams have had."""

from __future__ import annotations

from typing import Any

import pytest

from fakellm.ask import Request
from fakellm.generation import Candidate, Choice, Token
from support.sglang import NEWEST, data_of, events, server, told
from support.stages import EOS, TOKENIZER, body_of, post, spoken, token

SAYS = spoken("one two three")
IDS = [each.id for each in SAYS.tokens]


def generate(text: Any = "Hi", **more: Any) -> Request:
    return post("/generate", {"text": text, **more})


def scored(stream: bool = True, **more: Any) -> Request:
    return generate(stream=stream, return_logprob=True, **more)


class TestObjects:
    def test_text_ids_and_end(self) -> None:
        body = told(server(says=SAYS), generate())
        assert ("one two three", IDS) == (body["text"], body["output_ids"])
        assert {"type": "stop", "matched": EOS} == body["meta_info"]["finish_reason"]
        assert (1, 4) == (body["meta_info"]["prompt_tokens"], body["meta_info"]["completion_tokens"])

    def test_a_length_tells_the_limit(self) -> None:
        meta = told(server(says=SAYS), generate(sampling_params={"max_new_tokens": 2}))["meta_info"]
        assert {"type": "length", "length": 2} == meta["finish_reason"]

    def test_scores_are_triples_without_text(self) -> None:
        meta = told(server(says=SAYS), scored(stream=False))["meta_info"]
        assert [[-0.5, IDS[0], None], [-0.625, IDS[1], None]] == meta["output_token_logprobs"][:2]
        assert 4 == meta["output_token_logprobs_length"] == len(meta["output_token_logprobs"])

    def test_scores_tell_text_when_asked(self) -> None:
        meta = told(server(says=SAYS), scored(stream=False, return_text_in_logprobs=True))["meta_info"]
        assert ["one", " two", " three", "<|im_end|>"] == [row[2] for row in meta["output_token_logprobs"]]

    def test_alternatives_and_ids_asked_by_number(self) -> None:
        chosen, other = TOKENIZER.encode("one")[0], TOKENIZER.encode("two")[0]
        first = token(chosen, -0.5, top=[(other, -0.25), (chosen, -0.5)])
        asked = Token(first.id, first.bytes, first.logprob, first.rank, first.top, (Candidate(7, b"x", -9.0, 99),))
        request = scored(stream=False, top_logprobs_num=2, token_ids_logprob=[7])
        meta = told(server(says=Choice((asked,), (), "length")), request)["meta_info"]
        assert [[[-0.25, other, None], [-0.5, chosen, None]]] == meta["output_top_logprobs"]
        assert [[[-9.0, 7, None]]] == meta["output_token_ids_logprobs"]

    def test_prompt_scores_begin_with_none(self) -> None:
        prompt = TOKENIZER.encode("Hi there you")
        meta = told(server(says=SAYS), generate("Hi there you", return_logprob=True, logprob_start_len=0))["meta_info"]
        assert [*prompt] == [row[1] for row in meta["input_token_logprobs"]]
        assert meta["input_token_logprobs"][0][0] is None

    def test_prompt_ids_on_request(self) -> None:
        body = told(server(says=SAYS), generate("Hi there", return_prompt_token_ids=True))
        assert [*TOKENIZER.encode("Hi there")] == body["prompt_token_ids"]

    def test_ids_in_and_the_same_ids_out(self) -> None:
        request = post("/generate", {"input_ids": [5, 6, 7], "return_prompt_token_ids": True})
        assert [5, 6, 7] == told(server(says=SAYS), request)["prompt_token_ids"]

    def test_without_a_tokenizer_there_is_no_text(self) -> None:
        playing = server(NEWEST, "--skip-tokenizer-init", says=SAYS)
        body = told(playing, post("/generate", {"input_ids": [5, 6, 7]}))
        assert "text" not in body
        assert IDS == body["output_ids"]

    def test_the_oldest_version_puts_prompt_ids_before_its_own(self) -> None:
        prompt = TOKENIZER.encode("a prompt of many tokens indeed")
        body = told(server("0.5.3", says=SAYS), generate("a prompt of many tokens indeed"))
        assert [*prompt[-5:], *IDS] == body["output_ids"]

    @pytest.mark.parametrize(
        ("version", "there", "gone"),
        [
            ("0.5.3", set[str](), {"total_retractions", "cached_tokens_details", "response_sent_to_client_ts"}),
            ("0.5.9", {"total_retractions", "cached_tokens_details"}, {"num_retractions", "dp_rank"}),
            ("0.5.12", {"num_retractions", "dp_rank", "reasoning_tokens"}, {"total_retractions", "weight_versions"}),
            ("0.5.20", {"num_retractions", "dp_rank", "weight_versions"}, {"total_retractions"}),
        ],
    )
    def test_what_meta_info_tells(self, version: str, there: set[str], gone: set[str]) -> None:
        meta = set(told(server(version, says=SAYS), generate())["meta_info"])
        assert (there, set()) == (there & meta, gone & meta)


class TestBatches:
    def test_samples_make_a_list(self) -> None:
        playing = server(says=(spoken("one"), spoken("two")))
        bodies = told(playing, generate(sampling_params={"n": 2}))
        assert ["one", "two"] == [body["text"] for body in bodies]
        assert 2 == len({body["meta_info"]["id"] for body in bodies})

    def test_a_batch_makes_its_ids_of_one_word(self) -> None:
        bodies = told(server(says=SAYS), generate(["a", "b"], rid="job"))
        assert ["job_0", "job_1"] == [body["meta_info"]["id"] for body in bodies]

    def test_a_batch_of_one_is_a_list(self) -> None:
        assert isinstance(told(server(says=SAYS), generate(["a"])), list)

    def test_a_batch_of_none_is_an_empty_list(self) -> None:
        assert [] == told(server(says=SAYS), generate([]))
        assert [] == events(server(says=SAYS), generate([], stream=True))
        assert "rids length" in told(server(says=SAYS), generate([], rid=["a"]), 400)["error"]["message"]

    def test_a_batch_may_ask_differently_for_each(self) -> None:
        request = generate(
            ["a", "b"], return_logprob=[True, False], sampling_params=[{"max_new_tokens": 1}, {"max_new_tokens": 2}]
        )
        first, second = told(server(says=SAYS), request)
        assert (1, 2) == (len(first["output_ids"]), len(second["output_ids"]))
        assert "output_token_logprobs" in first["meta_info"]
        assert "output_token_logprobs" not in second["meta_info"]

    def test_streams_say_whose_object_it_is(self) -> None:
        found = events(server(says=SAYS), generate(["a", "b"], stream=True))
        assert [0, 1, 0, 1] == [event["index"] for event in found][:4]
        assert "index" not in events(server(says=SAYS), generate(stream=True))[0]


CUMULATIVE_IDS = [IDS[:1], IDS[:2], IDS[:3], IDS]
DELTA_IDS = [[token_id] for token_id in IDS]
CUMULATIVE_TEXT = ["one", "one two", "one two three", "one two three"]
DELTA_TEXT = ["one", " two", " three", ""]


@pytest.mark.parametrize(
    ("version", "flag", "texts", "ids", "counts"),
    [
        ("0.5.3", (), CUMULATIVE_TEXT, [IDS[:1], *DELTA_IDS[1:]], [1, 2, 3, 4]),
        ("0.5.6", (), CUMULATIVE_TEXT, CUMULATIVE_IDS, [1, 2, 3, 4]),
        ("0.5.9", ("--stream-output",), CUMULATIVE_TEXT, DELTA_IDS, [1, 2, 3, 4]),
        ("0.5.10", ("--incremental-streaming-output",), DELTA_TEXT, DELTA_IDS, [1, 2, 3, 4]),
        ("0.5.12", ("--incremental-streaming-output",), DELTA_TEXT, DELTA_IDS, [1, 1, 1, 1]),
        ("0.5.23", (), CUMULATIVE_TEXT, CUMULATIVE_IDS, [1, 2, 3, 4]),
        ("0.5.23", ("--stream-output",), DELTA_TEXT, DELTA_IDS, [1, 1, 1, 1]),
    ],
)
def test_the_fashions_of_streams(
    version: str, flag: tuple[str, ...], texts: list[str], ids: list[list[int]], counts: list[int]
) -> None:
    playing = server(version, *flag, says=SAYS)
    found = events(playing, scored(input_ids=None))
    tail = list(TOKENIZER.encode("Hi")[-5:]) if version == "0.5.3" else []
    assert texts == [event["text"] for event in found]
    assert [[*tail, *ids[0]], *ids[1:]] == [event["output_ids"] for event in found]
    assert counts == [len(event["meta_info"]["output_token_logprobs"]) for event in found]
    assert [1, 2, 3, 4] == [event["meta_info"]["completion_tokens"] for event in found]
    reasons = [event["meta_info"]["finish_reason"] for event in found]
    assert [None, None, None, {"type": "stop", "matched": EOS}] == reasons


class TestStreams:
    def test_they_end_with_done(self) -> None:
        assert "[DONE]" == data_of(body_of(server(says=SAYS).answer(generate(stream=True))))[-1]

    def test_an_interval_of_the_server_groups_tokens(self) -> None:
        found = events(server(NEWEST, "--stream-interval", "3", says=SAYS), generate(stream=True))
        assert [IDS[:1], IDS] == [event["output_ids"] for event in found]

    def test_only_the_last_object_tells_weight_versions_and_latency(self) -> None:
        found = events(server(says=SAYS), generate(stream=True))
        assert [False, False, False, True] == ["weight_versions" in event["meta_info"] for event in found]
        assert [False, False, False, True] == ["e2e_latency" in event["meta_info"] for event in found]
