"""junit.xml parses back, and says failure, error and skipped where the contract says so."""

from pathlib import Path
from xml.etree import ElementTree

from fakellm.conform.finding import Level, Outcome
from fakellm.conform.report.junit import JUnitWriter
from fakellm.conform.report.records import CaseRecord
from fakellm.conform.verdict import Standing
from support.conformance import NASTY, record, verdict, write


def parsed(folder: Path, *records: CaseRecord) -> ElementTree.Element:
    path = folder / "junit.xml"
    write(JUnitWriter(path), *records)
    return ElementTree.parse(path).getroot()


def test_one_failure_per_failing_must(tmp_path: Path) -> None:
    root = parsed(
        tmp_path, record(verdict(), verdict(check="align.completion-ids"), verdict(Outcome.PASS, check="x.y"))
    )

    assert ["align.logprobs", "align.completion-ids"] == [one.get("type") for one in root.iter("failure")]
    assert ("1", "1", "0", "0") == tuple(root.get(name) for name in ("tests", "failures", "errors", "skipped"))


def test_warnings_and_notes_are_no_failures(tmp_path: Path) -> None:
    root = parsed(tmp_path, record(verdict(level=Level.SHOULD), verdict(level=Level.INFO)))

    assert [] == list(root.iter("failure"))


def test_untested_musts_and_errors_are_errors(tmp_path: Path) -> None:
    root = parsed(tmp_path, record(verdict(Outcome.UNTESTED), verdict(Outcome.ERROR, check="runner.no-answer")))

    assert ["align.logprobs", "runner.no-answer"] == [one.get("type") for one in root.iter("error")]
    assert "1" == root.get("errors")


def test_an_expected_failure_is_skipped_with_its_reason(tmp_path: Path) -> None:
    root = parsed(tmp_path, record(verdict(standing=Standing.EXPECTED)))

    assert ["expected: align.logprobs: known"] == [one.get("message") for one in root.iter("skipped")]
    assert ("0", "1") == (root.get("failures"), root.get("skipped"))


def test_a_case_in_which_nothing_applies_is_skipped(tmp_path: Path) -> None:
    root = parsed(tmp_path, record(absent=3))

    assert 1 == len(list(root.iter("skipped")))


def test_suites_are_areas_and_count_what_is_in_them(tmp_path: Path) -> None:
    other = record(verdict(Outcome.PASS, case="ids/null[api=chat]"), case="ids/null[api=chat]")
    root = parsed(tmp_path, record(verdict()), other)

    assert [("scores", "1", "1"), ("ids", "1", "0")] == [
        (suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in root
    ]
    assert "null[api=chat]" == root[1][0].get("name")


def test_text_that_xml_cannot_hold_does_not_break_the_file(tmp_path: Path) -> None:
    root = parsed(tmp_path, record(verdict(message=NASTY), stderr=NASTY))

    message = next(root.iter("failure")).get("message") or ""
    assert "</script><b onload=x>" in message
    assert "\x1b" not in message
