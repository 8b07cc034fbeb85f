"""What is odd but complete is read: ids in another place, late scores, choices in any order, no [DONE]."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.capture import CapturedChoice
from fakellm.reading import read
from support.bodies import FIRST, IDS, LAST, PROMPT, ROLE, SCORES, USAGE, choice, delta, stream, whole


def captured(body: bytes, **terms: Any) -> CapturedChoice:
    return read(body, api="chat", **terms).choices[0]


def assert_whole(got: CapturedChoice) -> None:
    assert PROMPT == got.prompt_token_ids
    assert IDS == got.completion_token_ids
    assert SCORES == got.logprobs
    assert got.text == "hi"
    assert got.finish_reason == "stop"


@pytest.mark.parametrize(
    "body",
    [
        whole(),
        whole(choice(prompt_token_ids=[*PROMPT]), prompt_token_ids=...),
        whole(choice(prompt_token_ids=[*PROMPT])),
        whole(choice(prompt_token_ids=[]), prompt_token_ids=[*PROMPT]),
        whole(choice(token_ids=None, provider_specific_fields={"token_ids": [*IDS]})),
        whole(usage=...),
        whole(usage=None),
        whole(choice(stop_reason=None, routed_experts=None), id=None, created=0.5, model=None, x_more={"deep": [1]}),
    ],
)
def test_a_whole_answer_is_read_wherever_its_ids_are(body: bytes) -> None:
    assert_whole(captured(body))


LATE_PROMPT = {"choices": [FIRST], "prompt_token_ids": [*PROMPT]}
NO_PROMPT = {"choices": ROLE["choices"]}


@pytest.mark.parametrize(
    "body",
    [
        stream(ROLE, FIRST, LAST, USAGE),
        stream(ROLE, FIRST, LAST, done=False),
        stream(ROLE, FIRST, LAST, "[DONE]", "text after the end"),
        stream(ROLE, FIRST, "", "   ", LAST, USAGE),
        stream(NO_PROMPT, LATE_PROMPT, LAST),
        stream(ROLE, FIRST, delta(ids=[2], finish_reason="stop"), delta(scores=(-0.25,)), USAGE),
        stream(ROLE, delta(ids=[5], text="hi"), delta(scores=(-0.5, -0.25)), delta(ids=[2], finish_reason="stop")),
        stream(ROLE, delta(scores=(-0.5, -0.25)), delta(ids=[5, 2], text="hi", finish_reason="stop")),
        stream({**ROLE, "usage": {"prompt_tokens": 3, "completion_tokens": 0}}, FIRST, LAST, USAGE),
        stream({**ROLE, "usage": None}, {"choices": [FIRST]}, LAST, {"choices": [], "usage": None}),
    ],
)
def test_a_stream_is_read_whenever_its_parts_come(body: bytes) -> None:
    assert_whole(captured(body, stream=True))


def test_choices_are_told_apart_by_index_alone() -> None:
    events = [delta(1, ids=[6], scores=(-1.0,)), delta(0, ids=[5], scores=(-0.5,)), delta(1, ids=[3], scores=(-2.0,))]
    ends = [delta(1, finish_reason="length"), delta(0, ids=[2], scores=(-0.25,), finish_reason="stop")]

    first, second = read(stream(ROLE, *events, *ends), api="chat", stream=True, request={"n": 2}).choices

    assert (IDS, SCORES, "stop") == (first.completion_token_ids, first.logprobs, first.finish_reason)
    assert ((6, 3), (-1.0, -2.0), "length") == (second.completion_token_ids, second.logprobs, second.finish_reason)
    assert PROMPT == first.prompt_token_ids == second.prompt_token_ids


def test_choices_out_of_order_are_sorted() -> None:
    body = whole(choice(1, token_ids=[6, 3]), choice(0))

    choices = read(body, api="chat", request={"n": 2}).choices

    assert [IDS, (6, 3)] == [one.completion_token_ids for one in choices]


def test_an_index_is_not_needed_for_a_single_choice() -> None:
    row = choice()
    del row["index"]

    assert_whole(captured(whole(row)))


def test_the_bytes_say_whether_they_are_events_not_the_request() -> None:
    assert_whole(captured(whole(), stream=True))
    assert_whole(captured(stream(ROLE, FIRST, LAST), stream=False))


def test_null_content_is_no_text() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": '{"text":"no"}'}}]}

    assert captured(whole(choice(message=message, finish_reason="tool_calls"))).text == ""


@pytest.mark.parametrize(
    "body",
    [
        whole(choice(token_ids=None, message={"role": "assistant", "content": "hi", "token_ids": [*IDS]})),
        whole(choice(token_ids=None), token_ids=[*IDS]),
    ],
    ids=["in the message", "at the top"],
)
def test_completion_ids_where_no_captured_layout_has_them_are_null(body: bytes) -> None:
    assert captured(body).completion_token_ids is None


def test_what_is_not_there_is_null_and_an_empty_list_counts_as_not_there() -> None:
    got = captured(whole(choice(token_ids=[], logprobs={"content": []}, finish_reason=""), prompt_token_ids=[]))

    assert got == CapturedChoice(index=0, text="hi")


def native(ids: list[int], scores: list[float], **meta: Any) -> dict[str, Any]:
    rows = [[score, number, None] for score, number in zip(scores, ids, strict=True)]
    facts = {"finish_reason": None, "prompt_tokens": 3, "output_token_logprobs": rows, **meta}
    return {"text": "x" * len(ids), "output_ids": ids, "meta_info": facts}


STOP = {"type": "stop", "matched": 2}
REPEATING = [
    native([5], [-0.5], completion_tokens=1),
    native([5, 5], [-0.5, -0.75], completion_tokens=2),
    native([5, 5, 2], [-0.5, -0.75, -0.25], completion_tokens=3, finish_reason=STOP),
]
GROWING = [
    native([5], [-0.5], completion_tokens=1),
    native([5], [-0.75], completion_tokens=2),
    native([2], [-0.25], completion_tokens=3, finish_reason=STOP),
]
MIXED = [
    {**native([5], [-0.5], completion_tokens=1)},
    {**native([5, 5], [-0.5, -0.75], completion_tokens=2), "output_ids": [5]},
    {**native([5, 5, 2], [-0.5, -0.75, -0.25], completion_tokens=3, finish_reason=STOP), "output_ids": [2]},
]


def without_counts(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**one, "meta_info": {k: v for k, v in one["meta_info"].items() if k != "completion_tokens"}} for one in events
    ]


@pytest.mark.parametrize(
    "events",
    [REPEATING, GROWING, MIXED, without_counts(REPEATING), without_counts(GROWING)],
    ids=["repeating", "growing", "ids grow and scores repeat", "repeating, no counts", "growing, no counts"],
)
def test_the_native_stream_is_read_in_every_fashion(events: list[dict[str, Any]]) -> None:
    got = read(stream(*events), api="generate", stream=True).choices[0]

    assert (5, 5, 2) == got.completion_token_ids
    assert (-0.5, -0.75, -0.25) == got.logprobs
    assert got.finish_reason == "stop"


def test_a_list_of_native_answers_is_a_list_of_choices() -> None:
    rows = [native([5, 2], [-0.5, -0.25], completion_tokens=2, finish_reason=STOP)]
    rows += [native([6, 2], [-0.5, -0.75], completion_tokens=2, finish_reason=STOP)]

    choices = read(json.dumps(rows).encode(), api="generate", request={"sampling_params": {"n": 2}}).choices

    assert [(0, (5, 2)), (1, (6, 2))] == [(one.index, one.completion_token_ids) for one in choices]


def test_the_place_of_a_new_layout_is_data() -> None:
    from fakellm.layouts.base import Accessor

    table = {
        ("chat", False): [
            Accessor("completion_token_ids", "ext.out[]"),
            Accessor("logprobs", "choices[].scores[].value"),
            Accessor("prompt_token_ids", "ext.in"),
        ]
    }
    row = {"index": 0, "message": {"content": "hi"}, "finish_reason": "stop", "scores": [{"value": -0.5}] * 2}
    body = json.dumps({"choices": [row], "ext": {"out": [[5, 2]], "in": [7]}}).encode()

    got = read(body, api="chat", table=table).choices[0]

    assert ((7,), (5, 2), (-0.5, -0.5)) == (got.prompt_token_ids, got.completion_token_ids, got.logprobs)
