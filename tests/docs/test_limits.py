"""The page of limits tells every guard that the tests take out, and none that they do not."""

from __future__ import annotations

import limit_rows

from support.guards import GUARDS


def test_every_guard_is_told_and_every_told_one_is_tested() -> None:
    told = [name for _, rows in limit_rows.sections() for row in rows for name in row.guards]

    assert len(told) == len(set(told))
    assert {guard.name for guard in GUARDS} == set(told)


def test_every_row_says_what_happens_beyond() -> None:
    assert all(row.what and row.beyond for _, rows in limit_rows.sections() for row in rows)
