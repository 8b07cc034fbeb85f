"""Any truth, any grouping into steps, every stream fashion SGLang has had: the reader recovers what the version sends.

What a version loses or falsifies even when healthy (prompt ids in front of output_ids, scores of steps without visible
text in chat streams) is stated here as exactly that and no more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakellm.ask import Request
from fakellm.capture import Capture
from fakellm.generation import Choice
from fakellm.layouts.registry import find
from fakellm.reading import Reader
from support.stages import EOS, TOKENIZER, Spoken, body_of, chat, post, stage, token

ORDINARY = [token_id for token_id in range(TOKENIZER.vocab_size) if token_id not in TOKENIZER.special_ids]
SERVERS = (
    ("0.5.6",),
    ("0.5.6", "--stream-output"),
    ("0.5.9",),
    ("0.5.9", "--stream-output"),
    ("0.5.10", "--incremental-streaming-output"),
    ("0.5.12", "--incremental-streaming-output"),
    ("0.5.18",),
    ("0.5.23",),
    ("0.5.23", "--incremental-streaming-output"),
    ("0.5.13",),
    ("0.5.20", "--incremental-streaming-output"),
    ("0.5.23", "--stream-interval", "3"),
)
"""Version and launch options: every fashion of /generate streams."""

scores = st.floats(-60.0, 0.0, width=32)
ids = st.sampled_from(ORDINARY)


@st.composite
def choices(draw: Callable[[Any], Any]) -> Choice:
    """Any sampled ids, any scores, any grouping into steps; it ends by eos or at its length."""
    picked: list[int] = draw(st.lists(ids, min_size=1, max_size=24))
    ends = draw(st.booleans())
    tokens = tuple(
        token(token_id, draw(scores), top=[(draw(ids), draw(scores))])
        for token_id in [*picked, *([EOS] if ends else [])]
    )
    steps: list[int] = []
    while sum(steps) < len(tokens):
        steps.append(draw(st.integers(1, min(4, len(tokens) - sum(steps)))))
    return Choice(tokens, tuple(steps), "stop" if ends else "length")


def captured(truths: list[Choice], layout: str, options: tuple[str, ...], sent: Request, **terms: Any) -> Capture:
    """What the reference client reads off the answer."""
    answer = stage(Spoken(*truths), f"sglang-{layout}", *options, plans=False).answer(sent)
    reader = Reader(table=find(f"sglang-{layout}").layout.accessors, status=answer.wire.status, **terms)
    reader.feed(body_of(answer))
    return reader.capture()


def ids_of(truth: Choice) -> tuple[Any, ...]:
    return tuple(each.id for each in truth.tokens)


def scores_of(truth: Choice) -> tuple[Any, ...]:
    return tuple(each.logprob for each in truth.tokens)


def generate(stream: bool, n: int, **more: Any) -> Request:
    parameters = {"max_new_tokens": 64, **({"n": n} if n > 1 else {})}
    return post(
        "/generate", {"text": "Hi", "sampling_params": parameters, "return_logprob": True, "stream": stream, **more}
    )


@pytest.mark.parametrize("server", SERVERS, ids=" ".join)
@settings(max_examples=12, deadline=None)
@given(truths=st.lists(choices(), min_size=1, max_size=2), stream=st.booleans())
def test_native_answers_come_back_exactly(server: tuple[str, ...], truths: list[Choice], stream: bool) -> None:
    version, *options = server

    capture = captured(
        truths,
        version,
        tuple(options),
        generate(stream, len(truths)),
        api="generate",
        stream=stream,
        request={"sampling_params": {"n": len(truths)}},
    )

    assert [ids_of(truth) for truth in truths] == [choice.completion_token_ids for choice in capture.choices]
    assert [scores_of(truth) for truth in truths] == [choice.logprobs for choice in capture.choices]


@settings(max_examples=12, deadline=None)
@given(truth=choices())
def test_old_native_answers_begin_with_prompt_ids(truth: Choice) -> None:
    """0.5.1 to 0.5.4: up to five prompt ids stand in front, so ids and scores no longer have one length."""
    answer = stage(Spoken(truth), "sglang-0.5.3", plans=False).answer(generate(False, 1))
    reader = Reader(api="generate", table=find("sglang-0.5.3").layout.accessors)
    reader.feed(body_of(answer))

    sent = reader.as_sent().choices[0]

    assert (*TOKENIZER.encode("Hi")[-5:], *ids_of(truth)) == sent.completion_token_ids
    assert scores_of(truth) == sent.logprobs


@pytest.mark.parametrize("version", ["0.5.17", "0.5.18", "0.5.23"])
@settings(max_examples=12, deadline=None)
@given(truths=st.lists(choices(), min_size=1, max_size=2), stream=st.booleans())
def test_completions_come_back_exactly(version: str, truths: list[Choice], stream: bool) -> None:
    body = {"model": "tiny", "prompt": "Hi", "logprobs": 1, "return_token_ids": True, "max_tokens": 64}
    request = post("/v1/completions", {**body, "stream": stream, "n": len(truths)})

    capture = captured(truths, version, (), request, api="completions", stream=stream, request={"n": len(truths)})

    assert [ids_of(truth) for truth in truths] == [choice.completion_token_ids for choice in capture.choices]
    assert [scores_of(truth) for truth in truths] == [choice.logprobs for choice in capture.choices]
    assert {TOKENIZER.encode("Hi")} == {choice.prompt_token_ids for choice in capture.choices}


@pytest.mark.parametrize("version", ["0.5.17", "0.5.18", "0.5.23"])
@settings(max_examples=12, deadline=None)
@given(truths=st.lists(choices(), min_size=1, max_size=2))
def test_whole_chats_come_back_exactly(version: str, truths: list[Choice]) -> None:
    request = chat("Hi", logprobs=True, return_token_ids=True, n=len(truths))

    capture = captured(truths, version, (), request, api="chat", request={"n": len(truths)})

    assert [ids_of(truth) for truth in truths] == [choice.completion_token_ids for choice in capture.choices]
    assert [scores_of(truth) for truth in truths] == [choice.logprobs for choice in capture.choices]


@pytest.mark.parametrize("options", [(), ("--incremental-streaming-output",)], ids=["cumulative", "incremental"])
@settings(max_examples=20, deadline=None)
@given(truth=choices())
def test_chat_streams_tell_all_ids_and_the_scores_of_visible_steps(options: tuple[str, ...], truth: Choice) -> None:
    request = chat("Hi", logprobs=True, stream=True, return_input_ids_in_sglext=True, return_output_ids_in_sglext=True)
    played = stage(Spoken(truth), "sglang-0.5.23", *options, plans=False).answer(request)
    reader = Reader(api="chat", stream=True, table=find("sglang-0.5.23").layout.accessors)
    reader.feed(body_of(played))
    told = played.behind()
    assert told is not None
    visible = [
        score.logprob
        for step in told.told.choices[0].steps
        if step.text
        for score in told.told.choices[0].scores[step.scores[0] : step.scores[1]]
    ]

    sent = reader.as_sent().choices[0]

    assert ids_of(truth) == sent.completion_token_ids
    assert told.ask.prompts[0].token_ids == sent.prompt_token_ids
    assert visible == list(sent.logprobs or ())
