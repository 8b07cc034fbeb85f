"""Answers played from pieces are the answers that rendering afresh gives, and stale pieces are never played."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fakellm.ask import Request
from fakellm.generation import Choice
from support.stages import Spoken, body_of, chat, post, spoken, stage

NATIVE: dict[str, Any] = {"sampling_params": {"max_new_tokens": 40}, "return_logprob": True}
COMPLETION: dict[str, Any] = {"model": "tiny", "max_tokens": 40, "return_token_ids": True, "logprobs": 1}


def native(text: str, **more: Any) -> Request:
    return post("/generate", {"text": text, **NATIVE, **more})


def completion(text: str, **more: Any) -> Request:
    return post("/v1/completions", {"prompt": text, **COMPLETION, **more})


REQUESTS: dict[str, Callable[[str], Request]] = {
    "native": lambda text: native(text, return_prompt_token_ids=True),
    "native stream": lambda text: native(text, stream=True),
    "native n": lambda text: native(text, sampling_params={"n": 2, "max_new_tokens": 4}),
    "native prompt scores": lambda text: native(text, logprob_start_len=0),
    "native rid": lambda text: native(text, rid=f"rid-{text}"),
    "native short": lambda text: native(text, sampling_params={"max_new_tokens": 2}),
    "chat": lambda text: chat(text, logprobs=True, top_logprobs=2, return_token_ids=True),
    "chat stream": lambda text: chat(
        text,
        stream=True,
        logprobs=True,
        stream_options={"include_usage": True, "continuous_usage_stats": True},
        return_input_ids_in_sglext=True,
        return_output_ids_in_sglext=True,
    ),
    "chat meta": lambda text: chat(text, return_meta_info=True),
    "completion": completion,
    "completion stream": lambda text: completion(text, stream=True, stream_options={"include_usage": True}),
    "completion echo": lambda text: completion(text, echo=True),
}
PROMPTS = ("Hi", "Hi", "Hello there", "Hi", "A longer prompt with other ids at its end", "Hello there")


def answers(server: str, options: tuple[str, ...], requests: list[Request], *choices: Choice, plans: bool) -> list[Any]:
    playing = stage(Spoken(*choices), server, *options, plans=plans)
    return [(answer.wire.status, answer.wire.headers, body_of(answer)) for answer in map(playing.answer, requests)]


@pytest.mark.parametrize("named", REQUESTS)
@pytest.mark.parametrize(
    ("server", "options"),
    [
        ("sglang-0.5.3", ()),
        ("sglang-0.5.12", ()),
        ("sglang-0.5.23", ()),
        ("sglang-0.5.23", ("--incremental-streaming-output", "--enable-metrics", "--context-length", "60")),
        ("sglang-0.5.23", ("--reasoning-parser", "qwen3")),
    ],
)
def test_planned_bytes_are_rendered_bytes(server: str, options: tuple[str, ...], named: str) -> None:
    requests = [REQUESTS[named](prompt) for prompt in PROMPTS]
    choices = spoken("<think>yes</think>One é two 😀 three"), spoken("Other")
    rendered = answers(server, options, requests, *choices, plans=False)
    assert rendered == answers(server, options, requests, *choices, plans=True)
    assert 200 == rendered[0][0]


def test_equal_requests_get_ids_of_their_own() -> None:
    playing = stage(Spoken(spoken("Hello")), "sglang-0.5.23")
    bodies = [body_of(playing.answer(chat())) for _ in range(3)]
    assert 3 == len(set(bodies))


def test_a_new_weight_version_shows_in_the_very_next_answer() -> None:
    playing = stage(Spoken(spoken("Hello")), "sglang-0.5.23")
    before = [body_of(playing.answer(chat())) for _ in range(2)]
    playing.answer(post("/update_weight_version", {"new_version": "step-2"}))
    after = body_of(playing.answer(chat()))
    assert all(b'"weight_version":"default"' in body for body in before)
    assert b'"weight_version":"step-2"' in after
