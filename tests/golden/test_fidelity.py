"""The whole packed library against the layouts: nothing differs but what is listed, with its reason."""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from fakellm.fidelity.compare import DIFFERS
from fakellm.fidelity.run import Report, run
from fakellm.resources import resource

KNOWN = Path(__file__).with_name("known_differences.txt")


def known_differences() -> dict[str, str]:
    """Pattern of folder/name -> reason."""
    rows = (line for line in KNOWN.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    return {pattern: reason.strip() for pattern, _, reason in (row.partition(" ") for row in rows)}


@pytest.fixture(scope="module")
def report() -> Report:
    return run([resource("golden")])


@pytest.fixture(scope="module")
def differing(report: Report) -> dict[str, str]:
    """folder/name -> where and how it differs."""
    return {
        f"{entry.folder}/{entry.name}": f"at {entry.verdict.where}: {entry.verdict.detail}"
        for entry in report.judged
        if entry.verdict.verdict == DIFFERS
    }


def test_every_recorded_exchange_is_judged(report: Report) -> None:
    """1,997: all of the library but the captures of gateways."""
    assert 1997 == len(report.judged)


def test_nothing_differs_but_what_is_known(differing: dict[str, str]) -> None:
    known = known_differences()

    assert {} == {
        name: how for name, how in differing.items() if not any(fnmatchcase(name, pattern) for pattern in known)
    }


def test_what_is_known_to_differ_still_does(differing: dict[str, str]) -> None:
    """A line that matches nothing any more is taken out of known_differences.txt."""
    assert [] == [
        pattern for pattern in known_differences() if not any(fnmatchcase(name, pattern) for name in differing)
    ]


def test_every_known_difference_has_a_reason() -> None:
    assert [] == [pattern for pattern, reason in known_differences().items() if len(reason) < 10]
