"""From findings to a word and an exit code (CONFORMANCE section 7), and nothing else.

Three dimensions are never mixed: level, outcome, standing. The word ignores the baseline; the exit code does not. This
module is pure and knows neither files nor terminals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from .finding import Finding, Level, Outcome


class Standing(StrEnum):
    """Where a failing finding stands against the baseline."""

    EXPECTED = "expected"
    UNEXPECTED = "unexpected"
    STALE = "stale"


class Word(StrEnum):
    """The verdict on a run, worst first: the first that holds is the word."""

    NONCONFORMANT = "nonconformant"
    INCONCLUSIVE = "inconclusive"
    PARTIAL = "partial"
    WITH_WARNINGS = "conformant-with-warnings"
    CONFORMANT = "conformant"


class Exit(IntEnum):
    """What the process ends with."""

    OK = 0
    RED = 1
    INTERRUPTED = 2
    ERROR = 3
    USAGE = 4
    NOTHING_RAN = 5


SEVERITY = (Exit.OK, Exit.RED, Exit.NOTHING_RAN, Exit.ERROR)
"""Of several runs the worst decides."""
COUNTS = ("pass", "fail", "warn", "note", "untested", "na", "error")
_FAILS = {Level.MUST: "fail", Level.SHOULD: "warn", Level.INFO: "note"}
_OTHERS = {
    Outcome.PASS: "pass",
    Outcome.UNTESTED: "untested",
    Outcome.NOT_APPLICABLE: "na",
    Outcome.ERROR: "error",
}
_LABELS = {
    "fail": "FAIL",
    "warn": "WARN",
    "note": "NOTE",
    "pass": "PASS",
    "untested": "UNTESTED",
    "na": "N/A",
    "error": "ERROR",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A finding and its standing (None = it did not fail). ``reason``: the baseline's, where it is expected."""

    finding: Finding
    standing: Standing | None = None
    reason: str | None = None


def count_of(finding: Finding) -> str:
    """Under which of :data:`COUNTS` a finding goes."""
    return _FAILS[finding.level] if finding.outcome is Outcome.FAIL else _OTHERS[finding.outcome]


def label(finding: Finding) -> str:
    """The word that reports show: PASS, FAIL (MUST), WARN (SHOULD), NOTE (INFO), UNTESTED, N/A, ERROR."""
    return _LABELS[count_of(finding)]


def is_red(finding: Finding) -> bool:
    """Whether this finding alone keeps a run from being green: a MUST failed or untested, or an error."""
    if finding.outcome is Outcome.ERROR:
        return True
    return finding.level is Level.MUST and finding.outcome in (Outcome.FAIL, Outcome.UNTESTED)


@dataclass(slots=True)
class Tally:
    """What a run counted so far. ``cases`` ran; ``exchanges`` reached the fake; ``usable`` of ``carrying`` exchanges
    that carried ids were captured with them."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    cases: int = 0
    exchanges: int = 0
    usable: int = 0
    carrying: int = 0
    untested_musts: int = 0
    unexpected_fails: int = 0
    unexpected_warnings: int = 0

    def add(self, verdict: Verdict) -> None:
        finding = verdict.finding
        self.counts[count_of(finding)] += 1
        if finding.outcome is Outcome.UNTESTED and finding.level is Level.MUST:
            self.untested_musts += 1
        if finding.outcome is Outcome.FAIL and verdict.standing is not Standing.EXPECTED:
            if finding.level is Level.MUST:
                self.unexpected_fails += 1
            elif finding.level is Level.SHOULD:
                self.unexpected_warnings += 1

    @property
    def nothing_ran(self) -> bool:
        """No case, no exchange, or no check with an outcome: such a run must never look green."""
        judged = sum(self.counts[name] for name in ("pass", "fail", "warn", "note", "error"))
        return self.cases == 0 or self.exchanges == 0 or judged == 0

    def word(self) -> Word:
        if self.counts["fail"]:
            return Word.NONCONFORMANT
        if self.counts["error"] or self.nothing_ran:
            return Word.INCONCLUSIVE
        if self.untested_musts:
            return Word.PARTIAL
        return Word.WITH_WARNINGS if self.counts["warn"] else Word.CONFORMANT

    def exit_code(self, *, strict: bool = False, stale: int = 0) -> Exit:
        """The exit code; usage errors (4) and interruption (2) are decided where they happen."""
        if self.counts["error"]:
            return Exit.ERROR
        if self.nothing_ran:
            return Exit.NOTHING_RAN
        if self.unexpected_fails or self.untested_musts or stale:
            return Exit.RED
        return Exit.RED if strict and self.unexpected_warnings else Exit.OK


def summary(tally: Tally, exit_code: Exit, failing: Iterable[Verdict]) -> Mapping[str, Any]:
    """The one object that ``--json`` prints in every mode."""
    return {
        "verdict": str(tally.word()),
        "exit": int(exit_code),
        "usable": [tally.usable, tally.carrying],
        "counts": dict(tally.counts),
        "failing": [
            {
                "case": verdict.finding.case,
                "check": verdict.finding.check,
                "level": str(verdict.finding.level),
                "where": verdict.finding.where,
            }
            for verdict in failing
        ],
    }
