"""The recipes for pytest run as they stand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "pytest"


def test_the_recipe_that_aborts_passes(tmp_path: Path) -> None:
    """Outside this suite's own settings, as a reader would run it."""
    (tmp_path / "test_abort.py").write_text((EXAMPLES / "test_abort.py").read_text())

    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_abort.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == ended.returncode, ended.stdout + ended.stderr
    assert "1 passed" in ended.stdout
