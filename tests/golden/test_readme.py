"""README.md's table of what is covered is true: its numbers are measured anew and compared."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_numbers_are_what_is_measured() -> None:
    done = subprocess.run(
        [sys.executable, "tools/readme_numbers.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert 0 == done.returncode, done.stdout + done.stderr
