"""/v1/responses with a store: retrieving, going on, background, cancelling; time is a number of the test's own."""

from __future__ import annotations

from typing import Any

import pytest

from fakellm.ask import Request
from fakellm.stage import Stage
from fakellm.timing import Timing
from support.stages import NOON, post
from support.vllm import NEWEST, VERSIONS, events, server, told

KEEPING = {"VLLM_ENABLE_RESPONSES_API_STORE": "1"}
SLOW = Timing(first_token_ms=1000, between_ms=500)


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = NOON

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def keeping(version: str = NEWEST, says: str = "Hello there", **more: Any) -> Stage:
    return server(version, says=says, env=KEEPING, **more)


def asks(**body: Any) -> Request:
    return post("/v1/responses", {"model": "tiny", "input": "Hi", **body})


def get(response_id: str, **query: str) -> Request:
    return Request("GET", f"/v1/responses/{response_id}", query, {}, b"", pairs=tuple(query.items()))


def cancels(response_id: str) -> Request:
    return Request("POST", f"/v1/responses/{response_id}/cancel", {}, {}, b"")


class TestRetrieve:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_the_same_body_again(self, version: str) -> None:
        playing = keeping(version)
        body = told(playing, asks())
        assert body == told(playing, get(body["id"]))

    @pytest.mark.parametrize("version", VERSIONS)
    def test_unknown_ones_are_missing(self, version: str) -> None:
        error = told(keeping(version), get("resp_unknown"), status=404)
        assert "resp_unknown" in str(error)

    def test_nothing_is_kept_without_the_launch_variable(self) -> None:
        playing = server(NEWEST)
        assert told(playing, get(told(playing, asks())["id"]), status=404)

    def test_nor_when_the_request_says_no(self) -> None:
        playing = keeping()
        assert told(playing, get(told(playing, asks(store=False))["id"]), status=404)

    def test_a_whole_answer_has_no_events(self) -> None:
        playing = keeping()
        error = told(playing, get(told(playing, asks())["id"], stream="true"), status=400)
        assert "response_id" == error["error"]["param"]


class TestGoingOn:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_the_conversation_so_far_is_prompted(self, version: str) -> None:
        playing = keeping(version)
        first = told(playing, asks(instructions="Be brief."))
        longer = told(playing, asks(input="More", previous_response_id=first["id"]))
        shorter = told(playing, asks(input="More"))
        assert first["id"] == longer["previous_response_id"]
        assert longer["usage"]["input_tokens"] > shorter["usage"]["input_tokens"]

    def test_instructions_do_not_carry_over(self) -> None:
        playing = keeping()
        first = told(playing, asks(instructions="Be brief."))
        more = told(playing, asks(input="More", previous_response_id=first["id"], enable_response_messages=True))
        prompt = more["input_messages"][0]["message"]
        assert "Be brief." not in prompt
        assert prompt.index("Hi") < prompt.index("Hello there") < prompt.index("More")

    def test_from_what_is_not_there(self) -> None:
        assert told(keeping(), asks(previous_response_id="resp_unknown"), status=404)


class TestBackground:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_is_queued_until_its_time_has_come(self, version: str, clock: Clock) -> None:
        playing = keeping(version, now=clock, timing=SLOW)
        queued = told(playing, asks(background=True))
        assert ("queued", [], None) == (queued["status"], queued["output"], queued["usage"])
        clock.seconds += 1.9
        assert "queued" == told(playing, get(queued["id"]))["status"]
        clock.seconds += 0.2
        body = told(playing, get(queued["id"]))
        assert ("completed", "Hello there") == (body["status"], body["output"][0]["content"][0]["text"])

    def test_cancelled_it_stays_so(self, clock: Clock) -> None:
        playing = keeping(now=clock, timing=SLOW)
        queued = told(playing, asks(background=True))
        assert "cancelled" == told(playing, cancels(queued["id"]))["status"]
        clock.seconds += 60
        assert "cancelled" == told(playing, get(queued["id"]))["status"]

    def test_what_is_complete_cannot_be_cancelled(self, clock: Clock) -> None:
        playing = keeping(now=clock, timing=SLOW)
        queued = told(playing, asks(background=True))
        clock.seconds += 60
        assert told(playing, cancels(queued["id"]), status=400)

    def test_what_never_was_in_the_background_neither(self) -> None:
        playing = keeping()
        assert told(playing, cancels(told(playing, asks())["id"]), status=400)

    def test_what_is_not_there_neither(self) -> None:
        assert told(keeping(), cancels("resp_unknown"), status=404)

    def test_its_stream_can_be_picked_up(self) -> None:
        playing = keeping()
        found = events(playing, asks(background=True, stream=True))
        again = events(playing, get(found[0]["response"]["id"], stream="true", starting_after="3"))
        assert found[4:] == again
