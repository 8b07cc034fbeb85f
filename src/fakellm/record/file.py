"""``exchanges.jsonl``: appended to line by line, each on the disk before it counts, and read back whatever happened.

A recorder that was killed in mid-write leaves a last line without its end. Reading skips it and says so; appending
begins a line of its own after it. Nothing that was written is ever changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from pydantic import BaseModel

from ..errors import CaptureError, UsageError
from ..generation import Generation
from .line import spelled


class _Request(BaseModel):
    method: str
    path: str
    headers: list[tuple[str, str]]
    raw: str | None = None


class _Response(BaseModel):
    status: int
    headers: list[tuple[str, str]]
    body: str
    truncated: bool


class _Line(BaseModel):
    """What reading relies on; other members stay as they are."""

    name: str
    truth: list[dict[str, Any]] | None
    kind: str | None
    note: str | None
    ending: str
    request: _Request
    response: _Response


@dataclass(frozen=True, slots=True)
class Recording:
    """What a file holds. ``broken``: numbers (from 1) of lines that are no exchange: a recorder was killed there."""

    lines: tuple[Mapping[str, Any], ...]
    broken: tuple[int, ...] = ()


def read(path: Path) -> Recording:
    """Every complete line; raises CaptureError for a file that is not there or holds something else."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise CaptureError(f"the recording cannot be read: {problem.strerror or problem}", where=str(path)) from None
    rows: list[Mapping[str, Any]] = []
    broken: list[int] = []
    for number, text in enumerate(data.split(b"\n"), 1):
        if not text.strip():
            continue
        row = _row(text)
        if row is None:
            broken.append(number)
        else:
            rows.append(row)
    if broken and not rows:
        raise CaptureError("the file holds no recorded exchange", where=str(path))
    return Recording(tuple(rows), tuple(broken))


def _row(text: bytes) -> Mapping[str, Any] | None:
    try:
        row: Any = json.loads(text)
        for truth in _Line.model_validate(row).truth or ():
            steps = [each.steps for each in Generation.from_truth(truth).choices]
            if steps != [tuple(choice["chunks"]) for choice in truth["choices"]]:
                return None
    except (ValueError, RecursionError, LookupError, TypeError, CaptureError):
        return None
    return cast("dict[str, Any]", row)


class Appender:
    """The file while it is written. ``append`` returns when the line is on the disk. A context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = len(read(path).lines) if path.exists() and path.stat().st_size else 0
        """Exchanges in the file."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        except OSError as problem:
            raise UsageError(f"cannot write the recording: {problem.strerror}", where=str(path)) from None
        size = os.fstat(self._file).st_size
        self._torn = bool(size) and not path.read_bytes().endswith(b"\n")

    def append(self, line: Mapping[str, Any]) -> None:
        """Raises OSError where the disk takes no more; what it took of the line stands alone then."""
        data = b"\n" + spelled(line) if self._torn else spelled(line)
        self._torn = True
        while data:
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)
        self._torn = False
        self.count += 1

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
