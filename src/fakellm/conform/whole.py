"""The run as a whole: checks over all its observations, requirements that nothing exercised, and how it ended.

Works on what ``judging`` kept of each case, so that a live run and merged reports come to the same end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .baseline import RUN
from .check import Check
from .checks import usable
from .checks.oracle import OWN_PROMPT
from .finding import Finding, Outcome
from .judging import AFTER, BEFORE, Run, error_finding
from .observation import Mode, Observation, Supports
from .protocol import RunnerError
from .report.records import CaseRecord, Footer
from .strip import strip_of
from .verdict import Verdict, is_red


def judge_run(run: Run, *, untested: bool = True) -> tuple[Verdict, ...]:
    """The findings about the run as a whole: checks over all observations, and MUSTs that nothing exercised."""
    findings: list[Finding] = [*run.about]
    lost = never_captured(run.light, run.supports)
    run.tally.usable, run.tally.carrying = _yield(run.light)
    for check in run.checks:
        if check.judge_run is not None and run.light:
            findings += check.judge_run(run.light)
            run.exercised.add(check.id)
        elif (
            untested
            and check.judge is not None
            and check.id not in run.exercised
            and not cannot_arise(check, run, lost)
        ):
            findings.append(
                Finding(
                    check=check.id,
                    level=check.level,
                    outcome=Outcome.UNTESTED,
                    message=f"no exchange of this run exercised it: {check.requirement}",
                )
            )
    verdicts = tuple(run.baseline.judge(replace(finding, case=finding.case or RUN)) for finding in findings)
    for verdict in verdicts:
        run.tally.add(verdict)
        if is_red(verdict.finding) or verdict.finding.outcome is Outcome.FAIL:
            run.failing.append(verdict)
    return verdicts


def about_the_run(run: Run, troubles: Sequence[RunnerError], *, untested: bool) -> None:
    """Findings that belong to no case: run-level checks, an adapter that would not stop, late answers."""
    verdicts = list(judge_run(run, untested=untested))
    for failure in troubles:
        verdict = Verdict(error_finding(f"runner.{failure.name}", RUN, str(failure)))
        run.tally.add(verdict)
        run.failing.append(verdict)
        verdicts.append(verdict)
    record = run_record(run.light, verdicts, run.reproduce)
    for writer in run.writers:
        writer.case(record)


def run_record(
    light: Sequence[Observation], verdicts: Sequence[Verdict], reproduce: Callable[[str], str]
) -> CaseRecord:
    """The record of the run as a whole; of a finding that points at a case, the strip and the command of that case."""
    shown = [verdict for verdict in verdicts if verdict.finding.outcome is not Outcome.NOT_APPLICABLE]
    by_case = {one.case.id: one for one in light}
    strips: dict[str, Any] = {}
    commands: dict[str, str] = {}
    for verdict in shown:
        finding = verdict.finding
        if finding.outcome is not Outcome.FAIL or finding.check in commands:
            continue
        commands[finding.check] = reproduce(finding.case if finding.case in by_case else "")
        strip = (
            strip_of(by_case[finding.case], finding, before=BEFORE, after=AFTER) if finding.case in by_case else None
        )
        if strip is not None:
            strips[finding.check] = strip.to_json()
    return CaseRecord(
        id=RUN,
        title="The run as a whole",
        verdicts=shown,
        strips=strips,
        commands=commands,
        reproduce=reproduce(""),
    )


def _yield(light: Sequence[Observation]) -> tuple[int, int]:
    """(N, M) of the report's first line. A server's own answers carry ids where its layout's table says so."""
    served = [one for one in light if one.mode is Mode.SERVER and "completion_token_ids" in one.truth.carried]
    captures = [one.downstream.capture for one in served if one.downstream is not None]
    with_ids = sum(c is not None and all(choice.completion_token_ids for choice in c.choices) for c in captures)
    usable_ones, carrying = usable([one for one in light if one.mode is not Mode.SERVER])
    return usable_ones + with_ids, carrying + len(served)


def never_captured(light: Sequence[Observation], supports: Supports) -> frozenset[str]:
    """Declared values that were on the wire, and null in every capture of the run."""
    sent = {value for one in light if one.sent is not None for value in one.sent.carried}
    got = {
        value
        for one in light
        if one.ending.capture is not None
        for choice in one.ending.capture.choices
        for value in supports.captures
        if getattr(choice, value) is not None
    }
    return frozenset((supports.captures & sent) - got)


def cannot_arise(check: Check, run: Run, lost: frozenset[str]) -> bool:
    """N/A rather than untested: the client exposes nothing of what the check needs, captured it nowhere at all
    (``lost``), which ``capture.yield`` says already, or the prompt ids are its own on every API that it does."""
    if not check.needs:
        return False
    exposed = (run.supports.captures | run.given) & check.needs
    if check.together and exposed != check.needs:
        return True
    if exposed == frozenset({"prompt_token_ids"}) and run.supports.apis <= OWN_PROMPT:
        return True
    return not exposed or bool(lost & check.needs)


def finish(run: Run, *, strict: bool, started: float, judged_stale: bool = True) -> Footer:
    """The footer: word and exit code, and what there is to say about the baseline."""
    stale = [f"{entry.where} ({entry.model.check} in {entry.model.case})" for entry in run.baseline.stale()]
    exit_code = run.tally.exit_code(strict=strict, stale=len(stale) if judged_stale else 0)
    return Footer(
        tally=run.tally,
        word=run.tally.word(),
        exit_code=exit_code,
        failing=tuple(run.failing),
        stale=tuple(stale) if judged_stale else (),
        expired=tuple(f"{entry.where} ({entry.model.check})" for entry in run.baseline.expired()),
        untested=tuple(v.finding.check for v in run.failing if v.finding.outcome is Outcome.UNTESTED),
        elapsed_ms=(time.monotonic() - started) * 1000,
    )
