"""``summary.md`` for the step summary of a CI job, and ``badge.json`` for a project page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..finding import Level, Outcome
from ..verdict import Standing, Tally, Verdict, Word, label
from .records import CaseRecord, Footer, Header

MAX_ROWS = 50
COLOURS = {
    Word.CONFORMANT: "brightgreen",
    Word.WITH_WARNINGS: "yellowgreen",
    Word.PARTIAL: "yellow",
    Word.NONCONFORMANT: "red",
    Word.INCONCLUSIVE: "lightgrey",
}


def yield_line(tally: Tally) -> str:
    """The first line of every report."""
    return f"usable captures: {tally.usable} of {tally.carrying} exchanges that carried ids"


def counts_line(tally: Tally) -> str:
    """Everything that was counted, what was not tested included."""
    names = {"pass": "passed", "fail": "failed", "warn": "warnings", "note": "notes", "na": "N/A", "error": "errors"}
    shown = [f"{tally.counts[key]} {names.get(key, key)}" for key in tally.counts]
    return f"{tally.cases} cases: {', '.join(shown)}"


class SummaryWriter:
    """Writes ``summary.md`` at the end: yield, word, counts, and a table of what failed, expected findings last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._title = "fakellm"
        self._rows: list[tuple[Verdict, str]] = []

    def header(self, header: Header) -> None:
        client = header.client
        self._title = f"{client.get('name', '?')} {client.get('version', '')}".strip()

    def case(self, record: CaseRecord) -> None:
        for verdict in record.verdicts:
            if verdict.finding.outcome in (Outcome.FAIL, Outcome.ERROR) or _red_untested(verdict):
                self._rows.append((verdict, record.reproduce))

    def footer(self, footer: Footer) -> None:
        lines = [
            f"## {cell(self._title)}: {footer.word}",
            "",
            yield_line(footer.tally),
            "",
            counts_line(footer.tally),
            "",
        ]
        rows = sorted(self._rows, key=lambda row: (row[0].standing is Standing.EXPECTED, row[0].finding.case))
        if rows:
            lines += ["| | check | case | what | standing |", "|---|---|---|---|---|"]
        for verdict, _ in rows[:MAX_ROWS]:
            finding = verdict.finding
            what = ": ".join(part for part in (finding.where, finding.diagnosis or finding.message) if part)
            standing = "" if verdict.standing is None else f"{verdict.standing}"
            cells = [label(finding), f"`{finding.check}`", f"`{cell(finding.case)}`", cell(what), standing]
            lines.append(f"| {' | '.join(cells)} |")
        if len(rows) > MAX_ROWS:
            lines.append(f"\n… and {len(rows) - MAX_ROWS} more in report.jsonl")
        if footer.stale:
            lines += ["", "Stale baseline entries (they pass now): " + "; ".join(map(cell, footer.stale))]
        if footer.expired:
            lines += ["", "Expired baseline entries: " + "; ".join(map(cell, footer.expired))]
        self._path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _red_untested(verdict: Verdict) -> bool:
    return verdict.finding.outcome is Outcome.UNTESTED and verdict.finding.level is Level.MUST


def cell(text: str) -> str:
    """Text that stays text in a Markdown table: no pipes, no line ends, no HTML, no code spans."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "\\|").replace("`", "'")
    return " ".join(safe.split())


class BadgeWriter:
    """Writes ``badge.json`` in the shields endpoint format."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def header(self, header: Header) -> None:
        """Nothing to remember."""

    def case(self, record: CaseRecord) -> None:
        """Nothing to remember."""

    def footer(self, footer: Footer) -> None:
        badge: Mapping[str, Any] = {
            "schemaVersion": 1,
            "label": "token conformance",
            "message": f"{footer.word} ({footer.tally.usable}/{footer.tally.carrying})",
            "color": COLOURS[footer.word],
        }
        self._path.write_text(json.dumps(badge, indent=1) + "\n", encoding="utf-8")
