"""A baseline excuses exactly what it says, for a reason, and not longer than it holds."""

from datetime import date
from pathlib import Path

import pytest

from fakellm.conform import baseline
from fakellm.conform.baseline import Baseline
from fakellm.conform.finding import Finding, Level, Outcome
from fakellm.conform.verdict import Standing
from fakellm.errors import UsageError

TODAY = date(2026, 11, 29)
CHECKS = ["align.logprobs", "align.completion-ids", "capture.yield"]
CASES = ["ids/null[api=chat,stream=false]", "ids/null[api=chat,stream=true]", "scores/late[api=chat,stream=true]"]
ENTRY = "- {check: align.logprobs, case: 'scores/**', reason: the helper stops reading}"


def read(folder: Path, text: str, *, ci: bool = False, former: dict[str, list[str]] | None = None) -> Baseline:
    path = folder / "fakellm-baseline.yaml"
    path.write_text(text, encoding="utf-8")
    return baseline.load(path, checks=CHECKS, cases=CASES, former=former or {}, today=TODAY, ci=ci)


def finding(outcome: Outcome = Outcome.FAIL, check: str = "align.logprobs", case: str = CASES[2]) -> Finding:
    return Finding(check=check, level=Level.MUST, outcome=outcome, case=case)


def test_a_covered_failure_is_expected_with_its_reason(tmp_path: Path) -> None:
    verdict = read(tmp_path, ENTRY).judge(finding())

    assert (Standing.EXPECTED, "the helper stops reading") == (verdict.standing, verdict.reason)


def test_another_check_of_the_same_case_is_not_covered(tmp_path: Path) -> None:
    verdict = read(tmp_path, ENTRY).judge(finding(check="align.completion-ids"))

    assert Standing.UNEXPECTED == verdict.standing


def test_an_error_is_never_excused(tmp_path: Path) -> None:
    assert read(tmp_path, ENTRY).judge(finding(Outcome.ERROR)).standing is None


def test_an_untested_requirement_is_never_excused(tmp_path: Path) -> None:
    assert read(tmp_path, ENTRY).judge(finding(Outcome.UNTESTED)).standing is None


def test_an_entry_that_passes_now_is_stale(tmp_path: Path) -> None:
    known = read(tmp_path, ENTRY)
    known.judge(finding(Outcome.PASS))

    assert ["fakellm-baseline.yaml: entry 1"] == [entry.where for entry in known.stale()]


def test_an_entry_that_was_not_run_is_not_stale(tmp_path: Path) -> None:
    known = read(tmp_path, ENTRY)
    known.judge(finding(Outcome.PASS, case=CASES[0]))

    assert () == known.stale()


def test_an_entry_that_fails_in_one_case_and_passes_in_others_still_holds(tmp_path: Path) -> None:
    known = read(tmp_path, "- {check: align.logprobs, case: 'ids/*', reason: x}")
    known.judge(finding(Outcome.PASS, case=CASES[0]))
    known.judge(finding(case=CASES[1]))

    assert () == known.stale()


def test_a_flaky_entry_may_pass(tmp_path: Path) -> None:
    known = read(tmp_path, ENTRY.replace("}", ", flaky: true}"))
    known.judge(finding(Outcome.PASS))

    assert () == known.stale()


def test_an_expired_entry_is_ignored_and_named(tmp_path: Path) -> None:
    known = read(tmp_path, ENTRY.replace("}", ", expires: 2026-11-28}"))

    assert Standing.UNEXPECTED == known.judge(finding()).standing
    assert ["fakellm-baseline.yaml: entry 1"] == [entry.where for entry in known.expired()]


def test_an_entry_holds_through_its_last_day(tmp_path: Path) -> None:
    known = read(tmp_path, ENTRY.replace("}", ", expires: 2026-11-29}"))

    assert Standing.EXPECTED == known.judge(finding()).standing


def test_a_flaky_and_a_firm_entry_for_one_finding_contradict_each_other(tmp_path: Path) -> None:
    known = read(tmp_path, f"{ENTRY}\n- {{check: align.logprobs, case: '**', reason: y, flaky: true}}")

    with pytest.raises(UsageError, match=r"entry 1 and .*entry 2") as caught:
        known.judge(finding())
    assert 4 == caught.value.exit_code


def test_an_entry_survives_the_rename_of_its_case(tmp_path: Path) -> None:
    known = read(tmp_path, ENTRY.replace("scores/**", "scores/tardy"), former={CASES[2]: ["scores/tardy"]})

    assert Standing.EXPECTED == known.judge(finding()).standing


def test_an_entry_may_cover_findings_about_the_run(tmp_path: Path) -> None:
    known = read(tmp_path, "- {check: capture.yield, case: run, reason: x}")

    assert Standing.EXPECTED == known.judge(finding(check="capture.yield", case="run")).standing


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ENTRY.replace("align.logprobs", "align.logprob"), "did you mean 'align.logprobs'?"),
        (ENTRY.replace("scores/**", "score/late"), "did you mean 'scores/late'?"),
        (ENTRY.replace("reason", "reasn"), "reason"),
        (ENTRY.replace("reason: the helper stops reading", "reason: ''"), "reason"),
        (ENTRY.replace("}", ", isue: x}"), "did you mean 'issue'?"),
        ("entries: 3", "neither a list"),
        ("- [", "fakellm-baseline.yaml"),
        ("- just text", "entry"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)

    assert words in str(caught.value)
    assert 4 == caught.value.exit_code


def test_todo_is_refused_in_ci_only(tmp_path: Path) -> None:
    text = ENTRY.replace("the helper stops reading", "TODO")

    assert 1 == len(read(tmp_path, text).entries)
    with pytest.raises(UsageError, match="TODO"):
        read(tmp_path, text, ci=True)


def test_an_empty_file_excuses_nothing(tmp_path: Path) -> None:
    assert Standing.UNEXPECTED == read(tmp_path, "").judge(finding()).standing


def test_what_is_written_reads_back_and_covers_todays_failures(tmp_path: Path) -> None:
    failing = [
        finding(case=CASES[0]),
        finding(case=CASES[1]),
        finding(),
        finding(check="align.completion-ids", case=CASES[1]),
    ]
    text = baseline.written(failing, [("align.completion-ids", CASES[0])])

    known = read(tmp_path, text)

    assert [Standing.EXPECTED] * 4 == [known.judge(one).standing for one in failing]
    assert Standing.UNEXPECTED == known.judge(finding(check="align.completion-ids", case=CASES[2])).standing
    assert ["ids/null[api=chat,stream=true]", "ids/null", "scores/late"] == [
        entry.model.case for entry in known.entries
    ]
    assert {"TODO"} == {entry.model.reason for entry in known.entries}
