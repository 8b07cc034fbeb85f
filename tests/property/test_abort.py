"""Whenever an answer is aborted: what a client recovers is a prefix of the truth, says so, and what had left stays.

Any truth, any pace, any moment, every version of the two vendors whose servers abort, whole and streamed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakellm.ask import Request
from fakellm.generation import Choice
from fakellm.layouts.registry import find, vendor_layouts
from fakellm.reading import Reader
from fakellm.stage import Stage
from fakellm.timing import Timing
from support.aborted import Aborted, aborted
from support.stages import EOS, NOON, TOKENIZER, Spoken, chat, post, station, token

ORDINARY = [token_id for token_id in range(TOKENIZER.vocab_size) if token_id not in TOKENIZER.special_ids]
VLLM = [layout.name for layout in vendor_layouts("vllm") if layout.version >= (0, 12, 0)]
SGLANG = [layout.name for layout in vendor_layouts("sglang") if layout.version >= (0, 5, 5)]
"""Before, output_ids begin with ids of the prompt, which the reader refuses."""

scores = st.floats(-60.0, 0.0, width=32)


@st.composite
def truths(draw: Callable[[Any], Any]) -> Choice:
    picked: list[int] = draw(st.lists(st.sampled_from(ORDINARY), min_size=1, max_size=16))
    all_ids = [*picked, *([EOS] if draw(st.booleans()) else [])]
    tokens = tuple(token(token_id, draw(scores), top=[(token_id, draw(scores))]) for token_id in all_ids)
    steps: list[int] = []
    while sum(steps) < len(tokens):
        steps.append(draw(st.integers(1, min(3, len(tokens) - sum(steps)))))
    return Choice(tokens, tuple(steps), "stop" if all_ids[-1] == EOS else "length")


TIMINGS = st.builds(Timing, first_token_ms=st.integers(1, 30).map(float), between_ms=st.integers(1, 20).map(float))
MOMENTS = st.integers(0, 400).map(float)
"""Milliseconds after the request: before the first token, between two, after the last."""

VLLM_REQUESTS: dict[str, Callable[[bool], Request]] = {
    "chat": lambda stream: chat("Hi", logprobs=True, top_logprobs=1, return_token_ids=True, stream=stream),
    "completions": lambda stream: post(
        "/v1/completions",
        {
            "model": "tiny",
            "prompt": "Hi",
            "logprobs": 1,
            "return_token_ids": True,
            "stream": stream,
            "max_tokens": 64,
        },
    ),
}


def server(layout: str, truth: Choice, timing: Timing, *options: str) -> Stage:
    found, started = station(layout, *options)
    return Stage("test", found, started, Spoken(truth, timing=timing), now=lambda: NOON, tokenizer=TOKENIZER)


def read(layout: str, api: str, stream: bool, got: Aborted) -> Any:
    """The first choice that the reference client reads off."""
    table = find(layout).layout.accessors
    reader = Reader(api=api, stream=stream, table=table, request=got.played.ask.body, status=got.status)
    reader.feed(got.body)
    return reader.capture().choices[0]


def is_prefix(truth: Choice, choice: Any) -> int:
    """How many tokens of the truth came; they are the first ones, with their own scores."""
    ids = choice.completion_token_ids or ()
    kept = truth.tokens[: len(ids)]
    assert tuple(one.id for one in kept) == ids
    assert tuple(one.logprob for one in kept) == (choice.logprobs or ())
    return len(ids)


def steps_by(truth: Choice, timing: Timing, at_ms: float) -> int:
    return sum(timing.due(step) <= at_ms for step in range(len(truth.steps)))


@pytest.mark.parametrize("api", list(VLLM_REQUESTS))
@pytest.mark.parametrize("layout", VLLM)
@settings(max_examples=15, deadline=None)
@given(truth=truths(), timing=TIMINGS, at_ms=MOMENTS, stream=st.booleans())
def test_vllm_keeps_what_was_sampled(
    api: str, layout: str, truth: Choice, timing: Timing, at_ms: float, stream: bool
) -> None:
    got = aborted(server(layout, truth, timing), VLLM_REQUESTS[api](stream), at_ms)

    made = steps_by(truth, timing, at_ms)
    over = made == len(truth.steps)
    assert (0 if over else 1) == got.ended
    if stream and not made:  # a stream says nothing of what never began, not even that it ended
        assert b'"finish_reason":"' not in got.body
        return
    choice = read(layout, api, stream, got)
    assert sum(truth.steps[:made]) == is_prefix(truth, choice)
    assert (truth.finish_reason if over else "abort") == choice.finish_reason


@pytest.mark.parametrize("layout", SGLANG)
@settings(max_examples=15, deadline=None)
@given(truth=truths(), timing=TIMINGS, at_ms=MOMENTS, stream=st.booleans())
def test_sglang_makes_one_step_more(layout: str, truth: Choice, timing: Timing, at_ms: float, stream: bool) -> None:
    body = {"input_ids": [1, 2], "return_logprob": True, "sampling_params": {"max_new_tokens": 64}, "stream": stream}

    got = aborted(server(layout, truth, timing), post("/generate", body), at_ms)

    made = steps_by(truth, timing, at_ms)
    over = made == len(truth.steps)
    assert (0 if over else 1) == got.ended
    generated = got.played.generations[0].choices[0]
    left = truth.steps if over else truth.steps[: made + 1] if made else ()
    assert truth.tokens[: sum(left)] == generated.tokens
    choice = read(layout, "generate", stream, got)
    if made:
        assert sum(left) == is_prefix(truth, choice)
    assert (truth.finish_reason if over else "abort") == choice.finish_reason


@settings(max_examples=40, deadline=None)
@given(truth=truths(), timing=TIMINGS, at_ms=MOMENTS, stream=st.booleans(), one=st.integers(0, 1))
def test_the_other_prompt_goes_on_to_its_end(
    truth: Choice, timing: Timing, at_ms: float, stream: bool, one: int
) -> None:
    body = {"model": "tiny", "prompt": ["Hi", "Ho"], "max_tokens": 64, "stream": stream}

    got = aborted(server("vllm-0.32.0", truth, timing), post("/v1/completions", body), at_ms, {one})

    other = got.played.generations[1 - one].choices[0]
    assert (truth.tokens, truth.finish_reason) == (other.tokens, other.finish_reason)
    if got.ended:
        assert "abort" == got.played.generations[one].choices[0].finish_reason
        assert max(frame.due_ms for frame in got.line.rest) >= timing.due(len(truth.steps) - 1)


@settings(max_examples=40, deadline=None)
@given(truth=truths(), timing=TIMINGS, at_ms=MOMENTS, api=st.sampled_from(["responses", "messages", "chat"]))
def test_what_had_left_is_never_taken_back(truth: Choice, timing: Timing, at_ms: float, api: str) -> None:
    """The bytes that follow are those of one answer: ids, time and all that was told before are the same."""
    hi = {"model": "tiny", "stream": True}
    requests = {
        "responses": post("/v1/responses", {**hi, "input": "Hi"}),
        "messages": post("/v1/messages", {**hi, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 64}),
        "chat": chat("Hi", stream=True, logprobs=True),
    }
    playing = server("vllm-0.32.0", truth, timing)

    got = aborted(playing, requests[api], at_ms)

    again = server("vllm-0.32.0", truth, timing).answer(requests[api])
    before = b"".join(frame.data for frame in again.wire.frames if frame.due_ms <= at_ms)
    assert got.body.startswith(before)
    if got.ended:
        assert all(frame.due_ms <= at_ms for frame in got.line.rest)
