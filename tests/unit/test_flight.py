"""A flight: which ids it has, what is left of it at a moment, and what its record says afterwards."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.ask import Request
from fakellm.context import RequestContext, SeededIds
from fakellm.faults.registry import faults
from fakellm.flight import Flight
from fakellm.journal import Journal
from fakellm.layouts.base import Aborting
from fakellm.stage import Stage
from fakellm.timing import Dribble, Timing
from support.aborted import Line, aborted
from support.stages import NOON, TOKENIZER, Spoken, chat, post, spoken, station

TIMING = Timing(first_token_ms=10, between_ms=10)
HI = [{"role": "user", "content": "Hi"}]
SAID = "one two three four five six"


def server(
    layout: str = "vllm-0.32.0",
    *options: str,
    fault: str | None = None,
    timing: Timing = TIMING,
    plans: bool = True,
) -> Stage:
    found, started = station(layout, *options)
    source = Spoken(spoken(SAID), faults=() if fault is None else (fault,), timing=timing)
    return Stage("test", found, started, source, now=lambda: NOON, tokenizer=TOKENIZER, plans=plans)


@pytest.mark.parametrize(
    ("request_", "ids"),
    [
        (chat("Hi", n=2, temperature=1.0), ["chatcmpl-mine", "chatcmpl-mine"]),
        (post("/v1/completions", {"model": "tiny", "prompt": ["a", "b"]}), ["cmpl-mine-0", "cmpl-mine-1"]),
        (post("/v1/responses", {"model": "tiny", "input": "Hi", "request_id": "resp_mine"}), ["resp_mine_0"]),
        (post("/v1/messages", {"model": "tiny", "messages": HI, "max_tokens": 9}), ["chatcmpl-mine"]),
        (
            post("/v1/chat/completions/batch", {"model": "tiny", "messages": [HI, HI]}),
            ["chatcmpl-mine_0", "chatcmpl-mine_1"],
        ),
        (post("/inference/v1/generate", {"token_ids": [1], "sampling_params": {}}), ["generate-tokens-mine"]),
    ],
    ids=["chat", "completions", "responses", "messages", "batch", "tito"],
)
def test_the_engine_of_vllm_has_ids_of_its_own(request_: Request, ids: list[str]) -> None:
    named = Request(request_.method, request_.path, {}, {**request_.headers, "x-request-id": "mine"}, request_.body)
    playing = server("vllm-0.32.0", "--enable-scale-out")
    context = RequestContext(lambda: NOON, SeededIds("x"))

    ask = playing.station.receive(named, context)

    assert isinstance(playing.station, Aborting)
    assert ids == list(playing.station.engine_ids(ask, context))  # pyright: ignore[reportArgumentType]


def test_a_prompt_can_be_ended_after_another() -> None:
    """Each at its own moment, in one answer."""
    playing = server()
    request = post("/v1/completions", {"model": "tiny", "prompt": ["a", "b"], "return_token_ids": True})
    answer, journal = playing.answer(request), Journal()
    exchange = journal.begin(0.0, "test", request)
    exchange.wire, exchange.behind = answer.wire, answer.behind
    line = Line(answer.wire, 25.0)
    flight = Flight(playing, answer, exchange, journal, line)

    first = flight.abort([0])
    line.at_ms = 45.0
    again = flight.abort([0])
    second = flight.abort([1])

    assert (1, 0, 1) == (first, again, second)
    body = json.loads(exchange.body)
    assert [("abort", 2), ("abort", 4)] == [
        (choice["finish_reason"], len(choice["token_ids"])) for choice in body["choices"]
    ]
    assert 6 == body["usage"]["completion_tokens"]
    assert [frame.due_ms for frame in line.rest] == [45.0]


def test_what_is_over_cannot_be_aborted() -> None:
    got = aborted(server(), chat(), 10_000.0)

    assert (0, 0) == (got.ended, got.line.swaps)
    assert "stop" == got.played.told.choices[0].finish_reason


def test_what_only_a_slow_link_still_holds_cannot_be_aborted() -> None:
    """The engine is done; its answer is still under way."""
    slow = Timing(dribble=Dribble(16, 5.0))

    got = aborted(server(timing=slow), chat(stream=True), 12.0)

    assert (0, 0) == (got.ended, got.line.swaps)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_equal_aborts_come_from_a_plan_and_are_the_same(stream: bool) -> None:
    """Each with its own ids, prompt and counts."""
    asked = chat("Hi there", stream=stream, logprobs=True, return_token_ids=True)
    playing = server()

    first = aborted(playing, chat("Hi", stream=stream, logprobs=True, return_token_ids=True), 25.0)
    planned = aborted(playing, asked, 27.0)
    rendered = aborted(server(plans=False), asked, 27.0)

    assert (1, rendered.body) == (first.ended, planned.body)
    assert rendered.played.generations == planned.played.generations
    assert rendered.exchange.served == planned.exchange.served


def test_the_numbers_are_those_of_what_was_told() -> None:
    got = aborted(server(), chat(), 25.0)

    assert (("abort",), 2) == (got.exchange.served.finish_reasons, got.exchange.served.completion_tokens)


@pytest.mark.parametrize("dribble", [None, Dribble(11, 3.0)], ids=["whole frames", "packets"])
@pytest.mark.parametrize("layout", ["vllm-0.32.0", "sglang-0.5.23"])
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_an_answer_with_any_fault_can_be_aborted(layout: str, stream: bool, dribble: Dribble | None) -> None:
    """A fault of what did not come to pass does not happen; all others do."""
    timing = Timing(first_token_ms=10, between_ms=10, dribble=dribble)
    flags: dict[str, Any] = {"return_token_ids": True} if layout.startswith("vllm") else {}
    request = chat(stream=stream, logprobs=True, **flags)
    ended = 0

    for name in faults():
        if server(layout, fault=name, timing=timing).answer(request).making is not None:
            ended += aborted(server(layout, fault=name, timing=timing), request, 35.0).ended

    assert ended > 20


def test_a_fault_of_the_end_does_not_happen() -> None:
    got = aborted(server(fault="eos-score-missing"), chat(stream=True, logprobs=True), 35.0)

    assert 1 == got.ended
    assert not got.played.distortion
    assert b'"finish_reason":"abort"' in got.body


OPENAI = {
    "chat": post("/v1/chat/completions", {"model": "tiny", "messages": HI}),
    "completions": post("/v1/completions", {"model": "tiny", "prompt": "Hi"}),
    "messages": post("/v1/messages", {"model": "tiny", "messages": HI, "max_tokens": 9}),
}


@pytest.mark.parametrize(
    ("version", "api", "status", "words"),
    [
        ("0.5.3", "chat", 500, b"Internal server error: 'weight_version'"),
        ("0.5.9", "chat", 500, b"Internal server error: 'prompt_tokens'"),
        ("0.5.9", "completions", 500, b"Internal server error: 'prompt_tokens'"),
        ("0.5.9", "messages", 500, b'"internal_error"'),
        ("0.5.23", "chat", 200, b'"finish_reason":"abort"'),
        ("0.5.23", "completions", 200, b'"finish_reason":"abort"'),
        ("0.5.23", "messages", 200, b'"input_tokens":0,"output_tokens":0'),
    ],
)
def test_older_sglang_fails_on_what_never_began(version: str, api: str, status: int, words: bytes) -> None:
    got = aborted(server(f"sglang-{version}"), OPENAI[api], 5.0)

    assert status == got.status
    assert words in got.body


@pytest.mark.parametrize(("version", "cut"), [("0.5.9", True), ("0.5.23", False)])
def test_its_chat_stream_is_cut_before_the_first_event(version: str, cut: bool) -> None:
    got = aborted(server(f"sglang-{version}"), chat(stream=True), 5.0)

    assert (cut, cut) == (got.line.wire.cut, got.body == b"")


def test_sglang_counts_no_prompt_that_never_began() -> None:
    body = {"model": "tiny", "messages": HI, "stream": True, "stream_options": {"include_usage": True}}

    got = aborted(server("sglang-0.5.23"), post("/v1/chat/completions", body), 5.0)

    assert b'"prompt_tokens":0,"total_tokens":0,"completion_tokens":0' in got.body
