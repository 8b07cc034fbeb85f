"""Completions: ids, the four parallel lists of scores, echo, several prompts."""

from __future__ import annotations

from typing import Any

import pytest

from fakellm.ask import Request
from fakellm.generation import Choice
from support.sglang import NEWEST, events, server, told
from support.stages import TOKENIZER, post, spoken, token

SAYS = spoken("one two three")
IDS = [each.id for each in SAYS.tokens]


def completion(prompt: Any = "Hi", **more: Any) -> Request:
    return post("/v1/completions", {"model": "tiny", "prompt": prompt, **more})


def first(version: str = NEWEST, *, says: Choice = SAYS, **more: Any) -> Any:
    return told(server(version, says=says), completion(**more))["choices"][0]


class TestIds:
    def test_whole_answers_tell_both(self) -> None:
        choice = first(return_token_ids=True)
        assert (IDS, [*TOKENIZER.encode("Hi")]) == (choice["token_ids"], choice["prompt_token_ids"])

    def test_streams_tell_the_prompt_once_and_the_rest_as_it_comes(self) -> None:
        found = events(server(says=SAYS), completion(stream=True, return_token_ids=True))
        rows = [event["choices"][0] for event in found if event["choices"]]
        assert IDS == [token_id for row in rows for token_id in row.get("token_ids") or ()]
        assert [[*TOKENIZER.encode("Hi")]] == [row["prompt_token_ids"] for row in rows if row.get("prompt_token_ids")]

    def test_versions_before_ignore_the_flag(self) -> None:
        assert "token_ids" not in first("0.5.13", return_token_ids=True)


class TestScores:
    def test_four_lists_of_one_length(self) -> None:
        scores = first(logprobs=1)["logprobs"]
        assert [-0.5, -0.625, -0.75, -0.875] == scores["token_logprobs"]
        assert ["one", " two", " three", "<|im_end|>"] == scores["tokens"]
        assert {4} == {len(column) for column in scores.values()}

    def test_alternatives_are_maps_from_text(self) -> None:
        chosen, other = (TOKENIZER.encode(text)[0] for text in ("one", "two"))
        scored = token(chosen, -0.5, top=[(other, -0.25), (chosen, -0.5)])
        choice = first(says=Choice((scored,), (), "length"), logprobs=2)
        assert [{"two": -0.25, "one": -0.5}] == choice["logprobs"]["top_logprobs"]

    def test_streams_tell_the_score_of_the_end_token_too(self) -> None:
        found = events(server(says=SAYS), completion(stream=True, logprobs=0))
        rows = [event["choices"][0] for event in found if event["choices"]]
        told_scores = [score for row in rows if row["logprobs"] for score in row["logprobs"]["token_logprobs"]]
        assert [-0.5, -0.625, -0.75, -0.875] == told_scores

    @pytest.mark.parametrize(("version", "spelled"), [("0.5.18", "\ufffd"), (NEWEST, "ð\x9f")])
    def test_a_piece_of_a_character_by_version(self, version: str, spelled: str) -> None:
        assert spelled == first(version, says=spoken("🦆"), logprobs=1)["logprobs"]["tokens"][0]


class TestPrompts:
    def test_echo_puts_the_prompt_before_the_text(self) -> None:
        assert "Hione two three" == first(echo=True)["text"]

    def test_echo_with_scores_scores_the_prompt(self) -> None:
        choice = first(prompt="Hi there", echo=True, logprobs=1)
        assert ["Hi", " there", "one"] == choice["logprobs"]["tokens"][:3]
        assert choice["logprobs"]["token_logprobs"][0] is None

    @pytest.mark.parametrize(("version", "status"), [("0.5.12", 500), ("0.5.20", 500), (NEWEST, 200)])
    def test_echo_with_scores_and_no_alternatives(self, version: str, status: int) -> None:
        body = told(server(version, says=SAYS), completion(echo=True, logprobs=0), status=status)
        assert (status == 500) == ("input_top_logprobs" in str(body))

    def test_every_prompt_has_its_choices(self) -> None:
        body = told(server(says=(spoken("one"), spoken("two"))), completion(["a", "b c"], n=2))
        assert [(0, "one"), (1, "two"), (2, "one"), (3, "two")] == [
            (row["index"], row["text"]) for row in body["choices"]
        ]
        assert (3, 8) == (body["usage"]["prompt_tokens"], body["usage"]["completion_tokens"])

    def test_a_prompt_of_ids(self) -> None:
        assert [5, 6] == first(prompt=[5, 6], return_token_ids=True)["prompt_token_ids"]

    def test_an_empty_prompt_is_refused(self) -> None:
        assert "Prompt cannot be empty" == told(server(says=SAYS), completion(""), status=400)["message"]
