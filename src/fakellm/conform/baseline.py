"""What a client is known to lose: ``fakellm-baseline.yaml``, judged per check (CONFORMANCE section 7).

An entry names a check, a glob of cases and a reason. It excuses failures, never errors and never what was not tested.
An entry that names nothing of the suite, or contradicts another, is an error of the file (exit 4); one whose findings
all pass now is stale (exit 1); one that has expired is ignored and named. Time and CI come in as arguments.

    - {check: align.completion-ids, case: "helper/**", reason: "the stream helper drops choice token_ids", issue:
    https://...}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import ScenarioError, UsageError, did_you_mean
from ..scenario.source import read_text
from . import globs
from .finding import Finding, Level, Outcome
from .verdict import Standing, Verdict

TODO = "TODO"
RUN = "run"
"""The case name of findings about the run as a whole."""


class EntryModel(BaseModel):
    """One entry as the file spells it."""

    model_config = ConfigDict(extra="forbid")

    check: str
    case: str
    reason: str = Field(min_length=1)
    issue: str | None = None
    expires: date | None = None
    flaky: bool = False


@dataclass(slots=True)
class Entry:
    """One entry and what the run has shown of it so far."""

    model: EntryModel
    where: str
    expired: bool = False
    failed: int = 0
    passed: int = 0
    absent: int = 0

    def covers(self, finding: Finding, formerly: Sequence[str] = ()) -> bool:
        return self.model.check == finding.check and globs.matches(self.model.case, finding.case, formerly)

    @property
    def stale(self) -> bool:
        """It was judged, and nothing of it failed; flaky and expired entries never are."""
        return not self.failed and bool(self.passed or self.absent) and not (self.model.flaky or self.expired)


@dataclass(slots=True)
class Baseline:
    """All entries. ``former``: id of a case -> its names of old, so that entries survive a rename."""

    entries: list[Entry] = field(default_factory=list[Entry])
    former: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def judge(self, finding: Finding) -> Verdict:
        """The finding's standing; remembers what each entry covered."""
        covering = [entry for entry in self.entries if entry.covers(finding, self.former.get(finding.case, ()))]
        for entry in covering:
            _remember(entry, finding)
        if finding.outcome is not Outcome.FAIL:
            return Verdict(finding)
        valid = [entry for entry in covering if not entry.expired]
        if len({entry.model.flaky for entry in valid}) > 1:
            places = " and ".join(entry.where for entry in valid)
            raise UsageError(
                f"{finding.check} in {finding.case} is matched by a flaky and a firm entry",
                where=places,
                hint="keep one of them, or make their case globs disjoint",
            )
        if valid:
            return Verdict(finding, Standing.EXPECTED, valid[0].model.reason)
        return Verdict(finding, Standing.UNEXPECTED)

    def stale(self) -> tuple[Entry, ...]:
        """Entries whose findings all pass now."""
        return tuple(entry for entry in self.entries if entry.stale)

    def expired(self) -> tuple[Entry, ...]:
        """Entries that no longer hold because their day has come."""
        return tuple(entry for entry in self.entries if entry.expired)

    def wants(self, check: str) -> bool:
        """Whether any entry names this check (passes of other checks need not be remembered)."""
        return any(entry.model.check == check for entry in self.entries)


def _remember(entry: Entry, finding: Finding) -> None:
    if finding.outcome is Outcome.FAIL:
        entry.failed += 1
    elif finding.outcome is Outcome.PASS:
        entry.passed += 1
    elif finding.outcome is Outcome.NOT_APPLICABLE:
        entry.absent += 1


def load(
    path: Path,
    *,
    checks: Iterable[str],
    cases: Iterable[str],
    former: Mapping[str, Sequence[str]],
    today: date,
    ci: bool,
) -> Baseline:
    """Read and check a baseline; raises UsageError (exit 4) naming the entry. ``checks``, ``cases``: all there are."""
    known_checks, known_cases = set(checks), [*cases, RUN]
    entries = [_entry(row, place, path.name) for place, row in enumerate(_rows(path))]
    for entry in entries:
        model = entry.model
        if model.check not in known_checks:
            raise UsageError(
                f"there is no check {model.check!r}", where=entry.where, hint=did_you_mean(model.check, known_checks)
            )
        if not any(globs.matches(model.case, case, former.get(case, ())) for case in known_cases):
            slugs = {globs.slug(case) for case in known_cases}
            raise UsageError(f"no case matches {model.case!r}", where=entry.where, hint=did_you_mean(model.case, slugs))
        if ci and model.reason.strip().upper().startswith(TODO):
            raise UsageError(
                f"the reason is still {TODO}", where=entry.where, hint="say why this loss is accepted; CI=true is set"
            )
        entry.expired = model.expires is not None and model.expires < today
    return Baseline(entries, former)


def _rows(path: Path) -> Sequence[Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as failure:
        raise UsageError(f"cannot read the baseline: {failure.strerror}", where=str(path)) from None
    if not text.strip():
        return ()
    try:
        document: Any = read_text(text, path.name).data
    except ScenarioError as wrong:
        raise UsageError(wrong.message, where=wrong.where, hint=wrong.hint) from None
    if document is None:
        return ()
    if isinstance(document, dict):
        file: dict[str, Any] = document  # pyright: ignore[reportUnknownVariableType]
        unknown = sorted(set(file) - {"entries", "client"})
        if unknown:
            raise UsageError(f"unknown key {unknown[0]!r}", where=path.name, hint=did_you_mean(unknown[0], ["entries"]))
        document = file.get("entries") or ()
    if not isinstance(document, list | tuple):
        raise UsageError("is neither a list of entries nor a mapping with entries", where=path.name)
    return document  # pyright: ignore[reportUnknownVariableType]


def _entry(row: Any, place: int, name: str) -> Entry:
    where = f"{name}: entry {place + 1}"
    try:
        return Entry(EntryModel.model_validate(row), where)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        key = str(first["loc"][-1]) if first["loc"] else "entry"
        hint = did_you_mean(key, EntryModel.model_fields) if first["type"] == "extra_forbidden" else None
        raise UsageError(f"{key}: {first['msg']}", where=where, hint=hint) from None


def written(findings: Iterable[Finding], passing: Iterable[tuple[str, str]]) -> str:
    """A baseline of today's failures, sorted, each with reason TODO.

    ``passing``: (check, case) pairs that passed: where no variant of a case passed, one entry covers its slug.
    """
    passed = {(check, globs.slug(case)) for check, case in passing}
    rows: set[tuple[str, str]] = set()
    for finding in findings:
        if finding.outcome is Outcome.FAIL and finding.level is not Level.INFO:
            slug = globs.slug(finding.case)
            rows.add((finding.check, finding.case if (finding.check, slug) in passed else slug))
    entries = [{"check": check, "case": case, "reason": TODO} for check, case in sorted(rows)]
    dump = cast("Callable[..., str]", yaml.safe_dump)  # pyright: ignore[reportUnknownMemberType]
    return dump(entries, sort_keys=False, allow_unicode=True, width=120) if entries else "[]\n"
