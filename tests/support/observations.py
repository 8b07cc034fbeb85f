"""Observations built by hand: one choice of three tokens, told, sent and captured as a test wants it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fakellm.capture import VALUES, Capture, CapturedChoice
from fakellm.conform.checks import find_check
from fakellm.conform.finding import Finding
from fakellm.conform.observation import (
    Ending,
    Kind,
    Loss,
    May,
    Mode,
    Observation,
    Received,
    Sent,
    Situation,
    Supports,
    Tampering,
    Truth,
)

WHOLE = CapturedChoice(
    index=0,
    prompt_token_ids=(7, 8, 9),
    completion_token_ids=(5, 6, 2),
    logprobs=(-0.5, -0.25, -0.125),
    text="hi",
    finish_reason="stop",
)
USAGE: Mapping[str, Any] = {"prompt_tokens": 3, "completion_tokens": 3}
REQUEST: Mapping[str, Any] = {"model": "m", "messages": [], "return_token_ids": True, "x_mine": {"a": [1]}}


def fault(*may: str, values: Sequence[str] = (), id: str = "some-fault") -> Tampering:
    """A fault that was active."""
    return Tampering(id=id, client_may=frozenset(May(word) for word in may), values=tuple(values))


def sends(*choices: CapturedChoice, **changes: Any) -> Sent:
    """What left the fake: these choices."""
    carried = frozenset(name for name in VALUES for choice in choices if getattr(choice, name))
    capture = Capture(choices=choices, usage=changes.pop("usage", USAGE))
    facts: dict[str, Any] = {"status": 200, "capture": capture, "carried": carried, "body": b"{}", **changes}
    return Sent(**facts)


def observation(
    *got: CapturedChoice,
    truth: Sequence[CapturedChoice] = (WHOLE,),
    sent: Sent | None = None,
    faults: Sequence[Tampering] = (),
    losses: Sequence[Loss] = (),
    ending: Ending | None = None,
    captures: Sequence[str] = VALUES,
    usage: Mapping[str, Any] | None = None,
    body: Mapping[str, Any] = REQUEST,
    calls: Sequence[int] = (200,),
    **case: Any,
) -> Observation:
    """A client's exchange. Without ``got`` nothing was captured, and ``ending`` says how it ended."""
    captured = Ending(kind=Kind.CAPTURED, capture=Capture(choices=got, usage=usage))
    facts: dict[str, Any] = {"id": "area/case[api=chat]", "area": "area", "api": "chat", "stream": False, **case}
    call: dict[str, Any] = {"method": "POST", "path": "/v1/chat/completions", "body": json.dumps(body).encode()}
    return Observation(
        mode=Mode.CLIENT,
        case=Situation(
            layout="vllm-0.32.0", faults=tuple(faults), request=REQUEST, flags={"return_token_ids": True}, **facts
        ),
        truth=Truth(capture=Capture(choices=tuple(truth), usage=USAGE), losses=tuple(losses)),
        sent=sends(*truth) if sent is None else sent,
        ending=captured if ending is None else ending,
        client=Supports(name="client", captures=frozenset(captures)),
        upstream=tuple(Received(**call, answered_status=one) for one in calls),
    )


REFUSED = Ending(kind=Kind.REFUSED, refusal="count-mismatch", message="no")
CRASHED = Ending(kind=Kind.ERRORED, message="KeyError")


def but(choice: CapturedChoice = WHOLE, **changes: Any) -> CapturedChoice:
    """The choice with other values."""
    return replace(choice, **changes)


def outcomes(check: str, *observations: Observation) -> list[str]:
    """What a check says of these exchanges, N/A left out: outcomes, with the level where it is not the check's own."""
    found = find_check(check)
    findings: list[Finding] = []
    if found.judge_run is not None:
        findings += found.judge_run(observations)
    else:
        for one in observations:
            findings += found.judge(one) if found.judge is not None else ()
    return [f"{one.outcome}" + ("" if one.level is found.level else f" ({one.level})") for one in findings]
