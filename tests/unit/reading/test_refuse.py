"""What cannot be trusted is refused, with the kind that names why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.layouts.base import Accessor
from fakellm.reading import Refused, error_told, read, read_as_sent
from support.bodies import FIRST, IDS, LAST, ROLE, USAGE, choice, delta, entries, stream, whole

CHAT: dict[str, Any] = {"api": "chat"}


def refusal(body: bytes, **terms: Any) -> str:
    with pytest.raises(Refused) as refused:
        read(body, **{**CHAT, **terms})
    return refused.value.kind


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("count-mismatch", whole(choice(logprobs=entries((-0.5,))))),
        ("count-mismatch", whole(choice(logprobs=entries((-0.5, -0.25, -1.0))))),
        ("count-mismatch", whole(choice(token_ids=[5, 2, 5, 2]))),
        ("usage-mismatch", whole(usage={"prompt_tokens": 3, "completion_tokens": 3})),
        ("usage-mismatch", whole(usage={"prompt_tokens": 4, "completion_tokens": 2})),
        ("usage-mismatch", whole(choice(token_ids=None, logprobs=entries((-0.5,))))),
        ("score-missing", whole(choice(logprobs=entries((-0.5, None))))),
        ("score-impossible", whole(choice(logprobs=entries((-0.5, float("nan")))))),
        ("score-impossible", whole(choice(logprobs=entries((-0.5, float("-inf")))))),
        ("score-impossible", whole(choice(logprobs=entries((-0.5, -9999.0))))),
        ("score-impossible", whole(choice(logprobs=entries((-0.5, 0.01))))),
        ("score-impossible", whole(choice(logprobs=entries((-0.5, "-0.25"))))),
        ("not-ids", whole(choice(token_ids=["5", "2"]))),
        ("not-ids", whole(choice(token_ids=[5.0, 2.0]))),
        ("not-ids", whole(choice(token_ids=[True, 2]))),
        ("not-ids", whole(prompt_token_ids=["7", "8", "9"])),
        ("places-disagree", whole(choice(prompt_token_ids=[1, 2, 3]))),
        ("places-disagree", whole(choice(token_ids=[*IDS], provider_specific_fields={"token_ids": [1, 2]}))),
        ("choice-count", whole(choice(0), choice(1))),
        ("no-choices", whole(choices=[])),
        ("error-body", whole(choices=None, usage=None)),
        ("error-body", b'{"error":{"message":"boom","code":500}}'),
        ("error-body", b'{"error":"Unauthorized"}'),
        ("error-body", b'{"object":"error","message":"boom","code":400}'),
        ("error-body", b'{"message":"boom","type":"Bad Request","code":400}'),
        ("error-body", b'{"detail":"Not Found"}'),
        ("error-body", b'{"error":"boom","error_type":"overloaded"}'),
        ("unreadable", b"<html><body>502</body></html>"),
        ("unreadable", b"[1, 2]"),
        ("unreadable", b""),
        ("unreadable", whole()[:-9]),
        (
            "duplicate-keys",
            whole().replace(b'"finish_reason": "stop"', b'"finish_reason":"stop","finish_reason":"length"'),
        ),
    ],
)
def test_a_whole_answer_is_refused(kind: str, body: bytes) -> None:
    assert kind == refusal(body)


ERROR = {"error": {"message": "boom", "type": "InternalServerError", "code": 500}}


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("error-event", stream(ROLE, FIRST, ERROR)),
        ("error-event", stream(ROLE, FIRST, LAST, USAGE, ERROR)),
        ("error-event", stream(ROLE, FIRST, LAST, ERROR, done=False)),
        ("error-event", b'event: error\ndata: {"message":"boom"}\n\n'),
        ("truncated", stream(ROLE, FIRST, done=False)),
        ("truncated", stream(ROLE, FIRST, LAST, done=False)[:-40]),
        ("unreadable", stream(ROLE, FIRST, '{"choices": [', LAST)),
        ("count-mismatch", stream(ROLE, delta(ids=[5], scores=(-0.5,)), delta(ids=[2], finish_reason="stop"))),
        ("usage-mismatch", stream(ROLE, FIRST, delta(ids=[5, 2], scores=(-0.5, -0.25), finish_reason="stop"), USAGE)),
        ("places-disagree", stream(ROLE, {"choices": [FIRST], "prompt_token_ids": [1]}, LAST)),
    ],
)
def test_a_stream_is_refused(kind: str, body: bytes) -> None:
    assert kind == refusal(body, stream=True)


def test_choices_that_cannot_be_told_apart_are_refused() -> None:
    unnamed = [{key: value for key, value in choice(at).items() if key != "index"} for at in range(2)]

    assert refusal(whole(*unnamed), request={"n": 2}) == "choice-index"
    assert refusal(whole(choice(0), choice(0)), request={"n": 2}) == "choice-index"
    assert refusal(stream(ROLE, FIRST, LAST), stream=True, request={"n": 2}) == "choice-count"


def test_an_error_status_is_refused_with_the_servers_words() -> None:
    with pytest.raises(Refused, match="HTTP 503: slow down"):
        read(b'{"error":{"message":"slow down"}}', api="chat", status=503)


def test_a_connection_that_broke_is_refused_even_after_the_finish() -> None:
    assert refusal(stream(ROLE, FIRST, LAST), stream=True, cut=True) == "truncated"


def test_a_native_generation_that_the_server_gave_up_is_refused() -> None:
    reason = {"type": "abort", "message": "boom", "status_code": 500}
    body = json.dumps({"text": "", "output_ids": [5], "meta_info": {"finish_reason": reason}}).encode()

    assert refusal(body, api="generate") == "aborted"


def test_ids_beside_the_scores_have_to_be_the_ids() -> None:
    rows = {"content": [{"token_id": 5, "logprob": -0.5}, {"token_id": 3, "logprob": -0.25}]}

    assert refusal(whole(choice(logprobs=rows)), api="tito") == "places-disagree"


LOSSY = {("chat", True): [Accessor("logprobs", "choices[].logprobs.content[].logprob", loss="steps without text")]}


def test_scores_that_a_layout_declares_as_lost_are_null_and_the_rest_stays() -> None:
    body = stream(ROLE, FIRST, delta(ids=[2], finish_reason="stop"), USAGE)

    got = read(body, api="chat", stream=True, table=LOSSY).choices[0]

    assert (IDS, None, "hi") == (got.completion_token_ids, got.logprobs, got.text)


def test_as_sent_judges_nothing() -> None:
    body = whole(choice(token_ids=["5"], logprobs=entries((None, -9999.0, 0.5))), choice(0))

    got = read_as_sent(body, api="chat").choices[0]

    assert ("5", *IDS) == got.completion_token_ids
    assert (None, -9999.0, 0.5) == got.logprobs[:3] if got.logprobs else False


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"a":1,"a":2}', b"data: {\n\n", b"\xff\xfe"])
def test_as_sent_never_refuses(body: bytes) -> None:
    assert read_as_sent(body, api="chat", stream=True).choices == ()


def test_an_error_is_told_by_the_answer_itself() -> None:
    assert error_told(stream(ROLE, ERROR), api="chat", stream=True) == "boom"
    assert error_told(stream(ROLE, FIRST, LAST), api="chat", stream=True) is None
