"""play: what a layout is given, in which order, and on which clock."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from fakellm.ask import Ask, Prompt, Request
from fakellm.errors import CaptureError
from fakellm.fidelity.play import RECORDED_AT, generations_of, play, request_of
from fakellm.fidelity.recorded import Exchange, Mask, Masks, RecordedRequest
from fakellm.generation import Generation
from fakellm.layouts.base import Context
from fakellm.message import Message, Rendering
from fakellm.told import Told, Usage
from support.recordings import exchange, folder

ID_MASK = Masks((Mask("random-id", re.compile(r"resp_[0-9a-f]{16}"), "ID"),))


class RecordingStation:
    """A station that answers with what it was given, so that a test can read it."""

    def __init__(self, answer: Callable[[Request, Context], Any] | None = None, *, n: int = 1) -> None:
        self.answer = answer
        self.n = n
        self.generations: tuple[Generation, ...] = ()
        self.requests: list[Request] = []
        self.timings: list[Any] = []

    def receive(self, request: Request, context: Context) -> Ask | Rendering:
        self.requests.append(request)
        self.timings.append(context.timing())
        if self.answer is not None:
            return Rendering(200, (), (Message("body", self.answer(request, context)),))
        return Ask(api="chat", request=request, body={}, prompts=(Prompt(()),), n=self.n)

    def tell(self, ask: Ask, generations: Sequence[Generation], context: Context) -> Told:
        self.generations = tuple(generations)
        return Told((), (), Usage(None, None))

    def render(self, told: Told, ask: Ask, context: Context) -> Rendering:
        return Rendering(200, (), (Message("body", {"now": context.now()}),))


def truth(tokens: int = 2, **members: Any) -> dict[str, Any]:
    token = {"id": 42, "bytes": [72], "logprob": -0.5, "top": []}
    choice = {"finish_reason": "stop", "tokens": [token] * tokens, "chunks": [1] * tokens}
    return {"prompt_token_ids": [1, 2], "prompt_logprobs": None, "choices": [choice], **members}


def get(path: str, **members: Any) -> Exchange:
    return exchange(request=RecordedRequest("GET", path, {}), **members)


def test_the_station_gets_the_linked_truth_one_per_prompt() -> None:
    station = RecordingStation()
    one = exchange(truth=["t1", "t2"])

    play(folder(one, truths={"t1": truth(1), "t2": truth(3)}), one, lambda: station)

    assert [1, 3] == [len(generation.choices[0].tokens) for generation in station.generations]


def test_samples_that_were_all_alike_become_one_choice_each() -> None:
    one = exchange(truth=["t"])

    (generation,) = generations_of(folder(one, truths={"t": truth()}), one, n=3)

    assert 3 == len(generation.choices)


def test_the_steps_of_this_very_stream_replace_those_of_the_truth() -> None:
    one = exchange(truth=["t"], chunks=[[2, 1]])

    (generation,) = generations_of(folder(one, truths={"t": truth(3)}), one)

    assert (2, 1) == generation.choices[0].steps


def test_what_a_script_handed_along_is_in_the_extras() -> None:
    one = exchange(truth=["t"])

    (generation,) = generations_of(folder(one, truths={"t": truth(script={"routed": 1, "kv": 1})}), one)

    header = "k05VTVBZAQB2AHsnZGVzY3InOiAnfHUxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDMsIDIsIDEp"
    assert str(generation.extras["routed_experts"]).startswith(header)
    assert {"do_remote_prefill": True, "remote_block_ids": [1]} == generation.extras["kv_transfer_params"]


def test_a_script_that_waited_is_the_timing_of_the_reply() -> None:
    station = RecordingStation()
    one = exchange(truth=["t"])

    play(folder(one, truths={"t": truth(script={"delay": 2.3, "gap": 0.5})}), one, lambda: station)

    (timing,) = station.timings
    assert (2300.0, 2800.0) == (timing.due(0), timing.due(1))


def test_the_clock_stands_still_and_ids_depend_on_the_exchange_alone() -> None:
    one = exchange()
    answers = [
        play(folder(one), one, lambda: RecordingStation(lambda _, context: [context.now(), context.hex(16)])).body
        for _ in range(2)
    ]

    assert answers[0] == answers[1]
    assert RECORDED_AT == json.loads(answers[0])[0]


class TestAfter:
    """Exchanges whose state the answer shows are replayed first, on the same station."""

    store = exchange({"id": "resp_aaaaaaaaaaaaaaaa"}, name="store")
    read = get("/v1/responses/resp_aaaaaaaaaaaaaaaa", name="read", after=["store"])

    def test_ids_they_made_take_the_place_of_the_recorded_ones(self) -> None:
        station = RecordingStation(lambda *_: {"id": "resp_bbbbbbbbbbbbbbbb"})
        follow = exchange(
            request=RecordedRequest("POST", "/v1/responses", {}, body={"previous": "resp_aaaaaaaaaaaaaaaa"}),
            name="follow",
            after=["store"],
        )
        recorded = folder(self.store, self.read, follow, masks=ID_MASK)

        play(recorded, self.read, lambda: station)
        play(recorded, follow, lambda: station)

        assert "/v1/responses/resp_bbbbbbbbbbbbbbbb" == station.requests[1].path
        assert b'{"previous": "resp_bbbbbbbbbbbbbbbb"}' == station.requests[3].body

    def test_a_reading_shows_the_settled_state_an_action_comes_at_once(self) -> None:
        cancel = exchange(name="cancel", after=["store"])
        recorded = folder(self.store, self.read, cancel, masks=ID_MASK)

        times = [
            json.loads(play(recorded, one, lambda: RecordingStation(lambda _, context: context.now())).body)
            for one in (self.read, cancel)
        ]

        assert times[0] > RECORDED_AT
        assert times[1] == RECORDED_AT

    def test_a_name_that_is_not_there_is_told(self) -> None:
        with pytest.raises(CaptureError, match="store"):
            play(folder(self.read), self.read, RecordingStation)


@pytest.mark.parametrize(("members", "word"), [({}, "no truth"), ({"truth": ["gone"]}, "gone")])
def test_a_recording_without_the_truth_that_is_needed_is_told(members: dict[str, Any], word: str) -> None:
    one = exchange(**members)

    with pytest.raises(CaptureError, match=word):
        play(folder(one), one, RecordingStation)


def test_a_server_error_without_a_truth_is_an_engine_that_failed() -> None:
    station = RecordingStation()
    one = exchange(status=500)
    play(folder(one), one, lambda: station)

    assert [choice.finish_reason for generation in station.generations for choice in generation.choices] == ["error"]


class TestRequest:
    """The request as it was sent."""

    def test_json_is_sent_as_json_and_raw_text_as_it_is(self) -> None:
        assert b'{"a": 1}' == request_of(RecordedRequest("POST", "/x", {}, body={"a": 1})).body
        assert b'{"a"' == request_of(RecordedRequest("POST", "/x", {}, raw='{"a"')).body
        assert b"" == request_of(RecordedRequest("GET", "/x", {})).body

    @pytest.mark.parametrize(
        ("headers", "expected"),
        [
            ({}, {"content-type": "application/json"}),
            ({"Content-Type": "text/plain"}, {"content-type": "text/plain"}),
            ({"content-type": None, "X-Request-Id": "a"}, {"x-request-id": "a"}),
        ],
    )
    def test_the_content_type_is_json_unless_the_recording_says_otherwise(
        self, headers: dict[str, str | None], expected: dict[str, str]
    ) -> None:
        assert expected == request_of(RecordedRequest("POST", "/x", headers)).headers

    def test_the_query_is_apart_from_the_path(self) -> None:
        request = request_of(RecordedRequest("POST", "/pause?mode=abort&x=", {}))

        assert ("/pause", {"mode": "abort", "x": ""}) == (request.path, dict(request.query))
