"""The one family of errors that fakellm shows to a person.

Every error says what is wrong (``message``), where (``where``: file, line, field), what to do (``hint``), who is to
blame (``blame``) and with which code the command line ends (``exit_code``, CONFORMANCE section 7). The command line
and the admin API print them; nothing else catches them. This module knows nothing of HTTP, layouts or files.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class FakellmError(Exception):
    """Something a user can mend. ``str(error)`` is the whole text that is shown."""

    blame = "usage"
    exit_code = 4

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        head = f"{self.where}: {self.message}" if self.where else self.message
        return f"{head}\n  hint: {self.hint}" if self.hint else head


class UsageError(FakellmError):
    """A command line, an option or a name that does not exist."""


class ScenarioError(FakellmError):
    """A scenario file that cannot be used: its ``where`` names file, line and field."""

    blame = "your scenario"


class CaptureError(FakellmError):
    """A golden folder, recording or report that cannot be read."""

    blame = "your file"


class TokenizerError(FakellmError):
    """A tokenizer that is not there or cannot be read, or text it cannot encode."""


class LayoutError(FakellmError):
    """A layout that is not known, or launch options that the vendor does not have."""


class FaultError(FakellmError):
    """A fault that is not known, whose parameters are wrong, or that does not apply where it was asked for."""


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """``did you mean 'x'?`` for the closest of ``known``, or None when nothing is close."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else None
