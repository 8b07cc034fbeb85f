"""A client behind a child process that speaks JSON lines: the default driver.

Answers may come out of order, up to ``max_parallel`` at once. Whatever the adapter does wrong has a name: no-answer,
early-exit, unknown-seq, duplicate-seq, not-json, schema-violation, version-mismatch, flood, hang-on-stop, start-failed.
After a wrong line or a silence the process is ended and, a few times, started anew, so that one bad case does not
take the rest with it. Only processes started here are ended, each by its own id.
"""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..observation import Supports
from ..protocol import LINE_LIMIT, AnswerModel, RunnerError, StartModel, read_answer, read_started, shortened
from . import group
from .base import Errand, Patience, Reply

MAX_RESTARTS = 3
MAX_PROBLEMS = 50
"""So many stray answers are a flood."""
STDERR_LINES = 200
CLOSED_STDOUT = 2.0
"""Seconds that a process may live on after the end of its stdout; no answer can come from it any more."""


class ProcessDriver:
    """Drives one command. ``environment`` None = the caller's own, as the contract has it."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        suite: str,
        patience: Patience | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.command = tuple(command)
        self.suite = suite
        self.patience = patience or Patience()
        self.environment = environment
        self.problems: list[RunnerError] = []
        self._process: Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._pending: dict[int | str, asyncio.Future[AnswerModel]] = {}
        self._cases: dict[int | str, str] = {}
        self._answered: set[int | str] = set()
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._stderr_count = 0
        self._restarts = 0
        self._ended_by_us = False
        self._supports: Supports | None = None
        self._given_up: RunnerError | None = None
        self._last_failure: RunnerError | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> Supports:
        """Start the process and ask who it is."""
        await self._spawn()
        assert self._supports is not None
        return self._supports

    async def run(self, errand: Errand) -> Reply:
        """Send one errand and wait for its answer, at most its deadline and the driver's patience."""
        await self._ready()
        pending: asyncio.Future[AnswerModel] = asyncio.get_running_loop().create_future()
        self._pending[errand.seq] = pending
        self._cases[errand.seq] = errand.case
        mark = self._stderr_count
        try:
            await self._send(errand.line())
            async with asyncio.timeout(errand.deadline_ms / 1000 + self.patience.answer):
                answer = await pending
            return Reply(answer.ending(), self._stderr_since(mark))
        except TimeoutError:
            waited = errand.deadline_ms / 1000 + self.patience.answer
            await self._end()
            self._last_failure = RunnerError(
                "no-answer",
                f"the adapter gave no answer within {waited:g} s",
                case=errand.case,
                hint=self._last_words(),
            )
            raise self._last_failure from None
        finally:
            self._pending.pop(errand.seq, None)
            self._answered.add(errand.seq)

    async def stop(self) -> None:
        """Say stop and wait; an adapter that stays gets killed and named."""
        process = self._process
        if process is None or self._ended_by_us or process.returncode is not None:
            await self._end()
            return
        try:
            with suppress(RunnerError):
                await self._send({"cmd": "stop"})
            async with asyncio.timeout(self.patience.stop):
                assert process.stdin is not None
                process.stdin.close()
                code = await process.wait()
                await asyncio.gather(*self._tasks, return_exceptions=True)
        except TimeoutError:
            await self._end()
            raise RunnerError(
                "hang-on-stop",
                f"the adapter still ran {self.patience.stop:g} s after stop",
                hint="exit with 0 on stop, and when stdin ends",
            ) from None
        if code != 0:
            raise RunnerError("early-exit", f"the adapter ended with {code} on stop", hint=self._last_words())

    async def _ready(self) -> None:
        """A running process: the one there is, or a new one after a failure, as long as restarts are left."""
        async with self._starting:
            if self._process is not None and self._process.returncode is None and not self._ended_by_us:
                return
            if self._given_up is None and self._restarts < MAX_RESTARTS:
                self._restarts += 1
                try:
                    await self._spawn()
                    return
                except RunnerError as failure:
                    self._given_up = failure
            if self._given_up is None:
                self._given_up = self._too_often()
            raise RunnerError(self._given_up.name, self._given_up.message, hint=self._last_words())

    def _too_often(self) -> RunnerError:
        """Named for what the adapter did last: a reader looks for that, not for our giving up."""
        often = f"the adapter failed {self._restarts + 1} times and was not started again"
        last = self._last_failure
        return RunnerError("early-exit", often) if last is None else RunnerError(last.name, f"{often}: {last.message}")

    async def _spawn(self) -> None:
        await self._end()
        self._ended_by_us = False
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                limit=LINE_LIMIT,
                env=None if self.environment is None else dict(self.environment),
                start_new_session=group.LEADS,
            )
        except OSError as failure:
            raise RunnerError(
                "start-failed",
                f"cannot start {self.command[0]!r}: {failure.strerror or failure}",
                hint="is it on PATH?",
            ) from None
        self._tasks = [asyncio.create_task(self._read_stderr(self._process))]
        try:
            async with asyncio.timeout(self.patience.start):
                await self._send(StartModel(suite=self.suite).model_dump())
                line = await self._line(self._process)
        except TimeoutError:
            await self._end()
            raise RunnerError(
                "no-answer", f"no answer to start within {self.patience.start:g} s", hint=self._last_words()
            ) from None
        except RunnerError:
            await self._end()
            raise
        if line is None:
            how = await self._ended(self._process)
            raise RunnerError("early-exit", f"the adapter {how} before it answered start", hint=self._last_words())
        try:
            self._supports = read_started(line)
        except RunnerError:
            await self._end()
            raise
        self._tasks.append(asyncio.create_task(self._read_answers(self._process)))

    async def _send(self, message: Mapping[str, Any]) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # the reader sees the end of its stdout and names the failure

    async def _line(self, process: Process) -> str | None:
        """The next line that is not blank; None at the end of stdout."""
        assert process.stdout is not None
        while True:
            try:
                raw = await process.stdout.readline()
            except ValueError:
                raise RunnerError(
                    "flood", f"the adapter wrote a line of more than {LINE_LIMIT // 2**20} MB to stdout"
                ) from None
            if not raw:
                return None
            if raw.strip():
                return raw.decode("utf-8", errors="replace")

    async def _read_answers(self, process: Process) -> None:
        """Give every answer to whom it belongs; the first line that cannot be read ends the process."""
        try:
            while (line := await self._line(process)) is not None:
                self._deliver(read_answer(line), line)
                if len(self.problems) > MAX_PROBLEMS:
                    raise RunnerError(
                        "flood", f"the adapter gave more than {MAX_PROBLEMS} answers that nobody asked for"
                    )
        except RunnerError as failure:
            self._fail_pending(failure)
            self._kill(process)
            return
        how = await self._ended(process)
        self._fail_pending(RunnerError("early-exit", f"the adapter {how}", hint=self._last_words()))

    async def _ended(self, process: Process) -> str:
        """How a process whose stdout is at its end went; one that only closed it is ended here."""
        try:
            async with asyncio.timeout(CLOSED_STDOUT):
                how = f"ended with {await process.wait()}"
        except TimeoutError:
            self._kill(process)
            await process.wait()
            how = "closed its stdout"
        await asyncio.wait(self._tasks[:1], timeout=CLOSED_STDOUT)  # its last words; a child of its own may hold stderr
        return how

    def _deliver(self, answer: AnswerModel, line: str) -> None:
        pending = self._pending.get(answer.seq)
        if pending is not None and not pending.done():
            pending.set_result(answer)
        elif answer.seq in self._answered or pending is not None:
            self._problem("duplicate-seq", f"a second answer to seq {answer.seq!r}: {shortened(line)}", answer.seq)
        else:
            self._problem(
                "unknown-seq", f"an answer to seq {answer.seq!r}, which was never sent: {shortened(line)}", None
            )

    def _problem(self, name: str, message: str, seq: int | str | None) -> None:
        case = self._cases.get(seq) if seq is not None else next((self._cases[open_] for open_ in self._pending), None)
        self.problems.append(RunnerError(name, message, case=case))

    def _fail_pending(self, failure: RunnerError) -> None:
        open_ = [seq for seq, future in self._pending.items() if not future.done()]
        self._last_failure = failure
        if not open_ and failure.name != "early-exit":
            self.problems.append(failure)
        for seq in open_:
            self._pending[seq].set_exception(
                RunnerError(failure.name, failure.message, case=self._cases.get(seq), hint=failure.hint)
            )

    async def _read_stderr(self, process: Process) -> None:
        assert process.stderr is not None
        with suppress(ValueError):
            while raw := await process.stderr.readline():
                self._stderr_count += 1
                self._stderr.append(raw.decode("utf-8", errors="replace").rstrip("\n"))

    def _stderr_since(self, count: int) -> str:
        fresh = min(self._stderr_count - count, len(self._stderr))
        return "\n".join(list(self._stderr)[len(self._stderr) - fresh :])

    def _last_words(self) -> str | None:
        lines = [line for line in self._stderr if line.strip()]
        return f"its last words on stderr: {lines[-1][:300]}" if lines else None

    def _kill(self, process: Process) -> None:
        """End the process that we started, and the group that it leads."""
        self._ended_by_us = True
        if process.returncode is not None:
            return
        group.kill(process)

    async def _end(self) -> None:
        if self._process is None:
            return
        self._kill(self._process)
        await self._process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
