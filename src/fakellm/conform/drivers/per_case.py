"""``--per-case``: the command runs once per case, so that any test program of a client is an adapter.

It gets FAKELLM_BASE_URL, FAKELLM_ROOT_URL, FAKELLM_CASE and FAKELLM_REQUEST in its environment and the base URL as its
last argument. When its last line on stdout is a JSON capture, that is judged; otherwise only what it sent is.
"""

from __future__ import annotations

import asyncio
import json
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath

from ...capture import VALUES
from ..observation import Ending, Kind, Supports
from ..protocol import RunnerError, read_capture_line
from . import group
from .base import Errand, Patience, Reply

STDOUT_LIMIT = 16 * 1024 * 1024


class PerCaseDriver:
    """Runs ``command`` anew for every errand. It declares nothing, so every API and value may arise."""

    def __init__(
        self, command: Sequence[str], *, patience: Patience | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.command = tuple(command)
        self.patience = patience or Patience()
        self.environment = os.environ if environment is None else environment
        self.problems: list[RunnerError] = []

    async def start(self) -> Supports:
        name = PurePath(list(self.command)[-1]).name
        return Supports(name=name, apis=frozenset({"chat"}), captures=frozenset(VALUES))

    async def run(self, errand: Errand) -> Reply:
        environment = {
            **self.environment,
            "FAKELLM_BASE_URL": errand.base_url,
            "FAKELLM_ROOT_URL": errand.root_url,
            "FAKELLM_CASE": errand.case,
            "FAKELLM_REQUEST": json.dumps(errand.request, ensure_ascii=False),
        }
        try:
            process = await asyncio.create_subprocess_exec(
                *self.command,
                errand.base_url,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                env=environment,
                start_new_session=group.LEADS,
            )
        except OSError as failure:
            raise RunnerError(
                "start-failed", f"cannot start {self.command[0]!r}: {failure.strerror or failure}", case=errand.case
            ) from None
        waited = errand.deadline_ms / 1000 + self.patience.answer
        try:
            async with asyncio.timeout(waited):
                out, err = await process.communicate()
        except TimeoutError:
            await _kill(process)
            raise RunnerError("no-answer", f"the command still ran after {waited:g} s", case=errand.case) from None
        stderr = err.decode("utf-8", errors="replace")
        return Reply(_ending(out, process.returncode or 0, stderr), stderr)

    async def stop(self) -> None:
        """Nothing runs between cases."""


def _ending(out: bytes, code: int, stderr: str) -> Ending:
    """A JSON line is the capture; else the exit code tells whether the command crashed."""
    lines = [line for line in out[-STDOUT_LIMIT:].decode("utf-8", errors="replace").splitlines() if line.strip()]
    if lines and lines[-1].lstrip()[:1] in ("{", "["):
        with suppress(json.JSONDecodeError):
            json.loads(lines[-1])
            return read_capture_line(lines[-1]).ending()
    if code != 0:
        last = next((line for line in reversed(stderr.splitlines()) if line.strip()), "")
        return Ending(
            kind=Kind.ERRORED, message=f"the command ended with {code}: {last}".rstrip(": "), traceback=stderr
        )
    return Ending(kind=Kind.REQUEST_ONLY, message="the command printed no capture; only its request is judged")


async def _kill(process: Process) -> None:
    group.kill(process)
    await process.wait()
