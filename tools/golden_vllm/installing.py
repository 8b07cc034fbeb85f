"""pip as a child process that is seen to work: what it says goes to a log, whose last line is told now and then.

Knows pip, nothing of vLLM.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from fakellm.errors import FakellmError

HEARTBEAT_SECONDS = 15.0
"""pip may say nothing for a minute while it unpacks torch; a person wonders sooner."""

LAST_LINES = 6
NOT_THERE = ("No matching distribution found", "ResolutionImpossible")
"""What pip says when no index has the version that was asked for, and when a constraint of this machine forbids it."""

Say = Callable[[str], None]


class InstallError(FakellmError):
    """It could not be installed; the message ends with the installer's last words.

    ``absent``: it is not to be had here, in contrast to an index that could not be reached or a disk that is full.
    """

    def __init__(self, message: str, *, hint: str | None = None, absent: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.absent = absent


def install(python: Path, *wanted: str, log: Path, say: Say) -> None:
    """``pip install`` these requirements with that Python; raises InstallError. ``log``: gets pip's words."""
    quiet = ("--no-input", "--progress-bar", "off", "--disable-pip-version-check")
    command = [str(python), "-m", "pip", "install", *quiet, *wanted]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as words:
        process = subprocess.Popen(command, stdout=words, stderr=subprocess.STDOUT)
        try:
            code = _watched(process, log, say)
        except BaseException:
            process.kill()
            process.wait()
            raise
    if code != 0:
        text = log.read_text(errors="replace")
        raise InstallError(
            f"pip could not install {wanted[-1]}:\n" + "\n".join(text.strip().splitlines()[-LAST_LINES:]),
            hint=f"everything that pip said is in {log.name}",
            absent=any(one in text for one in NOT_THERE),
        )


def _watched(process: subprocess.Popen[bytes], log: Path, say: Say) -> int:
    started = time.monotonic()
    while True:
        try:
            return process.wait(HEARTBEAT_SECONDS)
        except subprocess.TimeoutExpired:
            say(f"  {time.monotonic() - started:.0f} s: {_last_line(log)}")


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1].strip()[:100] if lines else "pip starts"
