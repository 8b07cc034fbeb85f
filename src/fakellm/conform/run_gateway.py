"""The sandwich: reference client -> GATEWAY -> fake, one call at a time, each case first without the gateway.

Side A is what the reference client sent, B what reached the fake, C what the fake sent, D what came back. The control
plane never goes through the gateway: the fake plays the case for whatever arrives while the call is in flight. A case
that fails without the gateway is an ERROR of the suite, never the gateway's failure.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import FakellmError
from ..layouts import registry
from ..reading import Refused, read, read_as_sent
from .case import Case
from .drivers.base import Patience
from .drivers.http import HttpAnswer, post
from .finding import Finding, Level, Outcome
from .host import Host
from .judging import Run, error_finding, judge_case, judge_observation
from .observation import Downstream, Ending, Kind, Mode, Observation
from .observe import Heard, heard, situation
from .request import PATHS, Body

NO_ROUTE = frozenset({404, 405, 501})
"""What a gateway answers where it has no such route: the API cannot arise there."""


@dataclass(frozen=True, slots=True)
class Sandwich:
    """Where the gateway listens, the model name that it knows, and the headers that it wants."""

    url: str
    model: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


async def run_gateway_cases(run: Run, host: Host, sandwich: Sandwich, cases: Sequence[Case]) -> None:
    """Every case, first alone and then through the gateway."""
    for case in cases:
        began = time.monotonic()
        observations: list[Observation] = []
        errors: list[Finding] = []
        try:
            errors += await _control(run, host, case)
            if not errors:
                observations = await _turns(run, host, case, sandwich)
        except FakellmError as failure:
            errors.append(error_finding("harness.case", case.id, str(failure)))
        except Exception as crash:  # noqa: BLE001 - an error of ours in one case must not take the rest with it
            errors.append(error_finding("harness.case", case.id, f"{type(crash).__name__}: {crash}"))
        judge_case(run, case, observations, errors, "", (time.monotonic() - began) * 1000)
    host.play(None)


async def _control(run: Run, host: Host, case: Case) -> list[Finding]:
    """What is wrong with the case when nothing stands between: errors of ours."""
    found: list[Finding] = []
    for observation in await _turns(run, host, case, Sandwich(host.root_url)):
        for check in run.checks:
            if check.judge is None:
                continue
            for finding in judge_observation(check, observation):
                if finding.outcome is Outcome.ERROR or (
                    finding.outcome is Outcome.FAIL and finding.level is Level.MUST
                ):
                    words = f"without the gateway, {finding.check} says {finding.outcome}: {finding.message}"
                    found.append(error_finding("harness.control", case.id, words))
    return found[:1]


async def _turns(run: Run, host: Host, case: Case, sandwich: Sandwich) -> list[Observation]:
    observations: list[Observation] = []
    number = host.play(case)
    for turn, call in enumerate([case.call, *case.turns], 1):
        body = host.body(replace(case, call=call), sandwich.model)
        answer, what = await _through(run, host, case, sandwich, body, number)
        number = host.fake.journal.total
        observations.append(_observed(run, case, body, what, answer, turn, tuple(observations)))
    return observations


async def _through(
    run: Run, host: Host, case: Case, sandwich: Sandwich, body: Body, number: int
) -> tuple[HttpAnswer, Heard]:
    began = time.time()
    cancel = None if case.cancel_after_ms is None else case.cancel_after_ms / 1000
    answer = await post(
        sandwich.url + PATHS[case.api],
        body.body,
        headers={**sandwich.headers, **case.headers},
        timeout=run.patience.deadline_ms / 1000,
        cancel_after=cancel,
    )
    exchanges = await host.arrived(number)
    return answer, heard(exchanges, None, began, host.tokenizer.piece)


def _observed(
    run: Run, case: Case, body: Body, what: Heard, answer: HttpAnswer, turn: int, before: tuple[Observation, ...]
) -> Observation:
    return Observation(
        mode=Mode.GATEWAY,
        case=situation(case, body, what.faults, turn, "gateway"),
        truth=what.truth,
        sent=what.sent,
        ending=_ending(answer, what),
        client=run.supports,
        upstream=what.upstream,
        downstream=downstream_of(answer, case, body.body),
        siblings=before,
    )


def _ending(answer: HttpAnswer, what: Heard) -> Ending:
    if not what.upstream:
        return Ending(
            kind=Kind.NEVER_CALLED, message=f"HTTP {answer.status}: {answer.body[:200].decode('utf-8', 'replace')}"
        )
    if answer.status == 0:
        timed_out = answer.error is not None and answer.error.startswith("no end")
        return Ending(kind=Kind.TIMED_OUT if timed_out else Kind.ERRORED, message=answer.error or "")
    return Ending(kind=Kind.CAPTURED if answer.status < 400 else Kind.REFUSED, message=answer.error or "")


def downstream_of(answer: HttpAnswer, case: Case, request: Mapping[str, Any]) -> Downstream:
    """Side D, read by the reference reader: every value that stands there, and why a careful client would say no."""
    table = registry.find(case.layout).layout.accessors
    terms: dict[str, Any] = {"api": case.api, "stream": case.stream, "table": table, "request": request}
    problem = None
    try:
        read(answer.body, status=answer.status or 599, cut=answer.cut, **terms)
    except Refused as refused:
        problem = f"{refused.kind}: {refused.message}"
    capture = read_as_sent(answer.body, **terms) if answer.status and answer.status < 400 else None
    return Downstream(
        status=answer.status or None,
        headers=answer.headers,
        body=answer.body,
        capture=capture if capture is not None and capture.choices else None,
        problem=problem,
        cut=answer.cut,
        error=answer.error,
        elapsed_ms=answer.elapsed_ms,
        request_path=PATHS[case.api],
        request_headers=answer.sent_headers,
        request_body=answer.sent_body,
    )


CARRIERS = ("path", "header", "user", "metadata", "prompt")
"""Where a caller may put a mark by which it knows its request again behind the gateway, in this order of preference."""


async def carriers(host: Host, sandwich: Sandwich, case: Case, patience: Patience) -> Finding:
    """Which marks come through the gateway, tried one at a time: worth knowing, never a failure. A gateway that hangs
    once is not asked again."""
    finding = Finding(check="gateway.carriers", level=Level.INFO, outcome=Outcome.PASS)
    survived: list[str] = []
    for name in CARRIERS:
        try:
            if await _survives(host, sandwich, case, name, patience.deadline_ms / 1000):
                survived.append(name)
        except TimeoutError:
            words = f"no answer to a request with a mark in its {name}: which carriers survive is unknown"
            return replace(finding, outcome=Outcome.FAIL, message=words)
    lost = [name for name in CARRIERS if name not in survived]
    if not lost:
        return finding
    words = f"a mark in {', '.join(lost)} does not come through; it does in {', '.join(survived) or 'nothing'}"
    return replace(finding, outcome=Outcome.FAIL, message=words)


async def _survives(host: Host, sandwich: Sandwich, case: Case, carrier: str, timeout: float) -> bool:
    """Raises TimeoutError when nothing came back in ``timeout`` seconds."""
    mark = f"fakellm-mark-{carrier}-5d1f"
    number = host.play(case)
    body = dict(host.body(case, sandwich.model).body)
    headers, path = dict(sandwich.headers), PATHS[case.api]
    if carrier == "path":
        path = f"/c/{mark}{path}"
    elif carrier == "header":
        headers["x-fakellm-case"] = mark
    elif carrier == "prompt":
        body = dict(host.body(replace(case, call={**case.call, "prompt": mark}), sandwich.model).body)
    else:
        body[carrier] = mark if carrier == "user" else {"case": mark}
    answer = await post(sandwich.url + path, body, headers=headers, timeout=timeout)
    if answer.error is not None and answer.error.startswith("no end"):
        raise TimeoutError
    for exchange in [*await host.arrived(number), *host.exchanges(mark)]:
        request = exchange.request
        seen = request.path + repr(dict(request.headers)) + request.body.decode("utf-8", "replace")
        if mark in seen or exchange.token == mark:
            return True
    return False


async def routes(host: Host, sandwich: Sandwich, cases: Sequence[Case], patience: Patience) -> frozenset[str]:
    """The APIs for which the gateway has a route: those whose smoke request is not answered 404, 405 or 501."""
    found: set[str] = set()
    for case in cases:
        if case.api in found:
            continue
        host.play(case)
        body = host.body(case, sandwich.model)
        timeout = patience.deadline_ms / 1000
        answer = await post(sandwich.url + PATHS[case.api], body.body, headers=sandwich.headers, timeout=timeout)
        if answer.status not in NO_ROUTE:
            found.add(case.api)
    host.play(None)
    return frozenset(found)
