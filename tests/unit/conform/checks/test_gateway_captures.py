"""What real gateways lost when they were recorded, found again by the reader and the gateway checks.

The golden library keeps, for litellm and Portkey, the answer that the gateway received and the one that it gave.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from fakellm.capture import VALUES, Capture
from fakellm.conform.checks import all_checks
from fakellm.conform.finding import Finding, Level, Outcome
from fakellm.conform.observation import (
    Downstream,
    Ending,
    Kind,
    Mode,
    Observation,
    Received,
    Sent,
    Situation,
    Supports,
    Truth,
)
from fakellm.fidelity.library import Library
from fakellm.fidelity.recorded import Exchange
from fakellm.reading import Refused, read, read_as_sent
from fakellm.resources import resource

APIS = {"/v1/chat/completions": "chat", "/v1/completions": "completions", "/v1/responses": "responses"}
KEPT = (*VALUES, "top_logprobs", "prompt_logprobs")
PROMPT, IDS, SCORES = "prompt_token_ids", "completion_token_ids", "logprobs"


@pytest.fixture(scope="module")
def recorded() -> Iterator[dict[str, Exchange]]:
    with Library([resource("golden")]) as library:
        yield {
            f"{folder.name.rpartition('/')[2]}/{name}": exchange
            for folder in library.folders
            if folder.server.gateway
            for name, exchange in folder.exchanges.items()
        }


def sandwich(exchange: Exchange) -> Observation:
    """The recorded exchange as the checks see one: C is what the gateway got, D is what it gave."""
    api, body, came = APIS[exchange.request.path], exchange.request.body, exchange.upstream
    asked: dict[str, Any] = {"api": api, "stream": bool(body.get("stream")), "request": body}
    given, status = exchange.response.body.encode(), exchange.response.status
    sent = read_as_sent(came["body"].encode(), **asked)
    got = read_as_sent(given, **asked) if status < 400 else Capture()
    raw = json.dumps(body).encode()
    return Observation(
        mode=Mode.GATEWAY,
        case=Situation(
            id=exchange.name, area="golden", api=api, stream=asked["stream"], layout="unknown", request=body
        ),
        truth=Truth(capture=sent),
        sent=Sent(
            status=came["status"],
            body=came["body"].encode(),
            capture=sent,
            carried=frozenset(name for name in KEPT for choice in sent.choices if getattr(choice, name)),
        ),
        ending=Ending(kind=Kind.CAPTURED if status < 400 else Kind.REFUSED),
        client=Supports(name="gateway", captures=frozenset(VALUES)),
        upstream=(Received(method="POST", path=exchange.request.path, body=raw, answered_status=came["status"]),),
        downstream=Downstream(
            status=status,
            headers=tuple(exchange.response.headers.items()),
            body=given,
            capture=got if got.choices else None,
            problem=_problem(given, status, asked),
            request_body=raw,
        ),
    )


def _problem(body: bytes, status: int, asked: dict[str, Any]) -> str | None:
    try:
        read(body, status=status, **asked)
    except Refused as refused:
        return f"{refused.kind}: {refused.message}"
    return None


def failures(observation: Observation) -> dict[str, Finding]:
    """MUST failures by check."""
    found: dict[str, Finding] = {}
    for check in all_checks():
        if Mode.GATEWAY in check.modes:
            judged = check.judge(observation) if check.judge is not None else ()
            judged = check.judge_run([observation]) if check.judge_run is not None else judged
            found |= {one.check: one for one in judged if one.outcome is Outcome.FAIL and one.level is Level.MUST}
    return found


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("litellm-1.110.2/hv_chat_JOIN_stream", [PROMPT]),
        ("litellm-1.110.2/oa_cmpl_stream", [PROMPT, SCORES]),
        ("litellm-1.110.2/tco_cmpl_stream", [PROMPT, SCORES]),
        ("litellm-1.110.2/oa_chat_N2_stream", ["finish_reason"]),
        ("portkey-1.15.2/fireworks-ai_chat", [PROMPT, IDS]),
        ("portkey-1.15.2/fireworks-ai_chat_stream", [PROMPT, IDS]),
        ("portkey-1.15.2/together-ai_chat", [PROMPT, IDS, SCORES]),
        ("portkey-1.15.2/together-ai_chat_stream", [PROMPT, IDS, SCORES]),
    ],
)
def test_a_loss_is_found(recorded: dict[str, Exchange], name: str, lost: list[str]) -> None:
    found = failures(sandwich(recorded[name]))

    words = found["capture.kept"].message
    assert lost == [
        value for value in VALUES if value in words.replace("prompt_logprobs", "").replace("top_logprobs", "")
    ]


def test_the_second_choice_that_a_shared_chunk_finished_is_cut_short(recorded: dict[str, Exchange]) -> None:
    found = failures(sandwich(recorded["litellm-1.110.2/hv_chat_N2_stream"]))

    assert (1, 1) == (found["align.completion-ids"].choice, found["align.completion-ids"].position)
    assert (1, 1) == (found["align.logprobs"].choice, found["align.logprobs"].position)


@pytest.mark.parametrize(
    "name",
    [
        "litellm-1.110.2/oa_chat_JOIN_stream",
        "litellm-1.110.2/oa_cmpl",
        "litellm-1.110.2/oa_resp_stream",
        "litellm-1.110.2/hv_chat_ERR400",
        "portkey-1.15.2/openai_chat_stream",
        "portkey-1.15.2/openai_cmpl",
        "portkey-1.15.2/openai_chat_ERRVLLM",
    ],
)
def test_what_went_through_whole_stays_green(recorded: dict[str, Exchange], name: str) -> None:
    assert {} == failures(sandwich(recorded[name]))
