"""The word of a run and its exit code, row by row as the contract's table has them."""

import pytest

from fakellm.conform.finding import Finding, Level, Outcome
from fakellm.conform.verdict import Exit, Standing, Tally, Verdict, Word, summary

PASS = (Level.MUST, Outcome.PASS, None)
MUST = (Level.MUST, Outcome.FAIL, Standing.UNEXPECTED)
KNOWN = (Level.MUST, Outcome.FAIL, Standing.EXPECTED)
WARN = (Level.SHOULD, Outcome.FAIL, Standing.UNEXPECTED)
NOTE = (Level.INFO, Outcome.FAIL, Standing.UNEXPECTED)
UNTESTED = (Level.MUST, Outcome.UNTESTED, None)
UNTESTED_SHOULD = (Level.SHOULD, Outcome.UNTESTED, None)
ERROR = (Level.MUST, Outcome.ERROR, None)
ABSENT = (Level.MUST, Outcome.NOT_APPLICABLE, None)


def tally(*rows: tuple[Level, Outcome, Standing | None], exchanges: int = 1, cases: int = 1) -> Tally:
    made = Tally(cases=cases, exchanges=exchanges)
    for level, outcome, standing in rows:
        made.add(Verdict(Finding(check="a.b", level=level, outcome=outcome), standing))
    return made


@pytest.mark.parametrize(
    ("rows", "word", "exit_code", "strict"),
    [
        ([PASS], Word.CONFORMANT, 0, 0),
        ([PASS, NOTE, ABSENT], Word.CONFORMANT, 0, 0),
        ([PASS, UNTESTED_SHOULD], Word.CONFORMANT, 0, 0),
        ([PASS, WARN], Word.WITH_WARNINGS, 0, 1),
        ([PASS, WARN, UNTESTED], Word.PARTIAL, 1, 1),
        ([PASS, MUST], Word.NONCONFORMANT, 1, 1),
        ([PASS, KNOWN], Word.NONCONFORMANT, 0, 0),
        ([PASS, KNOWN, MUST], Word.NONCONFORMANT, 1, 1),
        ([PASS, KNOWN, UNTESTED], Word.NONCONFORMANT, 1, 1),
        ([PASS, ERROR], Word.INCONCLUSIVE, 3, 3),
        ([PASS, ERROR, UNTESTED], Word.INCONCLUSIVE, 3, 3),
        ([PASS, MUST, ERROR], Word.NONCONFORMANT, 3, 3),
        ([PASS, KNOWN, ERROR], Word.NONCONFORMANT, 3, 3),
    ],
)
def test_word_and_exit(
    rows: list[tuple[Level, Outcome, Standing | None]], word: Word, exit_code: int, strict: int
) -> None:
    made = tally(*rows)

    assert word == made.word()
    assert exit_code == made.exit_code()
    assert strict == made.exit_code(strict=True)


def test_a_stale_entry_is_red() -> None:
    assert Exit.RED == tally(PASS).exit_code(stale=1)


@pytest.mark.parametrize(
    "made",
    [Tally(), tally(PASS, cases=0), tally(PASS, exchanges=0), tally(ABSENT), tally(UNTESTED)],
    ids=["no cases", "no case ended", "nobody called", "no check applied", "all untested"],
)
def test_nothing_ran_is_never_green(made: Tally) -> None:
    assert Exit.NOTHING_RAN == made.exit_code()
    assert Word.INCONCLUSIVE == made.word()


def test_a_baseline_cannot_excuse_a_client_that_never_called() -> None:
    assert Exit.NOTHING_RAN == tally(KNOWN, exchanges=0).exit_code()


def test_the_json_object_has_the_contracted_keys() -> None:
    made = tally(PASS, MUST, WARN, NOTE, UNTESTED, ABSENT, ERROR)
    finding = Finding(check="align.logprobs", level=Level.MUST, outcome=Outcome.FAIL, case="a/b", where="choices[0]")

    shown = summary(made, Exit.ERROR, [Verdict(finding, Standing.UNEXPECTED)])

    assert {
        "verdict": "nonconformant",
        "exit": 3,
        "usable": [0, 0],
        "counts": {"pass": 1, "fail": 1, "warn": 1, "note": 1, "untested": 1, "na": 1, "error": 1},
        "failing": [{"case": "a/b", "check": "align.logprobs", "level": "MUST", "where": "choices[0]"}],
    } == shown
