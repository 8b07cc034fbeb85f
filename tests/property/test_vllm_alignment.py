"""The property behind everything: any truth, any chunking, whole or streamed, comes back exactly.

Any Generation with finite float32 scores, faults off, ids and scores asked for: the reference reader recovers ids and
scores of every choice from the bytes, however the bytes were split.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakellm.ask import Request
from fakellm.generation import Choice
from fakellm.layouts.registry import find
from fakellm.reading import Reader
from support.stages import EOS, TOKENIZER, Spoken, body_of, chat, post, stage, token

VERSIONS = ("0.10.2", "0.12.0", "0.16.0", "0.20.2", "0.24.0", "0.28.0", "0.32.0")
ORDINARY = [token_id for token_id in range(TOKENIZER.vocab_size) if token_id not in TOKENIZER.special_ids]

scores = st.floats(-60.0, 0.0, width=32)
ids = st.sampled_from(ORDINARY)


@st.composite
def choices(draw: Callable[[Any], Any]) -> Choice:
    """Any sampled ids, any scores, any grouping into steps; it ends by eos or at its length."""
    picked: list[int] = draw(st.lists(ids, min_size=1, max_size=24))
    ends = draw(st.booleans())
    all_ids = [*picked, *([EOS] if ends else [])]
    tokens = tuple(token(token_id, draw(scores), top=[(draw(ids), draw(scores))]) for token_id in all_ids)
    steps: list[int] = []
    while sum(steps) < len(tokens):
        steps.append(draw(st.integers(1, min(4, len(tokens) - sum(steps)))))
    return Choice(tokens, tuple(steps), "stop" if ends else "length")


def fed(body: bytes, cuts: list[int], **terms: Any) -> Any:
    """The capture of a body that arrives in pieces."""
    reader = Reader(**terms)
    edges = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    for start, end in itertools.pairwise(edges):
        reader.feed(body[start:end])
    return reader.capture()


REQUESTS: dict[str, Callable[[bool, int], Request]] = {
    "chat": lambda stream, n: chat(
        "Hi", logprobs=True, top_logprobs=1, return_token_ids=True, stream=stream, n=n, temperature=1.0
    ),
    "completions": lambda stream, n: post(
        "/v1/completions",
        {
            "model": "tiny",
            "prompt": "Hi",
            "logprobs": 1,
            "return_token_ids": True,
            "stream": stream,
            "n": n,
            "temperature": 1.0,
            "max_tokens": 64,
        },
    ),
}


@pytest.mark.parametrize("api", list(REQUESTS))
@pytest.mark.parametrize("version", VERSIONS)
@settings(max_examples=15, deadline=None)
@given(
    truths=st.lists(choices(), min_size=1, max_size=2), stream=st.booleans(), cuts=st.lists(st.integers(0), max_size=6)
)
def test_ids_and_scores_come_back_exactly(
    api: str, version: str, truths: list[Choice], stream: bool, cuts: list[int]
) -> None:
    layout = f"vllm-{version}"
    request = REQUESTS[api](stream, len(truths))

    answer = stage(Spoken(*truths), layout, plans=False).answer(request)
    capture = fed(
        body_of(answer),
        cuts,
        api=api,
        stream=stream,
        table=find(layout).layout.accessors,
        request={"n": len(truths)},
        status=answer.wire.status,
    )

    played = answer.behind()
    assert played is not None
    assert len(truths) == len(capture.choices)
    for truth, choice in zip(truths, capture.choices, strict=True):
        assert tuple(token.id for token in truth.tokens) == choice.completion_token_ids
        assert tuple(token.logprob for token in truth.tokens) == choice.logprobs
        assert played.ask.prompts[0].token_ids == choice.prompt_token_ids
