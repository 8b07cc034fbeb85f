"""What a run tells its writers, and what ``report.jsonl`` holds: header, case, finding, footer.

Every writer has the same shape: ``header``, ``case``, ``footer``, called in that order, once, once per case, once. The
records are JSON-able mappings made here, so that a merged file and a live run look the same to a writer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, cast

from ..finding import Finding, Level, Outcome
from ..verdict import Exit, Standing, Tally, Verdict, Word, summary

EMPTY: Mapping[str, Any] = MappingProxyType({})
FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What was run: enough to run it again. ``planned``: ids of the cases that this run (or shard) means to run."""

    suite: str
    protocol: int
    mode: str
    client: Mapping[str, Any]
    command: Sequence[str]
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    layouts: Sequence[str] = ()
    seed: int = 0
    tokenizer: str = ""
    platform: str = ""
    started: str = ""
    shard: str | None = None
    planned: int = 0
    pruned: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecord:
    """One case that ran. ``verdicts``: one per applicable check (N/A only counted, in ``absent``). ``strips``: check ->
    the alignment strip of its failing finding. ``reproduce``: the command that runs the case alone; ``commands``: check
    -> command, where findings about the run point at cases of their own. ``evidence``: the sides' bytes as text,
    capped. ``observed``: what run-level checks need to know of it when reports are merged (one row per turn)."""

    id: str
    title: str = ""
    why: str = ""
    ending: str = ""
    message: str = ""
    elapsed_ms: float = 0.0
    verdicts: Sequence[Verdict] = ()
    absent: int = 0
    strips: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    reproduce: str = ""
    commands: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    stderr: str = ""
    evidence: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    observed: Sequence[Mapping[str, Any]] = ()
    raw: Mapping[str, bytes] = field(default_factory=lambda: EMPTY)
    not_detectable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """How it ended. ``complete`` False: interrupted."""

    tally: Tally
    word: Word
    exit_code: Exit
    failing: Sequence[Verdict] = ()
    stale: Sequence[str] = ()
    expired: Sequence[str] = ()
    untested: Sequence[str] = ()
    elapsed_ms: float = 0.0
    complete: bool = True

    def to_json(self) -> Mapping[str, Any]:
        """The object of ``--json``."""
        return summary(self.tally, self.exit_code, self.failing)


class Writer(Protocol):
    """A report that grows while the run goes on."""

    def header(self, header: Header) -> None: ...

    def case(self, record: CaseRecord) -> None: ...

    def footer(self, footer: Footer) -> None: ...


def finding_to_json(verdict: Verdict) -> dict[str, Any]:
    """A finding as ``report.jsonl`` spells it."""
    finding = verdict.finding
    row: dict[str, Any] = {
        "type": "finding",
        "case": finding.case,
        "check": finding.check,
        "level": str(finding.level),
        "outcome": str(finding.outcome),
        "standing": None if verdict.standing is None else str(verdict.standing),
    }
    if finding.outcome in (Outcome.PASS, Outcome.NOT_APPLICABLE):
        return row
    row |= {"where": finding.where, "message": finding.message}
    optional = {
        "choice": finding.choice,
        "position": finding.position,
        "expected": _plain(finding.expected),
        "got": _plain(finding.got),
        "diagnosis": finding.diagnosis,
        "reason": verdict.reason,
    }
    return row | {name: value for name, value in optional.items() if value is not None}


def finding_from_json(row: Mapping[str, Any]) -> Verdict:
    """The verdict that ``finding_to_json`` wrote."""
    finding = Finding(
        check=row["check"],
        level=Level(row["level"]),
        outcome=Outcome(row["outcome"]),
        case=row["case"],
        where=row.get("where", ""),
        message=row.get("message", ""),
        choice=row.get("choice"),
        position=row.get("position"),
        expected=row.get("expected"),
        got=row.get("got"),
        diagnosis=row.get("diagnosis"),
    )
    standing = row.get("standing")
    return Verdict(finding, None if standing is None else Standing(standing), row.get("reason"))


def jsonable(value: Any) -> Any:
    """What ``json.dumps`` does not know: read-only mappings and sequences."""
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else list(value)


def _plain(value: Any) -> Any:
    """What JSON can hold, short: non-finite numbers as words, tuples as lists, bytes and the rest as text."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, Sequence | set | frozenset):
        rows = [_plain(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
        return rows if len(rows) <= 64 else [*rows[:64], f"… {len(rows)} in all"]
    return str(value)
