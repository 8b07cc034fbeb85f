"""What a person sees: progress on stderr while the run goes on, and a verdict that is quiet when green.

The yield line comes first. Per failing check: the requirement, the cases, the alignment strip of the first one and the
command that reproduces it. Token text is shown escaped, so that it can neither colour nor clear a terminal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from ...diagnosis import MISSING
from ..finding import Finding, Outcome
from ..strip import AFTER, BEFORE
from ..verdict import Exit, Standing, Verdict, Word, is_red, label
from .records import CaseRecord, Footer, Header
from .summary import counts_line, yield_line

STYLES = {"FAIL": "bold red", "WARN": "yellow", "NOTE": "cyan", "UNTESTED": "magenta", "ERROR": "bold magenta"}
WORD_STYLES = {
    Word.CONFORMANT: "bold green",
    Word.WITH_WARNINGS: "bold yellow",
    Word.PARTIAL: "bold magenta",
    Word.NONCONFORMANT: "bold red",
    Word.INCONCLUSIVE: "bold magenta",
}
MAX_CASES = 4
SIDES = ("truth", "sent", "got")


class TerminalWriter:
    """Progress to ``talk`` (stderr), the verdict to ``out`` (stdout). ``requirements``: check id -> its sentence."""

    def __init__(
        self,
        out: Console,
        talk: Console,
        requirements: Mapping[str, str],
        *,
        quiet: bool = False,
        verbose: bool = False,
        verdict: bool = True,
    ) -> None:
        self._out = out
        self._requirements = requirements
        self._quiet = quiet
        self._verbose = verbose
        self._verdict = verdict
        self._by_check: dict[str, list[tuple[Verdict, CaseRecord]]] = {}
        self._undetectable = 0
        self._header: Header | None = None
        columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), MofNCompleteColumn())
        self._progress = Progress(*columns, console=talk, transient=True, disable=quiet or not talk.is_terminal)
        self._task: Any = None

    def header(self, header: Header) -> None:
        self._header = header
        self._progress.start()
        self._task = self._progress.add_task(f"{header.client.get('name', header.mode)}", total=header.planned)

    def case(self, record: CaseRecord) -> None:
        if self._task is not None:
            self._progress.advance(self._task)
        self._undetectable += record.not_detectable
        for verdict in record.verdicts:
            if verdict.finding.outcome in (Outcome.FAIL, Outcome.ERROR) or is_red(verdict.finding):
                self._by_check.setdefault(verdict.finding.check, []).append((verdict, record))

    def footer(self, footer: Footer) -> None:
        self._progress.stop()
        if not self._verdict:
            return
        self._print(Text(yield_line(footer.tally), "bold"))
        shown = sorted(self._by_check.items(), key=lambda row: _weight(row[1]))
        for check, rows in shown:
            if not all(_only_untested(verdict) for verdict, _ in rows):
                self._check(check, rows)
        self._untested([check for check, rows in shown if all(_only_untested(verdict) for verdict, _ in rows)])
        self._totals(footer)

    def _untested(self, checks: Sequence[str]) -> None:
        """Requirements that nothing exercised: red, but there is no token to show."""
        if checks:
            self._print()
            self._print(
                Text.assemble(
                    ("UNTESTED ", STYLES["UNTESTED"]), f"MUST, and no exchange exercised it: {', '.join(checks)}"
                )
            )

    def _check(self, check: str, rows: Sequence[tuple[Verdict, CaseRecord]]) -> None:
        unexpected = [row for row in rows if row[0].standing is not Standing.EXPECTED]
        verdict, record = (unexpected or rows)[0]
        name = label(verdict.finding)
        if not unexpected:
            words = f" in {len(rows)} {_cases(rows)}: {printable(verdict.reason or '')}"
            self._print(Text.assemble(("EXPECTED ", "dim"), check, words))
            if self._verbose:
                self._first(check, verdict, record)
            return
        if self._quiet and name in ("NOTE", "WARN"):
            return
        self._print()
        self._print(
            Text.assemble(
                (f"{name} ", STYLES.get(name, "")), (check, "bold"), f" in {len(unexpected)} {_cases(unexpected)}"
            )
        )
        requirement = self._requirements.get(check)
        if requirement:
            self._print(Text(f"  {requirement}", "dim"))
        for each, _ in unexpected[:MAX_CASES]:
            self._print(Text(f"  {each.finding.case}  {_sentence(each.finding)}"))
        if len(unexpected) > MAX_CASES:
            self._print(Text(f"  … and {len(unexpected) - MAX_CASES} more", "dim"))
        self._evidence(check, record)

    def _first(self, check: str, verdict: Verdict, record: CaseRecord) -> None:
        """The first of several expected findings in full (``-v``)."""
        self._print(Text(f"  {verdict.finding.case}  {_sentence(verdict.finding)}"))
        self._evidence(check, record)

    def _evidence(self, check: str, record: CaseRecord) -> None:
        if check in record.strips:
            self._strip(record.strips[check])
        command = record.commands.get(check, record.reproduce)
        if command:
            self._print(Text(f"  reproduce: {command}", "dim"))

    def _print(self, text: Text | str = "") -> None:
        """One line of a report stays one line, however narrow the terminal or the log."""
        self._out.print(text, soft_wrap=True)

    def _strip(self, strip: Mapping[str, Any]) -> None:
        table = Table(box=None, padding=(0, 1), header_style="dim")
        values = ("id", "logprob") if strip["of"] == "completion" else ("id",)
        for heading in ("", "#", "piece", *(f"{side} {value}" for value in values for side in SIDES)):
            table.add_column(heading, justify="left" if heading in ("", "piece") else "right", no_wrap=True)
        near = range(strip["first"] - BEFORE, strip["first"] + AFTER + 1)
        for row in (row for row in strip["rows"] if row["position"] in near):
            mark = "▶" if row["position"] == strip["first"] else " "
            cells = [_shown(row[side][value]) for value in values for side in SIDES]
            cells = [mark, str(row["position"]), printable(row["piece"], quote=True), *cells]
            table.add_row(*(Text(cell, "red" if row["differs"] else "") for cell in cells))
        self._out.print(table)
        place = f"choice {strip['choice']}, {strip['of']} tokens, {strip['total']} in all"
        self._print(
            Text(f"  {place}: {printable(strip['diagnosis'])}" if strip["diagnosis"] else f"  {place}", "italic")
        )

    def _totals(self, footer: Footer) -> None:
        if self._by_check:
            self._print()
        for entry in footer.stale:
            self._print(Text.assemble(("STALE ", "bold yellow"), f"passes now, take it out: {printable(entry)}"))
        for entry in footer.expired:
            self._print(Text.assemble(("EXPIRED ", "yellow"), printable(entry)))
        pruned = f"; {self._header.pruned} cases pruned by what the client declares" if self._header else ""
        told = f"; {self._undetectable} not detectable by a client" if self._undetectable else ""
        self._print(Text(f"{counts_line(footer.tally)}{pruned}{told}"))
        client: Mapping[str, Any] = self._header.client if self._header else {}
        name = printable(f"{client.get('name', '')} {client.get('version', '')}".strip())
        exit_ = f" (exit {int(footer.exit_code)})" if footer.exit_code is not Exit.OK else ""
        self._print(Text.assemble(f"{name}: " if name else "", (str(footer.word), WORD_STYLES[footer.word]), exit_))


def _weight(rows: Sequence[tuple[Verdict, CaseRecord]]) -> tuple[int, str]:
    order = ("ERROR", "FAIL", "UNTESTED", "WARN", "NOTE")
    unexpected = any(verdict.standing is not Standing.EXPECTED for verdict, _ in rows)
    return (0 if unexpected else 1) * 10 + order.index(label(rows[0][0].finding)), rows[0][0].finding.check


def _cases(rows: Sequence[Any]) -> str:
    return "case" if len(rows) == 1 else "cases"


def _only_untested(verdict: Verdict) -> bool:
    return verdict.finding.outcome is Outcome.UNTESTED


def _sentence(finding: Finding) -> str:
    words = finding.diagnosis or finding.message
    return printable(": ".join(part for part in (finding.where, words) if part))[:300]


def _shown(value: Any) -> str:
    if value == MISSING:
        return "—"
    if isinstance(value, float):
        return f"{value:.6g}"
    return printable(str(value))[:24]


def printable(text: str, *, quote: bool = False) -> str:
    """Text with every character that could act on a terminal escaped; ``quote`` makes blanks visible as well."""
    safe = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return f"'{safe}'" if quote else safe


__all__ = ["TerminalWriter", "printable"]
