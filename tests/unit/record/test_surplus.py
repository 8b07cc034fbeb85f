"""``--ask-ids``: the upstream is asked for more than the client asked for, and the client gets what it asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from fakellm.record.surplus import Surplus
from fakellm.record.taken import Taken
from fakellm.stage import Stage
from support.taking import CALLS, asking, expert, house, taken

TEXT = {"say": "Hello, world! It is 1e-05 small."}


def through(stage: Stage, surplus: Surplus, api: str, body: dict[str, Any], pieces: int = 7) -> tuple[Taken, bytes]:
    """What the upstream was asked and said, and what the client gets of it."""
    asked = json.dumps(body).encode()
    sent = json.loads(surplus.asking("POST", CALLS[api][0], asked))
    got = taken(stage, api, sent)
    got = got if sent != body else replace(got, request_body=asked)
    rewriter = surplus.rewriter(got, asked)
    if rewriter is None:
        return got, got.response_body
    data = got.response_body
    out = b"".join(rewriter.feed(data[first : first + pieces]) for first in range(0, len(data), pieces))
    return got, out + rewriter.close()


@pytest.mark.parametrize("layout", ["vllm-0.28.0", "vllm-0.32.0", "sglang-0.5.23"])
@pytest.mark.parametrize("api", ["chat", "completions"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("n", [1, 2])
def test_the_client_gets_the_answer_that_it_would_have_got(layout: str, api: str, stream: bool, n: int) -> None:
    upstream, stage = house(layout, TEXT).fake.default, house(layout).fake.default
    body = {**asking(upstream, api, stream), "n": n}
    plain = taken(upstream, api, body)

    got, out = through(upstream, Surplus(stage), api, body)

    assert masked(plain.response_body) == masked(out)
    read = expert(stage).read(got)
    assert read.truths is not None
    assert "ids" == read.truths[0]["source"]


def masked(data: bytes) -> Any:
    """The events or the body, without the ids and times that differ between two calls."""
    events = [line.removeprefix(b"data: ") for line in data.split(b"\n") if line.strip()]
    return [_masked(json.loads(event)) if event.startswith(b"{") else event for event in events]


def _masked(document: Any) -> Any:
    return {key: value for key, value in document.items() if key not in ("id", "created")}


@pytest.mark.parametrize("stream", [False, True])
def test_what_the_client_asked_for_itself_stays(stream: bool) -> None:
    stage = house("vllm-0.32.0", TEXT).fake.default
    body = asking(stage, "chat", stream, ("logprobs",))

    _, out = through(stage, Surplus(stage), "chat", body)

    assert masked(taken(stage, "chat", body).response_body) == masked(out)
    assert b'"logprob":' in out
    assert b'"token_ids":[' not in out


def test_a_request_that_asks_for_everything_is_passed_on_as_it_is() -> None:
    stage = house("vllm-0.32.0").fake.default
    body = json.dumps(asking(stage, "chat", False, ("prompt_token_ids", "completion_token_ids", "logprobs"))).encode()
    surplus = Surplus(stage)

    sent = surplus.asking("POST", CALLS["chat"][0], body)

    assert sent is body


@pytest.mark.parametrize(
    "method, target, body",
    [("GET", "/v1/models", b""), ("POST", "/v1/chat/completions", b"{not json"), ("POST", "/", b"")],
)
def test_what_is_no_call_of_an_engine_is_left_alone(method: str, target: str, body: bytes) -> None:
    assert Surplus(house("vllm-0.32.0").fake.default).asking(method, target, body) is body


@pytest.mark.parametrize(
    "changes", [{"status": 400}, {"response_headers": (("content-encoding", "gzip"),)}], ids=["an error", "compressed"]
)
def test_an_answer_that_holds_no_surplus_is_left_alone(changes: dict[str, Any]) -> None:
    stage = house("vllm-0.32.0").fake.default
    got = taken(stage, "chat", asking(stage, "chat", False, ("logprobs",)), **changes)

    assert Surplus(stage).rewriter(got, b'{"model": "m"}') is None
