"""Terminal, summary and badge: the yield line first, quiet when green, and token text that stays text."""

import io
import json
from pathlib import Path

from rich.console import Console

from fakellm.conform.finding import Outcome
from fakellm.conform.report.records import CaseRecord
from fakellm.conform.report.summary import BadgeWriter, SummaryWriter
from fakellm.conform.report.terminal import TerminalWriter
from fakellm.conform.verdict import Standing
from support.conformance import NASTY, record, strip, verdict, write


def shown(*records: CaseRecord, quiet: bool = False) -> str:
    out = io.StringIO()
    terminal = TerminalWriter(
        Console(file=out, width=200),
        Console(file=io.StringIO()),
        {"align.logprobs": "Scores MUST be kept."},
        quiet=quiet,
    )
    write(terminal, *records)
    return out.getvalue()


def test_the_yield_line_comes_first() -> None:
    assert "usable captures: 1 of 2 exchanges that carried ids" == shown(record(verdict())).splitlines()[0]


def test_green_is_three_lines() -> None:
    lines = shown(record(verdict(Outcome.PASS))).splitlines()

    assert 3 == len(lines)
    assert lines[-1].endswith("conformant")


def test_a_failure_shows_requirement_strip_diagnosis_and_command() -> None:
    text = shown(record(verdict(), strips={"align.logprobs": strip()}))

    assert "FAIL align.logprobs" in text
    assert "Scores MUST be kept." in text
    assert "▶" in text
    assert "one of the ids is lost" in text
    assert "reproduce: fakellm conform client --only 'scores/late[api=chat]' -- python adapter.py" in text


def test_an_expected_failure_is_one_line() -> None:
    text = shown(record(verdict(standing=Standing.EXPECTED)))

    assert "EXPECTED align.logprobs in 1 case: known" in text
    assert "reproduce" not in text


def test_token_text_cannot_act_on_the_terminal() -> None:
    text = shown(record(verdict(message=NASTY), strips={"align.logprobs": strip()}))

    assert "\x1b" not in text
    assert "\\x1b[31m" in text


def test_the_summary_is_a_table_that_hostile_text_cannot_leave(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    write(SummaryWriter(path), record(verdict(case="ids/`x`|y")))
    text = path.read_text(encoding="utf-8")

    assert text.startswith("## frame 1: nonconformant\n\nusable captures: 1 of 2 exchanges that carried ids")
    assert "| FAIL | `align.logprobs` | `ids/'x'\\|y` |" in text


def test_the_badge_shows_word_and_yield(tmp_path: Path) -> None:
    path = tmp_path / "badge.json"
    write(BadgeWriter(path), record(verdict()))

    badge = json.loads(path.read_text(encoding="utf-8"))
    assert ("nonconformant (1/2)", "red") == (badge["message"], badge["color"])
