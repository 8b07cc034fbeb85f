"""A server under measurement: a process of its own, its CPU time and memory read from the system.

CPU time is user and system time of the process with all its children and threads, so the load generator does not count
and another program on the machine hardly does. Linux only (``/proc``). Knows no scenario and no peer.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 30.0
"""Seconds that a server has to begin listening."""


class BenchError(Exception):
    """Something could not be measured; the message says what and why in one line."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: where it listens and how to ask the system about it."""

    process: subprocess.Popen[bytes]
    port: int
    listening_after: float

    def cpu_seconds(self) -> float:
        """User and system time so far, children and threads included."""
        return sum(_cpu_of(process) for process in self._family())

    def resident_mb(self) -> float:
        """Megabytes that lie in memory, children included."""
        return round(sum(_resident_of(process) for process in self._family()), 1)

    def _family(self) -> list[int]:
        found = [self.process.pid]
        for process in found:
            found.extend(child for child, parent in _parents().items() if parent == process)
        return found

    def stop(self) -> None:
        """End it and whatever it started."""
        family = self._family()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        for orphan in family[1:]:
            if _parents().get(orphan) is not None:
                os.kill(orphan, 9)


@contextmanager
def serving(command: Sequence[str], *, port: int | None = None, folder: Path | None = None) -> Generator[Server]:
    """A server for as long as the block lasts. ``port`` None: it prints a readiness line with its ``url``, as fakellm
    does; otherwise it is asked until it listens there. Raises BenchError with its last words when it does not start."""
    with tempfile.TemporaryFile() as log:
        began = time.monotonic()
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdout=subprocess.PIPE if port is None else log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        except OSError as missing:
            raise BenchError(f"cannot be started: {missing.strerror}") from None
        server: Server | None = None
        try:
            at = _readiness(process, log) if port is None else _listening(process, port, log)
            server = Server(process, at, time.monotonic() - began)
            yield server
        finally:
            (server or Server(process, 0, 0.0)).stop()


def free_port() -> int:
    """A port that nobody listens on right now, for servers that cannot choose one themselves and say so."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _readiness(process: subprocess.Popen[bytes], log: IO[bytes]) -> int:
    assert process.stdout is not None
    line = process.stdout.readline()
    try:
        told: dict[str, Any] = json.loads(line)
        return int(str(told["url"]).rsplit(":", 1)[1])
    except (ValueError, KeyError, TypeError):
        raise BenchError(f"did not start: {_last_words(log)}") from None


def _listening(process: subprocess.Popen[bytes], port: int, log: IO[bytes]) -> int:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise BenchError(f"ended with {process.returncode}: {_last_words(log)}")
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return port
        except OSError:
            time.sleep(0.005)
    raise BenchError(f"did not listen within {PATIENCE:.0f} s: {_last_words(log)}")


def _last_words(log: IO[bytes]) -> str:
    log.seek(0)
    lines = [line for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else "it said nothing"


def _cpu_of(process: int) -> float:
    """Seconds, from the scheduler's own count (nanoseconds) of every thread; where the system keeps none, in ticks."""
    try:
        threads = [each.read_text() for each in Path(f"/proc/{process}/task").glob("*/schedstat")]
        if threads:
            return sum(int(each.split()[0]) for each in threads) / 1e9
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(int(field) for field in fields[11:15]) / TICKS
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def _resident_of(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except FileNotFoundError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), 0.0)


def _parents() -> dict[int, int]:
    """Child -> parent of every process that can be seen."""
    found: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(status.parent.name)] = int(status.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    return found
