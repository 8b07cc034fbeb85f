"""Starting a gateway for the sandwich and waiting until it is ready; setup failures are their own class.

The command is a template with ``{upstream}`` (the fake's root URL without /v1) and ``{port}`` (where to listen on
loopback). It is split as a shell splits words, no shell runs. Only the process started here is ended.
"""

from __future__ import annotations

import asyncio
import socket
import time
from asyncio.subprocess import PIPE, STDOUT, Process
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from ...errors import FakellmError, UsageError
from . import group
from .http import post

POLL_SECONDS = 0.05


class SetupError(FakellmError):
    """The gateway could not be started or never became ready: nothing was judged."""

    blame = "the gateway's setup"
    exit_code = 3


class GatewayProcess:
    """A gateway under test. ``async with`` starts it, waits for it, and ends it."""

    def __init__(self, template: str, upstream: str, *, ready: str | None = None, timeout: float = 60.0) -> None:
        for name in ("{upstream}", "{port}"):
            if name not in template:
                raise UsageError(
                    f"--start has no {name}", hint="fakellm conform gateway --start 'cmd {upstream} {port}'"
                )
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        words = group.split(template)
        self.command = [word.replace("{upstream}", upstream).replace("{port}", str(self.port)) for word in words]
        self._ready = None if ready is None else ready.replace("{port}", str(self.port))
        self._timeout = timeout
        self._process: Process | None = None
        self._output: deque[str] = deque(maxlen=200)
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> GatewayProcess:
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.command, stdout=PIPE, stderr=STDOUT, start_new_session=group.LEADS
            )
        except OSError as failure:
            raise SetupError(f"cannot start {self.command[0]!r}: {failure.strerror or failure}") from None
        self._reader = asyncio.create_task(self._read(self._process))
        try:
            await self._wait(self._process)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        process = self._process
        if process is None:
            return
        await _end(process, group.terminate, 3.0)
        await _end(process, group.kill, 3.0)
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)

    @property
    def output(self) -> str:
        """Its last lines on stdout and stderr."""
        return "\n".join(self._output)

    async def _wait(self, process: Process) -> None:
        end = time.monotonic() + self._timeout
        while not await self._is_ready():
            if process.returncode is not None:
                raise SetupError(f"the gateway ended with {process.returncode} before it was ready", hint=self._last())
            if time.monotonic() > end:
                raise SetupError(f"the gateway was not ready within {self._timeout:g} s", hint=self._last())
            await asyncio.sleep(POLL_SECONDS)

    async def _is_ready(self) -> bool:
        if self._ready is not None:
            answer = await post(self._ready, b"", method="GET", timeout=2.0)
            return 200 <= answer.status < 300
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return True

    async def _read(self, process: Process) -> None:
        assert process.stdout is not None
        with suppress(ValueError):
            while raw := await process.stdout.readline():
                self._output.append(raw.decode("utf-8", errors="replace").rstrip("\n"))

    def _last(self) -> str | None:
        lines = [line for line in self._output if line.strip()]
        return f"its last words: {' | '.join(lines[-3:])[:600]}" if lines else None


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def _end(process: Process, how: Callable[[Process], None], patience: float) -> None:
    if process.returncode is not None:
        return
    how(process)
    with suppress(TimeoutError):
        async with asyncio.timeout(patience):
            await process.wait()
