"""A run against a client: errands out to the driver, observations in from the fake and from the client's answer.

Cases run one after another, or up to the client's ``max_parallel`` at once. What an adapter or the suite itself does
wrong in one case becomes an ERROR of that case and never takes the rest with it. Judging happens in ``judging``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import FakellmError
from ..journal import Exchange
from .case import Case
from .drivers.base import Driver, Reply
from .finding import Finding
from .host import Host
from .judging import Run, error_finding, judge_case
from .observation import Ending, Kind, Mode, Observation
from .observe import Heard, heard, situation
from .protocol import RunModel, RunnerError
from .request import Body

GIVEN_UP_MS = 600
"""A client that has not called within this time is not asked again."""


async def run_client_cases(run: Run, host: Host, driver: Driver, cases: Sequence[Case]) -> None:
    """Run every case, at most ``max_parallel`` at once, and hand each record to the writers as it ends."""
    gate = asyncio.Semaphore(max(1, run.supports.max_parallel))

    async def one(case: Case, number: int) -> None:
        async with gate:
            await _run_case(run, host, driver, case, number)

    if run.supports.max_parallel <= 1:
        for number, case in enumerate(cases, 1):
            await _run_case(run, host, driver, case, number)
    else:
        await asyncio.gather(*(one(case, number) for number, case in enumerate(cases, 1)))


async def _run_case(run: Run, host: Host, driver: Driver, case: Case, number: int) -> None:
    began = time.monotonic()
    token = f"{run.seed:x}-{number:05d}"
    observations: list[Observation] = []
    errors: list[Finding] = []
    stderr = ""
    try:
        host.mount(token, case)
        calls = [case.call, *case.turns]
        for turn, call in enumerate(calls, 1):
            observation, words = await _run_turn(run, host, driver, case, token, call, turn, tuple(observations))
            observations.append(observation)
            stderr = f"{stderr}\n{words}".strip()
    except RunnerError as failure:
        errors.append(error_finding(f"runner.{failure.name}", case.id, str(failure)))
    except FakellmError as failure:
        errors.append(error_finding("harness.case", case.id, str(failure)))
    except Exception as crash:  # noqa: BLE001 - an error of ours in one case must not take the rest with it
        errors.append(error_finding("harness.case", case.id, f"{type(crash).__name__}: {crash}"))
    finally:
        host.unmount(token)
    errors += _late_problems(driver, case)
    judge_case(run, case, observations, errors, stderr, (time.monotonic() - began) * 1000)


async def _run_turn(
    run: Run,
    host: Host,
    driver: Driver,
    case: Case,
    token: str,
    call: Mapping[str, Any],
    turn: int,
    before: tuple[Observation, ...],
) -> tuple[Observation, str]:
    body = host.body(replace(case, call=call))
    seen = len(host.exchanges(token))
    run.seq += 1
    root = f"{host.root_url}/c/{token}"
    errand = RunModel.model_validate(
        {
            "seq": run.seq,
            "case": case.id,
            "api": case.api,
            "stream": case.stream,
            "base_url": f"{root}/v1",
            "root_url": root,
            "request": dict(body.body),
            "deadline_ms": run.patience.deadline_ms,
            "headers": dict(case.headers) or None,
            "conversation": token if case.turns else None,
            "turn": turn if case.turns else None,
            "cancel_after_ms": case.cancel_after_ms,
        }
    )
    began = time.time()
    reply, exchanges = await _sent(run, host, driver, errand, token, seen)
    what = heard(exchanges, case.api, began, host.tokenizer.piece)
    return observe(run, case, body, what, reply.ending, turn, before), reply.stderr


async def _sent(
    run: Run, host: Host, driver: Driver, errand: RunModel, token: str, seen: int
) -> tuple[Reply, Sequence[Exchange]]:
    """The reply to an errand and what reached the fake. A call that was given up before anything did says nothing about
    its client but that the machine is busy: it is made again with twice the time."""
    reply = await driver.run(errand)
    exchanges = await host.settled(token, seen)
    if exchanges or errand.cancel_after_ms is None or errand.cancel_after_ms > GIVEN_UP_MS:
        return reply, exchanges
    run.seq += 1
    later = errand.model_copy(update={"seq": run.seq, "cancel_after_ms": errand.cancel_after_ms * 2})
    return await _sent(run, host, driver, later, token, seen)


def observe(
    run: Run, case: Case, body: Body, what: Heard, ending: Ending, turn: int, before: tuple[Observation, ...]
) -> Observation:
    """One observation of a client's call."""
    if not what.upstream and ending.kind in (Kind.CAPTURED, Kind.REFUSED, Kind.REQUEST_ONLY):
        ending = replace(ending, kind=Kind.NEVER_CALLED)
    return Observation(
        mode=Mode.CLIENT,
        case=situation(case, body, what.faults, turn, run.profile),
        truth=what.truth,
        sent=what.sent,
        ending=ending,
        client=run.supports,
        upstream=what.upstream,
        siblings=before,
    )


def _late_problems(driver: Driver, case: Case) -> list[Finding]:
    """Adapter errors that showed only after the answer they belong to; they go to the case that is ending."""
    problems = [*driver.problems]
    driver.problems.clear()
    return [
        error_finding(f"runner.{one.name}", case.id, f"{one}" + (f" (case {one.case})" if one.case != case.id else ""))
        for one in problems
    ]
