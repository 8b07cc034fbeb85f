"""Observations in, checks over them, records to the writers: what every mode does with a case once it was run.

This module decides nothing: what is right stands in the checks, what a run is called in ``verdict``. Nothing of a case
is kept after it was written, except what run-level checks need of it. It starts no driver and sends no request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..hiding import Hiding
from . import globs
from .baseline import Baseline
from .case import Case
from .check import Check
from .drivers.base import Patience
from .finding import Finding, Level, Outcome
from .light import KEPT_WHOLE, lightened, shortened, to_json
from .observation import May, Observation, Received, Supports
from .report.evidence import folder_name
from .report.records import CaseRecord, Writer
from .strip import strip_of
from .verdict import Tally, Verdict, is_red

RANK = (Outcome.NOT_APPLICABLE, Outcome.PASS, Outcome.UNTESTED, Outcome.FAIL, Outcome.ERROR)
"""Of several findings of one check in one case the worst is the outcome."""
EVIDENCE_CHARACTERS = 20_000
BEFORE, AFTER = 24, 40
"""Tokens of a strip on each side of the first divergence; terminals show fewer."""


@dataclass(slots=True)
class Run:
    """What one run holds while it goes on.

    ``reproduce``: case id -> the command that runs it alone. ``about``: findings about the run as a whole that its mode
    made by itself.
    """

    supports: Supports
    checks: Sequence[Check]
    baseline: Baseline
    writers: Sequence[Writer]
    reproduce: Callable[[str], str]
    profile: str = "capture-client"
    seed: int = 0
    patience: Patience = field(default_factory=Patience)
    evidence: bool = False
    tally: Tally = field(default_factory=Tally)
    light: list[Observation] = field(default_factory=list[Observation])
    about: list[Finding] = field(default_factory=list[Finding])
    failing: list[Verdict] = field(default_factory=list[Verdict])
    exercised: set[str] = field(default_factory=set[str])
    given: set[str] = field(default_factory=set[str])
    passing: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    seq: int = 0


def judge_case(
    run: Run, case: Case, observations: Sequence[Observation], errors: Sequence[Finding], stderr: str, elapsed_ms: float
) -> None:
    """All checks over the observations of a case; count, remember and write."""
    findings = [*errors]
    for check in run.checks:
        if check.judge is not None and observations:
            findings.append(_worst(check, [(one, judge_observation(check, one)) for one in observations]))
    if not errors and not any(_counts(finding) for finding in findings):
        findings.append(error_finding("harness.no-check", case.id, "no check had anything to say about this case"))
    verdicts = [run.baseline.judge(replace(finding, case=case.id)) for finding in findings]
    for verdict in verdicts:
        run.tally.add(verdict)
    run.tally.cases += 1
    for observation in observations:
        remember_values(run, observation)
    remember_verdicts(run, verdicts)
    shown = [verdict for verdict in verdicts if _counts(verdict.finding)]
    record = _record(run, case, observations, shown, len(verdicts) - len(shown), stderr, elapsed_ms)
    for writer in run.writers:
        writer.case(record)


def _counts(finding: Finding) -> bool:
    return finding.outcome is not Outcome.NOT_APPLICABLE


def judge_observation(check: Check, observation: Observation) -> Sequence[Finding]:
    """What a check says about one observation; a check that crashes is an ERROR of ours."""
    assert check.judge is not None
    try:
        return check.judge(observation)
    except Exception as crash:  # noqa: BLE001 - a check that crashes is an error of ours, and must not end the run
        message = f"the check crashed: {type(crash).__name__}: {crash}"
        return [Finding(check=check.id, level=check.level, outcome=Outcome.ERROR, message=message)]


def _worst(check: Check, judged: Sequence[tuple[Observation, Sequence[Finding]]]) -> Finding:
    """The one outcome of a check in a case: the worst over its findings and turns, the earliest of equals."""
    worst = Finding(check=check.id, level=check.level, outcome=Outcome.NOT_APPLICABLE)
    for observation, findings in judged:
        for finding in findings:
            if RANK.index(finding.outcome) > RANK.index(worst.outcome):
                where = finding.where
                if len(judged) > 1:
                    where = f"turn {observation.case.turn}: {where}".rstrip(": ")
                worst = replace(finding, where=where)
    return worst


def error_finding(check: str, case: str, message: str) -> Finding:
    """An ERROR: of the adapter (``runner.*``) or of the suite (``harness.*``)."""
    return Finding(check=check, level=Level.MUST, outcome=Outcome.ERROR, case=case, message=message)


def remember_values(run: Run, one: Observation) -> None:
    """Keep of an exchange what the findings about the run need."""
    run.tally.exchanges += bool(one.upstream) or (one.downstream is not None and one.downstream.status is not None)
    run.given |= optional_values(one)
    light = lightened(one)
    run.light.append(light if len(run.light) < KEPT_WHOLE else shortened(light))


def remember_verdicts(run: Run, verdicts: Sequence[Verdict]) -> None:
    """Keep of a case's verdicts what the findings about the run and the report's end need."""
    for verdict in verdicts:
        finding = verdict.finding
        if finding.outcome in (Outcome.PASS, Outcome.FAIL):
            run.exercised.add(finding.check)
        if finding.outcome is Outcome.PASS:
            run.passing.add((finding.check, globs.slug(finding.case)))
        if is_red(finding) or finding.outcome is Outcome.FAIL:
            run.failing.append(verdict)


OPTIONAL = ("top_logprobs", "prompt_logprobs", "token_texts", "weight_versions")


def optional_values(one: Observation) -> set[str]:
    """The optional fields of the protocol that a client gave here; a field that it never gives is N/A."""
    capture = one.ending.capture
    if capture is None:
        return set()
    given = {name for name in OPTIONAL if any(getattr(choice, name) is not None for choice in capture.choices)}
    return given | ({"usage"} if capture.usage is not None else set())


def _record(
    run: Run,
    case: Case,
    observations: Sequence[Observation],
    verdicts: Sequence[Verdict],
    absent: int,
    stderr: str,
    elapsed_ms: float,
) -> CaseRecord:
    last = observations[-1] if observations else None
    failing = [v for v in verdicts if v.finding.outcome is Outcome.FAIL]
    strips: dict[str, Any] = {}
    for verdict in failing:
        turn = _turn_of(verdict.finding, observations)
        strip = strip_of(turn, verdict.finding, before=BEFORE, after=AFTER) if turn is not None else None
        if strip is not None:
            strips[verdict.finding.check] = strip.to_json()
    troubled = bool(failing) or any(v.finding.outcome is Outcome.ERROR for v in verdicts)
    raw: Mapping[str, bytes] = _raw(observations) if troubled and run.evidence else {}
    folder = f"evidence/{folder_name(case.id)}/"
    return CaseRecord(
        id=case.id,
        title=case.title,
        why=case.why,
        ending=str(last.ending.kind) if last else "none",
        message=last.ending.message if last else "",
        elapsed_ms=elapsed_ms,
        verdicts=verdicts,
        absent=absent,
        strips=strips,
        reproduce=run.reproduce(case.id),
        stderr=_hiding(last).text(stderr[-4000:]) if last is not None and troubled else stderr[-4000:] * troubled,
        evidence=_evidence(last, raw, folder) if last is not None and (troubled or run.evidence) else {},
        raw=raw,
        observed=tuple(to_json(one) for one in observations) if run.evidence else (),
        not_detectable=bool(last and any(f.client_may == frozenset({May.AS_SENT}) for f in last.case.faults)),
    )


def _turn_of(finding: Finding, observations: Sequence[Observation]) -> Observation | None:
    for one in observations:
        if len(observations) > 1 and finding.where.startswith(f"turn {one.case.turn}"):
            return one
    return observations[-1] if observations else None


def _evidence(one: Observation, raw: Mapping[str, bytes], folder: str) -> Mapping[str, Any]:
    """The wire log: every side as text, capped; the folder of all bytes where they were written."""
    hide = _hiding(one)
    sides: dict[str, Any] = {"asked": one.case.request}
    if one.upstream:
        sides["calls"] = [_call_line(received) for received in one.upstream]
        sides["request"] = _text(hide.data(one.upstream[-1].body))
    if one.sent is not None:
        sides["response"] = f"HTTP {one.sent.status}\n{_text(hide.data(one.sent.body))}"
    if one.downstream is not None:
        sides["came back"] = f"HTTP {one.downstream.status}\n{_text(hide.data(one.downstream.body))}"
    if one.ending.capture is not None:
        sides["captured"] = _text(json.dumps(one.ending.capture.to_json(), ensure_ascii=False).encode(errors="replace"))
    if one.ending.traceback:
        sides["traceback"] = one.ending.traceback[-EVIDENCE_CHARACTERS:]
    return {**sides, "folder": folder} if raw else sides


def _call_line(received: Received) -> str:
    gone = f", went away after {received.disconnected_ms:.0f} ms" if received.disconnected_ms is not None else ""
    return f"{received.method} {received.path} -> {received.answered_status}, {received.answered_bytes} bytes{gone}"


def _raw(observations: Sequence[Observation]) -> Mapping[str, bytes]:
    """File name -> bytes of every side and turn; secrets in headers are redacted."""
    files: dict[str, bytes] = {}
    for one in observations:
        turn = f"turn-{one.case.turn}-" if len(observations) > 1 else ""
        hide = _hiding(one)
        for number, received in enumerate(one.upstream, 1):
            first = f"{received.method} {received.path}"
            files[f"{turn}request-{number}.txt"] = _message(hide, first, received.headers, received.body)
        for name, answer in (("response", one.sent), ("came-back", one.downstream)):
            if answer is not None:
                first = f"HTTP {answer.status}"
                files[f"{turn}{name}.txt"] = _message(hide, first, answer.headers, answer.body)
    return files


def _hiding(one: Observation) -> Hiding:
    """What blanks the secrets that any side of an exchange showed."""
    sides = [received.headers for received in one.upstream]
    sides += [answer.headers for answer in (one.sent, one.downstream) if answer is not None]
    return Hiding(*sides)


def _message(hide: Hiding, first: str, headers: Iterable[tuple[str, str]], body: bytes) -> bytes:
    heads = "".join(f"{name}: {value}\n" for name, value in hide.pairs(headers))
    return f"{first}\n{heads}\n".encode("utf-8", "replace") + hide.data(body)


def _text(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    return (
        text if len(text) <= EVIDENCE_CHARACTERS else f"{text[:EVIDENCE_CHARACTERS]}\n… {len(text)} characters in all"
    )
