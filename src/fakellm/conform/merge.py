"""``fakellm report``: one or several ``report.jsonl`` judged again as one run, with or without a baseline.

What every case showed stands in the files; the findings about the run as a whole are made anew from it, because a shard
cannot know what the others saw. Writers get the same records as in a live run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import CaptureError
from .baseline import RUN, Baseline
from .check import Check
from .finding import Outcome
from .judging import Run, remember_values, remember_verdicts
from .light import from_json
from .observation import Mode, Supports
from .protocol import RunnerError
from .report.jsonl import ReadReport
from .report.records import CaseRecord, Footer, Header, Writer
from .whole import about_the_run, finish


def judge_again(
    report: ReadReport,
    checks: Sequence[Check],
    baseline: Baseline,
    writers: Sequence[Writer],
    *,
    strict: bool = False,
) -> Footer:
    """The verdict on a read (or merged) report; raises CaptureError when it was written without what that takes."""
    started = time.monotonic()
    header = header_of(report)
    supports = supports_of(header.client)
    run = Run(
        supports=supports,
        checks=[check for check in checks if Mode(header.mode) in check.modes],
        baseline=baseline,
        writers=writers,
        reproduce=_commands(report),
        profile=str(header.options.get("profile", "")),
        seed=header.seed,
    )
    for writer in writers:
        writer.header(header)
    troubles: list[RunnerError] = []
    for record in report.cases.values():
        if record.id == RUN:
            troubles += _errors(record)
            continue
        _again(run, record, supports)
    about_the_run(run, troubles, untested=not header.options.get("smoke"))
    footer = replace(finish(run, strict=strict, started=started), elapsed_ms=report.footer.get("elapsed_ms", 0.0))
    for writer in writers:
        writer.footer(footer)
    return footer


def _again(run: Run, record: CaseRecord, supports: Supports) -> None:
    verdicts = [run.baseline.judge(verdict.finding) for verdict in record.verdicts]
    for verdict in verdicts:
        run.tally.add(verdict)
    run.tally.counts["na"] += record.absent
    run.tally.cases += 1
    try:
        observations = [from_json(row, supports) for row in record.observed]
    except (KeyError, TypeError, ValueError) as wrong:
        raise CaptureError(f"what was observed cannot be read: {wrong}", where=record.id) from None
    for observation in observations:
        remember_values(run, observation)
    remember_verdicts(run, verdicts)
    for writer in run.writers:
        writer.case(replace(record, verdicts=verdicts))


def _errors(record: CaseRecord) -> list[RunnerError]:
    """Errors of the adapter that belonged to no case."""
    found = [verdict.finding for verdict in record.verdicts if verdict.finding.outcome is Outcome.ERROR]
    return [RunnerError(finding.check.partition(".")[2], finding.message) for finding in found]


def _commands(report: ReadReport) -> Callable[[str], str]:
    commands = {record.id: record.reproduce for record in report.cases.values()}
    return lambda case: commands.get(case or RUN, "")


def header_of(report: ReadReport) -> Header:
    """The header of a merged report: that of its first part, without a shard."""
    known: dict[str, Any] = {name: value for name, value in report.header.items() if name in Header.__slots__}
    whole = Header(**known)
    return replace(whole, shard=None, planned=len([one for one in report.cases if one != RUN]))


def supports_of(client: Mapping[str, Any]) -> Supports:
    """What the header says that the client declared."""
    declared: Mapping[str, Any] = client.get("supports", {})
    return Supports(
        name=str(client.get("name", "")),
        version=str(client.get("version", "")),
        language=str(client.get("language") or ""),
        homepage=client.get("homepage"),
        issues=client.get("issues"),
        apis=frozenset(declared.get("apis", ())),
        stream=frozenset(declared.get("stream", ())),
        captures=frozenset(declared.get("captures", ())),
    )
