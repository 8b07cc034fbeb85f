"""The conform commands as a person or a CI script meets them: output, exit codes, errors without tracebacks."""

import json
import sys
from pathlib import Path

import pytest

from fakellm.cli import run

REFERENCE = ("--adapter", "fakellm.conform.mutants.reference:Reference")
SMOKE = ("--layout", "vllm-0.32.0", "--only", "smoke/**api=chat**")


def conform(*words: str) -> int:
    return run(["conform", *words])


def test_smoke_is_green_and_short_for_a_good_client(capsys: pytest.CaptureFixture[str]) -> None:
    code = conform("smoke", *SMOKE, *REFERENCE)

    out = capsys.readouterr().out
    assert 0 == code
    assert "usable captures: 3 of 3 exchanges that carried ids" == out.splitlines()[0]
    assert out.rstrip().endswith("conformant")


def test_json_is_one_object_with_the_contracted_keys(capsys: pytest.CaptureFixture[str]) -> None:
    code = conform("smoke", "--json", *SMOKE, *REFERENCE)

    shown = json.loads(capsys.readouterr().out)
    assert {"verdict", "exit", "usable", "counts", "failing"} == set(shown)
    assert {"pass", "fail", "warn", "note", "untested", "na", "error"} == set(shown["counts"])
    assert (0, 0, [3, 3]) == (code, shown["exit"], shown["usable"])


def test_without_a_report_dir_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    conform("smoke", *SMOKE, *REFERENCE)

    assert [] == list(tmp_path.iterdir())


def test_a_command_that_does_nothing_is_red(capsys: pytest.CaptureFixture[str]) -> None:
    code = conform("client", "--per-case", *SMOKE, "--", sys.executable, "-c", "pass")

    assert 5 == code
    assert "usable captures: 0 of 0" in capsys.readouterr().out


def test_an_adapter_that_exits_at_once_is_an_error_in_its_own_words(capsys: pytest.CaptureFixture[str]) -> None:
    code = conform("client", *SMOKE, "--", sys.executable, "-c", "raise SystemExit('no such client here')")

    err = capsys.readouterr().err
    assert 3 == code
    assert "early-exit" in err
    assert "no such client here" in err
    assert "Traceback" not in err


def test_a_command_in_one_word_is_split_as_a_shell_does(capsys: pytest.CaptureFixture[str]) -> None:
    code = conform("client", *SMOKE, "--", f"{sys.executable} -c 'raise SystemExit(\"two words\")'")

    assert 3 == code
    assert "two words" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("client",), "no client was given"),
        (("client", *REFERENCE, "--", "x"), "more than one client"),
        (("client", *REFERENCE, "--only", "ids/nestd*"), "no case matches"),
        (("client", *REFERENCE, "--layout", "vlm-0.32.0"), "did you mean"),
        (("client", *REFERENCE, "--shard", "5/4"), "--shard"),
        (("client", *REFERENCE, "--baseline", "no-such-file.yaml"), "no-such-file.yaml"),
        (("client", "--adapter", "no.such:Thing"), "no.such"),
        (("client", "--adapter", "fakellm.conform:Nothing"), "Nothing"),
        (("client", "--profile", "gateways", *REFERENCE), "--profile"),
        (("gateway",), "--start"),
        (("gateway", "--start", "x {port}"), "{upstream}"),
        (("gateway", "--start", "x {upstream} {port}", "--header", "nothing"), "K:V"),
        (("list", "--only", "nothing/*"), "no case matches"),
    ],
)
def test_a_wrong_usage_is_4_and_says_what(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    code = conform(*words)

    err = capsys.readouterr().err
    assert 4 == code
    assert said in err
    assert "Traceback" not in err


def test_reports_are_merged_and_a_cut_one_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conform("smoke", *SMOKE, *REFERENCE, "--report-dir", str(tmp_path / "a"), "-q")
    whole = tmp_path / "a" / "report.jsonl"
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(whole.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8")
    capsys.readouterr()

    assert 0 == run(["report", str(whole)])
    assert "conformant" in capsys.readouterr().out
    assert 3 == run(["report", str(cut)])
    assert "truncated" in capsys.readouterr().err
    assert 4 == run(["report", str(tmp_path / "nothing.jsonl")])


def test_every_case_that_is_listed_can_be_selected_alone(capsys: pytest.CaptureFixture[str]) -> None:
    conform("list", "--layout", "vllm-0.32.0", "--json")
    rows = json.loads(capsys.readouterr().out)["cases"]

    conform("list", "--layout", "vllm-0.32.0", "--only", rows[-1]["id"], "--json")

    assert [rows[-1]["id"]] == [row["id"] for row in json.loads(capsys.readouterr().out)["cases"]]
    assert all(row["why"] for row in rows)


def test_checks_are_listed_with_their_requirement(capsys: pytest.CaptureFixture[str]) -> None:
    conform("list", "--checks", "--json")

    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)["checks"]}
    assert "MUST" == rows["align.completion-ids"]["level"]
    assert {"client", "gateway", "server"} == {mode for row in rows.values() for mode in row["modes"]}
