"""``report.jsonl``: written line by line while the run goes on, read back whole, and merged from several runs.

A file without its footer is truncated and says so; files of different suites, clients or seeds do not merge; the same
case in two files is an error. Blank input is an error. Knows no verdict rules.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from ...errors import CaptureError
from ..verdict import Exit, Verdict
from .records import FORMAT, CaseRecord, Footer, Header, finding_from_json, finding_to_json, jsonable


class TruncatedReport(CaptureError):
    """A report whose run did not reach its end: nothing can be said from it."""

    exit_code = int(Exit.ERROR)


class JsonlWriter:
    """Writes one JSON object a line and flushes each case, so that a killed run leaves a readable, truncated file."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._cases = 0
        self._findings = 0

    def header(self, header: Header) -> None:
        self._write({"type": "header", "format": FORMAT, **{name: getattr(header, name) for name in Header.__slots__}})

    def case(self, record: CaseRecord) -> None:
        row = {
            "type": "case",
            "id": record.id,
            "title": record.title,
            "why": record.why,
            "ending": record.ending,
            "message": record.message,
            "elapsed_ms": round(record.elapsed_ms, 1),
            "absent": record.absent,
            "strips": record.strips,
            "reproduce": record.reproduce,
            "commands": record.commands,
            "stderr": record.stderr,
            "evidence": record.evidence,
            "observed": record.observed,
            "not_detectable": record.not_detectable,
        }
        self._write({key: value for key, value in row.items() if value not in ("", {}, (), [], None, False)})
        self._cases += 1
        for verdict in record.verdicts:
            row = finding_to_json(verdict)
            self._write(row if row["case"] == record.id else {**row, "record": record.id})
            self._findings += 1
        self._file.flush()

    def footer(self, footer: Footer) -> None:
        row = {"type": "footer", "cases": self._cases, "findings": self._findings, "complete": footer.complete}
        self._write({**row, **footer.to_json(), "stale": list(footer.stale), "elapsed_ms": round(footer.elapsed_ms, 1)})
        self._file.flush()

    def _write(self, row: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(row, ensure_ascii=False, default=jsonable).encode(errors="replace").decode() + "\n")


@dataclass(slots=True)
class ReadReport:
    """A report read back. ``run``: verdicts about the run as a whole."""

    header: Mapping[str, Any]
    cases: dict[str, CaseRecord] = field(default_factory=dict[str, CaseRecord])
    footer: Mapping[str, Any] = field(default_factory=dict[str, Any])
    shards: list[str | None] = field(default_factory=list[str | None])


def read(path: Path) -> ReadReport:
    """One report; raises CaptureError (exit 4) for a file that is none, TruncatedReport (exit 3) without a footer."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as failure:
        raise CaptureError(f"cannot be read: {failure.strerror}", where=str(path)) from None
    except UnicodeDecodeError as wrong:
        raise CaptureError(f"is not UTF-8 (byte {wrong.start})", where=str(path)) from None
    rows = [_row(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not rows or rows[0].get("type") != "header":
        raise CaptureError("is not a report: its first line is no header", where=str(path))
    if rows[0].get("format") != FORMAT:
        raise CaptureError(f"has format {rows[0].get('format')!r}; this suite reads {FORMAT}", where=str(path))
    if rows[-1].get("type") != "footer" or not rows[-1].get("complete", True):
        raise TruncatedReport("is truncated: the run did not reach its end", where=str(path), hint="run it again")
    try:
        report = _assembled(rows, path)
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        words = f"holds a line that this suite did not write ({type(wrong).__name__}: {wrong})"
        raise CaptureError(words, where=str(path)) from None
    found = len(report.cases), sum(len(case.verdicts) for case in report.cases.values())
    if found != (rows[-1].get("cases"), rows[-1].get("findings")):
        raise TruncatedReport(
            f"holds {found[0]} cases and {found[1]} findings, its footer counted {rows[-1].get('cases')} "
            f"and {rows[-1].get('findings')}",
            where=str(path),
        )
    return report


def _assembled(rows: Sequence[Mapping[str, Any]], path: Path) -> ReadReport:
    report = ReadReport(rows[0], footer=rows[-1], shards=[rows[0].get("shard")])
    verdicts: dict[str, list[Verdict]] = {}
    heads: dict[str, Mapping[str, Any]] = {}
    for row in rows[1:-1]:
        if row.get("type") == "case":
            if row["id"] in heads:
                raise CaptureError(f"case {row['id']} stands twice", where=str(path))
            heads[row["id"]] = row
            verdicts[row["id"]] = []
        elif row.get("type") == "finding" and row.get("record", row["case"]) in verdicts:
            verdicts[row.get("record", row["case"])].append(finding_from_json(row))
        else:
            raise CaptureError(f"holds a {row.get('type')!r} where none can stand", where=str(path))
    for case_id, head in heads.items():
        known: dict[str, Any] = {key: value for key, value in head.items() if key in CaseRecord.__slots__}
        known["verdicts"] = tuple(verdicts[case_id])
        report.cases[case_id] = CaseRecord(**known)
    return report


def _row(line: str, where: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        raise TruncatedReport("a line is not whole JSON: the file is cut", where=where) from None
    if not isinstance(row, dict):
        raise CaptureError("a line is not an object", where=where)
    return row  # pyright: ignore[reportUnknownVariableType]


_SAME = ("suite", "protocol", "mode", "client", "seed", "tokenizer", "layouts")
"""What reports must have in common to be merged."""


def by_subject(reports: Sequence[tuple[Path, ReadReport]]) -> list[list[tuple[Path, ReadReport]]]:
    """The reports of each client, gateway or server, in the order in which they were given."""
    groups: dict[tuple[str, str, str], list[tuple[Path, ReadReport]]] = {}
    for path, report in reports:
        client: Mapping[str, Any] = report.header.get("client", {})
        who = (str(report.header.get("mode")), str(client.get("name")), str(client.get("version")))
        groups.setdefault(who, []).append((path, report))
    return list(groups.values())


def merged(reports: Iterable[tuple[Path, ReadReport]]) -> ReadReport:
    """Several runs of one matrix as one; raises CaptureError when they do not belong together or overlap."""
    rows = list(reports)
    if not rows:
        raise CaptureError("no reports to merge")
    first_path, first = rows[0]
    whole = ReadReport(first.header, dict(first.cases), first.footer, list(first.shards))
    for path, report in rows[1:]:
        for name in _SAME:
            if report.header.get(name) != first.header.get(name):
                raise CaptureError(
                    f"{name} is {report.header.get(name)!r}, but {first.header.get(name)!r} in {first_path}",
                    where=str(path),
                )
        for case_id, record in report.cases.items():
            if case_id in whole.cases:
                if case_id == "run":
                    continue
                raise CaptureError(f"case {case_id} stands in another report already", where=str(path))
            whole.cases[case_id] = record
        whole.shards += report.shards
    _check_shards(whole.shards)
    return whole


def _check_shards(shards: Sequence[str | None]) -> None:
    """All of 1/n ... n/n, or none at all."""
    named = [shard for shard in shards if shard]
    if not named:
        return
    totals = {shard.partition("/")[2] for shard in named}
    if len(totals) != 1:
        raise CaptureError(f"these are shards of different runs: {', '.join(sorted(named))}")
    missing = sorted(set(map(str, range(1, int(totals.pop()) + 1))) - {shard.partition("/")[0] for shard in named})
    if missing:
        raise TruncatedReport(f"shard {', '.join(missing)} is missing", hint="give the reports of all shards")
