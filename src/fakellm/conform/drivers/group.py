"""Programs of others: their words, and their end with everything that they started.

Where a system has process groups a program leads one of its own, so that what it started ends with it; elsewhere
(Windows) it alone is ended. Knows no case and no protocol.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from asyncio.subprocess import Process
from collections.abc import Sequence
from contextlib import suppress

LEADS = hasattr(os, "killpg") and hasattr(os, "setsid")
"""Whether this system has process groups: what ``start_new_session`` is given."""


def split(command: str, *, separator: str = os.sep) -> list[str]:
    """The words of a command line, as a shell splits them; a backslash is a letter where it separates folders."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    if separator == "\\":
        lexer.escape = ""
    return list(lexer)


def join(words: Sequence[str], *, separator: str = os.sep) -> str:
    """Words as a command line that can be pasted into this system's shell."""
    return subprocess.list2cmdline(words) if separator == "\\" else shlex.join(words)


def terminate(process: Process) -> None:
    """Ask it to end; on a system without signals it just ends."""
    with suppress(ProcessLookupError, PermissionError):
        if LEADS:
            os.killpg(process.pid, signal.SIGTERM)
        else:
            process.terminate()


def kill(process: Process) -> None:
    """End it at once."""
    with suppress(ProcessLookupError, PermissionError):
        if LEADS:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
