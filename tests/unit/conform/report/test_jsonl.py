"""report.jsonl reads back as it was written, says when it is cut, and merges only with its own kind."""

from pathlib import Path

import pytest

from fakellm.conform.finding import Outcome
from fakellm.conform.report.jsonl import JsonlWriter, TruncatedReport, merged, read
from fakellm.conform.report.records import CaseRecord
from fakellm.errors import CaptureError
from support.conformance import record, verdict, write

FIRST, SECOND = "scores/late[api=chat]", "ids/null[api=chat]"


def written(folder: Path, *records: CaseRecord, name: str = "report.jsonl", **changes: object) -> Path:
    path = folder / name
    with path.open("w", encoding="utf-8") as file:
        write(JsonlWriter(file), *records, **changes)
    return path


def test_it_reads_back(tmp_path: Path) -> None:
    report = read(written(tmp_path, record(verdict(), verdict(Outcome.PASS, check="text.kept")), record(case=SECOND)))

    assert [FIRST, SECOND] == list(report.cases)
    first, second = report.cases[FIRST].verdicts
    assert (Outcome.FAIL, "scores are shifted by one from position 3") == (
        first.finding.outcome,
        first.finding.diagnosis,
    )
    assert (Outcome.PASS, "text.kept") == (second.finding.outcome, second.finding.check)
    assert "nonconformant" == report.footer["verdict"]


def test_no_number_in_it_is_outside_of_json(tmp_path: Path) -> None:
    text = written(tmp_path, record(verdict())).read_text(encoding="utf-8")

    assert '"nan"' in text
    assert "NaN," not in text


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_a_report_without_its_footer_is_truncated(tmp_path: Path, keep: int) -> None:
    path = written(tmp_path, record(verdict()), record(case=SECOND))
    path.write_text("\n".join(path.read_text(encoding="utf-8").split("\n")[:keep]), encoding="utf-8")

    with pytest.raises(TruncatedReport, match="truncated") as caught:
        read(path)
    assert 3 == caught.value.exit_code


def test_a_cut_line_is_a_truncated_report(tmp_path: Path) -> None:
    path = written(tmp_path, record(verdict()))
    path.write_bytes(path.read_bytes()[:-40])

    with pytest.raises(TruncatedReport):
        read(path)


def test_a_line_that_was_taken_out_is_noticed(tmp_path: Path) -> None:
    path = written(tmp_path, record(verdict(), verdict(Outcome.PASS, check="text.kept")))
    lines = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join([*lines[:2], *lines[3:]]), encoding="utf-8")

    with pytest.raises(TruncatedReport, match="1 findings, its footer counted 1 and 2"):
        read(path)


@pytest.mark.parametrize(
    "text", ["", "\n\n", '{"type":"case","id":"a/b"}\n', "[1]\n", '{"type":"header","format":9}\n']
)
def test_what_is_no_report_is_a_bad_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "report.jsonl"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(CaptureError) as caught:
        read(path)
    assert 4 == caught.value.exit_code


def test_shards_merge_into_one_run(tmp_path: Path) -> None:
    one = written(tmp_path, record(verdict()), name="1.jsonl", shard="1/2")
    two = written(tmp_path, record(verdict(Outcome.PASS, case=SECOND), case=SECOND), name="2.jsonl", shard="2/2")

    whole = merged([(one, read(one)), (two, read(two))])

    assert [FIRST, SECOND] == list(whole.cases)


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    one = written(tmp_path, record(verdict()), shard="1/3")

    with pytest.raises(TruncatedReport, match="shard 2, 3 is missing"):
        merged([(one, read(one))])


def test_reports_of_different_clients_do_not_merge(tmp_path: Path) -> None:
    one = written(tmp_path, record(verdict()), name="1.jsonl")
    two = written(tmp_path, record(case=SECOND), name="2.jsonl", client={"name": "other"})

    with pytest.raises(CaptureError, match="client is"):
        merged([(one, read(one)), (two, read(two))])


def test_the_same_case_twice_does_not_merge(tmp_path: Path) -> None:
    one, two = (written(tmp_path, record(verdict()), name=f"{number}.jsonl") for number in (1, 2))

    with pytest.raises(CaptureError, match="stands in another report"):
        merged([(one, read(one)), (two, read(two))])
