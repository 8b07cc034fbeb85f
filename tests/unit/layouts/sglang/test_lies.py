"""Whatever a fault made of the told answer goes onto the wire as it is; nothing of it breaks a renderer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fakellm.ask import Ask, Request
from fakellm.context import FixedContext
from fakellm.faults.registry import faults
from fakellm.generation import Generation
from fakellm.layouts.base import Station
from fakellm.message import Rendering
from fakellm.told import Told, ToldChoice
from support.stages import EOS, Spoken, chat, post, spoken, stage, station

SAYS = spoken("one two three")
IDS = [each.id for each in SAYS.tokens]
SCORED = {"sampling_params": {"max_new_tokens": 9}, "return_logprob": True, "top_logprobs_num": 1}
IN_SGLEXT = {"return_input_ids_in_sglext": True, "return_output_ids_in_sglext": True}
REQUESTS: dict[str, Callable[[bool], Request]] = {
    "generate": lambda stream: post("/generate", {"text": "Hi", "stream": stream, **SCORED}),
    "chat": lambda stream: chat(stream=stream, n=2, logprobs=True, top_logprobs=1, **IN_SGLEXT),
    "completions": lambda stream: post(
        "/v1/completions", {"model": "tiny", "prompt": "Hi", "stream": stream, "logprobs": 1, "return_token_ids": True}
    ),
    "responses": lambda stream: post("/v1/responses", {"model": "tiny", "input": "Hi", "stream": stream}),
    "messages": lambda stream: post(
        "/v1/messages",
        {"model": "tiny", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "stream": stream},
    ),
    "ollama": lambda stream: post("/api/generate", {"model": "tiny", "prompt": "Hi", "stream": stream}),
}


def lied(request: Request, lie: Callable[[ToldChoice], ToldChoice], version: str = "0.5.23") -> Rendering:
    """The answer whose told choices were changed."""
    _, started = station(f"sglang-{version}")
    context = FixedContext()
    ask, told = heard(started, request, context)
    return started.render(told.with_choices(tuple(map(lie, told.choices))), ask, context)


def heard(started: Station, request: Request, context: FixedContext) -> tuple[Ask, Told]:
    ask = started.receive(request, context)
    assert isinstance(ask, Ask)
    generation = Generation(ask.prompts[0].token_ids, (SAYS,))
    return ask, started.tell(ask, (generation,), context)


def native(lie: Callable[[ToldChoice], ToldChoice], **more: Any) -> Any:
    request = post("/generate", {"text": "Hi", **SCORED, **more})
    return [message.body for message in lied(request, lie).messages if isinstance(message.body, dict)]


class TestIds:
    def test_ids_that_are_not_there_have_no_field(self) -> None:
        (body,) = native(lambda choice: replace(choice, ids=None))
        assert "output_ids" not in body
        assert "one two three" == body["text"]

    def test_ids_of_another_kind_are_sent_as_they_are(self) -> None:
        (body,) = native(lambda choice: replace(choice, ids=tuple(map(str, choice.ids or ()))))
        assert [*map(str, IDS)] == body["output_ids"]

    def test_ids_that_end_early_end_early_in_streams_too(self) -> None:
        bodies = native(lambda choice: replace(choice, ids=(choice.ids or ())[:2]), stream=True)
        assert [IDS[:1], IDS[:2], IDS[:2], IDS[:2]] == [body["output_ids"] for body in bodies]


class TestScores:
    def test_no_scores_at_all(self) -> None:
        (body,) = native(lambda choice: replace(choice, scores=None))
        assert [] == body["meta_info"]["output_token_logprobs"]

    def test_a_missing_entry_is_null_where_it_stands(self) -> None:
        (body,) = native(lambda choice: replace(choice, scores=(None, *(choice.scores or ())[1:])))
        rows = body["meta_info"]["output_token_logprobs"]
        assert 4 == len(rows)
        assert rows[0] is None or rows[0][0] is None
        assert EOS == rows[-1][1]

    def test_short_scores_leave_ids_alone(self) -> None:
        (body,) = native(lambda choice: replace(choice, scores=(choice.scores or ())[:1]))
        assert (1, IDS) == (len(body["meta_info"]["output_token_logprobs"]), body["output_ids"])

    def test_a_null_among_chat_scores(self) -> None:
        rendering = lied(chat(logprobs=True), lambda choice: replace(choice, scores=(None, *(choice.scores or ())[1:])))
        body: Any = rendering.messages[0].body
        assert 4 == len(body["choices"][0]["logprobs"]["content"])


LIES: dict[str, Callable[[ToldChoice], ToldChoice]] = {
    "nothing": lambda choice: replace(choice, ids=None, scores=None),
    "empty": lambda choice: replace(choice, ids=(), scores=()),
    "nulls": lambda choice: replace(choice, scores=(None,) * len(choice.scores or ())),
    "no end": lambda choice: replace(choice, finish_reason=None),
    "another end": lambda choice: replace(choice, finish_reason="tired", stop_reason=None),
    "no steps": lambda choice: replace(choice, steps=()),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("api", REQUESTS)
@pytest.mark.parametrize("lie", LIES)
def test_no_lie_breaks_an_answer(lie: str, api: str, stream: bool) -> None:
    assert 200 == lied(REQUESTS[api](stream), LIES[lie]).status


@pytest.mark.parametrize("fault", sorted(faults()))
@pytest.mark.parametrize("server", ["sglang-0.5.3", "sglang-0.5.9", "sglang-0.5.23"])
def test_every_fault_of_the_catalogue_gives_an_answer_or_says_why_not(server: str, fault: str) -> None:
    for make in REQUESTS.values():
        for stream in (False, True):
            answer = stage(Spoken(SAYS, spoken("other"), faults=(fault,)), server).answer(make(stream))
            assert "broke down" not in (answer.problem or ""), answer.problem
