"""Every layout but vLLM's and SGLang's (which have their own): what its table names comes back, all else is None.

Requests are made from the accessor table itself: all flags that it says to send, on every API and mode. A value whose
place is declared lossy may be missing, never wrong; where the usage beside it says so, the answer may be refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakellm.ask import Request
from fakellm.capture import CapturedChoice
from fakellm.generation import Choice
from fakellm.layouts.base import Accessor, Layout
from fakellm.layouts.registry import VENDORS, vendor_layouts
from fakellm.reading import Reader, Refused
from support.calls import OPTIONS, call
from support.stages import EOS, TOKENIZER, Spoken, body_of, post, stage, token

OTHERS = [layout for vendor in VENDORS if vendor not in ("vllm", "sglang") for layout in vendor_layouts(vendor)]
MODES = [(layout, api, stream) for layout in OTHERS for api, stream in sorted(layout.accessors)]
NAMES = [f"{layout.name}-{api}-{'stream' if stream else 'whole'}" for layout, api, stream in MODES]
VALUES = ("prompt_token_ids", "completion_token_ids", "logprobs")
ORDINARY = [token_id for token_id in range(TOKENIZER.vocab_size) if token_id not in TOKENIZER.special_ids]


@st.composite
def choices(draw: Callable[[Any], Any]) -> Choice:
    """Any sampled ids, any scores, any grouping into steps; it ends by eos or at its length."""
    picked: list[int] = draw(st.lists(st.sampled_from(ORDINARY), min_size=1, max_size=12))
    ends = draw(st.booleans())
    scores = st.floats(-60.0, 0.0, width=32)
    ids = [*picked, *([EOS] if ends else [])]
    tokens = tuple(token(token_id, draw(scores), top=[(token_id, draw(scores))]) for token_id in ids)
    steps: list[int] = []
    while sum(steps) < len(tokens):
        steps.append(draw(st.integers(1, min(4, len(tokens) - sum(steps)))))
    return Choice(tokens, tuple(steps), "stop" if ends else "length")


def merged(one: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both objects, lists joined, the larger number kept."""
    result = dict(one)
    for key, value in other.items():
        before = result.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            result[key] = merged(dict(before), value)
        elif isinstance(value, list) and isinstance(before, list):
            result[key] = [*before, *(element for element in value if element not in before)]
        elif not (isinstance(before, int) and isinstance(value, int) and before > value):
            result[key] = value
    return result


def asked(layout: Layout, api: str, stream: bool) -> Request:
    """A request with every flag that the table names for ids and scores; alternatives may take the place of scores."""
    path, body = call(api, stream=stream)
    for row in layout.accessors[api, stream]:
        if row.value in (*VALUES, "usage"):
            body = merged(body, row.flags)
    return post(path, body)


def expected(value: str, choice: Choice, row: Accessor, prompt: tuple[int, ...]) -> tuple[Any, ...]:
    """What the truth says, as far as this place tells it."""
    if value == "prompt_token_ids":
        return prompt
    tokens = choice.tokens
    if not row.eos and tokens[-1].id == EOS:
        tokens = tokens[:-1]
    return tuple(one.id if value == "completion_token_ids" else one.logprob for one in tokens)


def split_free(data: bytes) -> bool:
    """Whether a token is whole characters."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def agrees(value: str, told: tuple[Any, ...] | None, truth: tuple[Any, ...]) -> bool:
    """Ids exactly, scores in the precision that a 32-bit float keeps."""
    if told is None or value != "logprobs":
        return (told or ()) == truth
    return len(told) == len(truth) and all(
        one == pytest.approx(two, rel=1e-6, abs=1e-12) for one, two in zip(told, truth, strict=True)
    )


def captured(layout: Layout, api: str, stream: bool, truth: Choice) -> tuple[CapturedChoice, tuple[int, ...]]:
    """The reference reader's choice, and the prompt's ids."""
    request = asked(layout, api, stream)
    playing = stage(Spoken(truth), layout.name, *OPTIONS.get(layout.vendor, ()), plans=False)
    answer = playing.answer(request)
    played = answer.behind()
    assert played is not None, body_of(answer)
    if api == "tinker":
        future = json.loads(body_of(answer))["request_id"]
        answer = playing.answer(post("/api/v1/retrieve_future", {"request_id": future}))
    reader = Reader(api=api, stream=stream, table=layout.accessors, request=played.ask.body, status=answer.wire.status)
    reader.feed(body_of(answer))
    return reader.capture().choices[0], played.ask.prompts[0].token_ids


@pytest.mark.parametrize(("layout", "api", "stream"), MODES, ids=NAMES)
@settings(max_examples=12, deadline=None)
@given(truth=choices())
def test_what_the_table_names_comes_back_and_all_else_is_none(
    layout: Layout, api: str, stream: bool, truth: Choice
) -> None:
    rows = {row.value: row for row in layout.accessors[api, stream]}
    try:
        choice, prompt = captured(layout, api, stream, truth)
    except Refused:  # a wire that leaves out ids shows it in its usage: then the reader is right to refuse
        assert rows["completion_token_ids"].loss is not None
        assert not all(split_free(token.bytes) for token in truth.tokens)
        return

    for value in VALUES:
        told = getattr(choice, value)
        if value not in rows:
            assert told is None, value
        elif not (rows[value].loss is not None and told is None):
            whole = expected(value, truth, rows[value], prompt)
            assert agrees(value, told, whole) or (rows[value].loss is not None and len(told or ()) < len(whole)), value
