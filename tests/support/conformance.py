"""Records of an invented run, for tests of reports."""

from __future__ import annotations

from fakellm.conform.finding import Finding, Level, Outcome
from fakellm.conform.report.records import CaseRecord, Footer, Header, Writer
from fakellm.conform.verdict import Standing, Tally, Verdict

NASTY = "</script><b onload=x>\x1b[31m\x00 `|` \ud800"
"""Text that must stay text in every report."""


def header(**changes: object) -> Header:
    given: dict[str, object] = {
        "suite": "0.1.0",
        "protocol": 1,
        "mode": "client",
        "client": {"name": "frame", "version": "1"},
        "command": ("fakellm", "conform", "client"),
        "layouts": ("vllm-0.32.0",),
        "planned": 2,
        **changes,
    }
    return Header(**given)  # type: ignore[arg-type]


def verdict(
    outcome: Outcome = Outcome.FAIL,
    *,
    check: str = "align.logprobs",
    case: str = "scores/late[api=chat]",
    level: Level = Level.MUST,
    standing: Standing | None = None,
    message: str = "not what was sent",
) -> Verdict:
    finding = Finding(
        check=check, level=level, outcome=outcome, case=case, where="choices[0].logprobs[3]", message=message,
        choice=0, position=3, expected=-0.25, got=float("nan"), diagnosis="scores are shifted by one from position 3",
    )  # fmt: skip
    failed = outcome is Outcome.FAIL
    return Verdict(finding, standing or (Standing.UNEXPECTED if failed else None), "known" if standing else None)


def strip() -> dict[str, object]:
    cell = {"id": 5, "logprob": -0.25}
    rows = [
        {"position": at, "piece": NASTY.replace("\ud800", ""), "truth": cell, "sent": cell,
         "got": {"id": "absent", "logprob": "absent"}, "differs": at > 2}
        for at in range(5)
    ]  # fmt: skip
    return {
        "choice": 0,
        "of": "completion",
        "total": 9,
        "first": 3,
        "rows": rows,
        "diagnosis": "one of the ids is lost",
    }


def record(*verdicts: Verdict, case: str = "scores/late[api=chat]", **changes: object) -> CaseRecord:
    given: dict[str, object] = {
        "id": case,
        "title": "A late score",
        "ending": "captured",
        "elapsed_ms": 12.0,
        "verdicts": verdicts,
        "reproduce": f"fakellm conform client --only '{case}' -- python adapter.py",
        **changes,
    }
    return CaseRecord(**given)  # type: ignore[arg-type]


def footer(*verdicts: Verdict, cases: int = 1, **changes: object) -> Footer:
    tally = Tally(cases=cases, exchanges=1, usable=1, carrying=2)
    for one in verdicts:
        tally.add(one)
    failing = [one for one in verdicts if one.finding.outcome is Outcome.FAIL]
    return Footer(tally=tally, word=tally.word(), exit_code=tally.exit_code(), failing=failing, **changes)  # type: ignore[arg-type]


def write(writer: Writer, *records: CaseRecord, **changes: object) -> None:
    """A whole run through one writer."""
    writer.header(header(**changes))
    for one in records:
        writer.case(one)
    verdicts = [each for one in records for each in one.verdicts]
    writer.footer(footer(*verdicts, cases=len(records)))
