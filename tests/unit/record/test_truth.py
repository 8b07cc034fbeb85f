"""What a recorder reads off an answer is what the engine said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fakellm.generation import Generation
from fakellm.house import House
from fakellm.record.taken import CUT, LEFT
from support.taking import AUTO, CALLS, asking, expert, house, taken

IDS = ("prompt_token_ids", "completion_token_ids", "logprobs")
LAYOUTS = ["vllm-0.10.2", "vllm-0.28.0", "vllm-0.32.0", "sglang-0.5.12", "sglang-0.5.23"]


def engine(fake: House, api: str, body: Any) -> tuple[Generation, ...]:
    """What the fake's engine says to this request."""
    stage = fake.fake.default
    request = taken(stage, api, body).request()
    played = stage.answer(request).behind()
    assert played is not None
    return played.generations


def served(layout: str) -> list[tuple[str, bool]]:
    accessors = house(layout).fake.default.layout.accessors
    told = {
        key for key, rows in accessors.items() if {"completion_token_ids", "logprobs"} <= {row.value for row in rows}
    }
    return [(api, stream) for api, stream in sorted(told) if api in CALLS and api != "tito"]


@pytest.mark.parametrize(
    "layout, api, stream", [(layout, api, stream) for layout in LAYOUTS for api, stream in served(layout)]
)
def test_ids_and_scores_are_read_off_every_api(layout: str, api: str, stream: bool) -> None:
    fake = house(layout)
    stage = fake.fake.default
    body = asking(stage, api, stream, IDS)
    one = taken(stage, api, body)

    read = expert(stage).read(one)

    assert (api, stream) == (read.api, read.stream)
    assert read.truths is not None
    (said,) = engine(fake, api, body)
    truth = Generation.from_truth(read.truths[0])
    assert [token.id for token in said.choices[0].tokens] == [token.id for token in truth.choices[0].tokens]
    shown = [(a.logprob, b.logprob) for a, b in zip(said.choices[0].tokens, truth.choices[0].tokens, strict=True)]
    assert [] == [(a, b) for a, b in shown[:-1] if a != b]


def test_the_steps_of_a_stream_are_those_of_the_engine() -> None:
    stage = house("vllm-0.32.0", {**AUTO, "steps": [1, 3, 2, 4, 2]}).fake.default

    read = expert(stage).read(taken(stage, "chat", asking(stage, "chat", True, IDS)))

    assert read.truths is not None
    assert [1, 3, 2, 4, 2] == read.truths[0]["choices"][0]["chunks"]


def test_alternatives_keep_their_ranks() -> None:
    fake = house("vllm-0.32.0", {**AUTO, "top": 3})
    stage = fake.fake.default
    body = asking(stage, "chat", False, (*IDS, "top_logprobs"))

    read = expert(stage).read(taken(stage, "chat", body))

    assert read.truths is not None
    (said,) = engine(fake, "chat", body)
    for token, told in zip(said.choices[0].tokens, read.truths[0]["choices"][0]["tokens"], strict=True):
        ranked = {one.id for one in token.top[:3]}
        assert {one["id"] for one in told["top"]} <= ranked | {token.id}
        assert token.rank == told["rank"] or told["rank"] > len(told["top"]) - 1


def test_several_choices_and_prompts_are_kept_apart() -> None:
    fake = house("vllm-0.32.0")
    stage = fake.fake.default
    body = {**asking(stage, "completions", False, IDS), "prompt": ["One", "Two"], "n": 2}

    read = expert(stage).read(taken(stage, "completions", body))

    assert read.truths is not None
    for said, truth in zip(engine(fake, "completions", body), read.truths, strict=True):
        made = Generation.from_truth(truth)
        assert said.prompt_token_ids == made.prompt_token_ids
        assert [[t.id for t in c.tokens] for c in said.choices] == [[t.id for t in c.tokens] for c in made.choices]


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_shows_no_ids_is_tokenised_again_and_says_so(stream: bool) -> None:
    fake = house("vllm-0.32.0", {"say": "Hello, world!"})
    stage = fake.fake.default
    body = asking(stage, "chat", stream)

    read = expert(stage).read(taken(stage, "chat", body))

    assert read.truths is not None
    (said,) = engine(fake, "chat", body)
    assert [token.id for token in said.choices[0].tokens] == [t["id"] for t in read.truths[0]["choices"][0]["tokens"]]
    assert "text" == read.truths[0]["source"]
    assert "tokenised again" in (read.note or "")


def test_scores_without_ids_still_tell_the_tokens() -> None:
    stage = house("vllm-0.32.0", {"say": "Hello, world!"}).fake.default

    read = expert(stage).read(taken(stage, "chat", asking(stage, "chat", False, ("logprobs",))))

    assert read.truths is not None
    assert "scores" == read.truths[0]["source"]
    assert all(token["logprob"] < 0 for token in read.truths[0]["choices"][0]["tokens"])


def test_a_tool_call_without_ids_cannot_be_known() -> None:
    call = {"say": {"content": "", "tool_calls": [{"name": "add", "arguments": {"a": 2}}]}}
    stage = house("vllm-0.32.0", call, options=["--enable-auto-tool-choice", "--tool-call-parser", "hermes"])
    body = asking(stage.fake.default, "chat", False)
    body["tools"] = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]

    read = expert(stage.fake.default).read(taken(stage.fake.default, "chat", body))

    assert read.truths is None
    assert "--ask-ids" in (read.note or "")


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"ending": LEFT}, "the client went away"),
        ({"chunks": ((0.0, b'{"choices":[]}'),)}, "0 choices came for 1"),
        ({"chunks": ((0.0, b"<html>"),)}, "0 choices came for 1"),
    ],
)
def test_what_cannot_be_read_is_told(changes: Any, told: str) -> None:
    stage = house("vllm-0.32.0").fake.default

    read = expert(stage).read(taken(stage, "chat", asking(stage, "chat", False, IDS), **changes))

    assert read.truths is None
    assert told in (read.note or "")


def test_what_came_of_a_cut_stream_is_kept_with_a_note() -> None:
    stage = house("vllm-0.32.0").fake.default
    whole = taken(stage, "chat", asking(stage, "chat", True, IDS))

    half = whole.response_body[: len(whole.response_body) // 2]
    read = expert(stage).read(replace(whole, chunks=((0.0, half),), ending=CUT))

    assert read.truths is not None
    assert 0 < len(read.truths[0]["choices"][0]["tokens"]) < 12
    assert "careful reader refuses" in (read.note or "")


@pytest.mark.parametrize("status", [400, 500])
def test_an_error_has_no_truth_and_needs_no_note(status: int) -> None:
    stage = house("vllm-0.32.0").fake.default

    read = expert(stage).read(taken(stage, "chat", asking(stage, "chat", False, IDS), status=status))

    assert (None, None) == (read.truths, read.note)
