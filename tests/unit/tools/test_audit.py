"""make audit: holes are red, and so is a run that looked nothing up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import audit
import pytest

CLEAN: dict[str, Any] = {"name": "aiohttp", "version": "3.14.5", "vulns": []}
HOLED = {"name": "jinja2", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.1"]}]}
SKIPPED = {"name": "rich", "skip_reason": "Dependency not found on PyPI"}


@pytest.mark.parametrize(
    "rows, code, words",
    [
        ([CLEAN], 0, "1 packages audited, 0 not, 0 known holes"),
        ([CLEAN, HOLED], 1, "jinja2 2.0: PYSEC-1 (mended in 3.1)"),
        ([CLEAN, SKIPPED], 5, "not audited: rich (Dependency not found on PyPI)"),
        ([SKIPPED], 5, "NOTHING WAS AUDITED"),
        ([], 5, "NOTHING WAS AUDITED"),
    ],
)
def test_what_a_report_comes_to(rows: list[dict[str, Any]], code: int, words: str) -> None:
    found = audit.Audit.from_json({"dependencies": rows})

    assert code == found.exit_code
    assert words in "\n".join(found.lines())


def test_an_auditor_that_breaks_is_red(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit('no network')")

    assert 5 == audit.main([sys.executable, str(broken)])
    assert "no network" in capsys.readouterr().out
