"""``conform client``: which driver reaches the client, and a run against it.

result = await conform_client(ClientTarget(command=("python", "adapter.py")), Options())
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from .. import __version__
from ..errors import UsageError
from .case import Case
from .drivers.base import Driver, Patience
from .drivers.in_process import ExtractDriver, InProcessDriver
from .drivers.per_case import PerCaseDriver
from .drivers.process import ProcessDriver
from .host import Host
from .judging import Run
from .observation import Mode
from .protocol import RunnerError
from .report.records import Writer
from .run_client import run_client_cases
from .session import USUAL, Options, Result, Setup, Subject, check_layouts, conduct, split


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTarget:
    """The client: a command (JSON lines, or once per case), an in-process adapter, or an extractor."""

    command: tuple[str, ...] = ()
    per_case: bool = False
    adapter: str | None = None
    extract: str | None = None

    def driver(self, patience: Patience) -> Driver:
        """The one driver that is asked for; raises UsageError when none or several are."""
        asked = [bool(self.command), self.adapter is not None, self.extract is not None]
        if sum(asked) != 1:
            hint = "give exactly one of: -- COMMAND, --adapter pkg.module:Name, --extract pkg.module:function"
            raise UsageError("no client was given" if not any(asked) else "more than one client was given", hint=hint)
        if self.adapter is not None:
            return InProcessDriver.from_name(self.adapter, patience)
        if self.extract is not None:
            return ExtractDriver.from_name(self.extract, patience)
        command = split(self.command)
        if self.per_case:
            return PerCaseDriver(command, patience=patience)
        return ProcessDriver(command, suite=__version__, patience=patience)

    def words(self) -> tuple[str, ...]:
        """How it stands on a command line."""
        if self.adapter is not None:
            return ("--adapter", self.adapter)
        if self.extract is not None:
            return ("--extract", self.extract)
        return (*(("--per-case",) if self.per_case else ()), "--", *split(self.command))


async def conform_client(
    target: ClientTarget, options: Options, writers: Sequence[Writer] = (), setup: Setup = USUAL
) -> Result:
    """Run the suite against a client; raises UsageError for what a user mis-spelt."""
    check_layouts(options.layouts)
    driver = target.driver(setup.patience)
    stopped = False

    async def stop() -> Sequence[RunnerError]:
        nonlocal stopped
        stopped = True
        return [*await _stopped(driver), *driver.problems]

    async with AsyncExitStack() as stack:
        supports = await driver.start()
        stack.push_async_callback(lambda: _quietly(driver) if not stopped else _nothing())
        host = await stack.enter_async_context(Host(seed=options.seed))

        async def run(run: Run, cases: Sequence[Case]) -> None:
            await run_client_cases(run, host, driver, cases)

        subject = Subject(mode=Mode.CLIENT, supports=supports, words=target.words(), run=run, stop=stop)
        return await conduct(subject, host, options, writers, setup)


async def _stopped(driver: Driver) -> Sequence[RunnerError]:
    try:
        await driver.stop()
    except RunnerError as failure:
        return [failure]
    return []


async def _quietly(driver: Driver) -> None:
    """On the way out after an error: the process must not stay, and the first error is the one to show."""
    await _stopped(driver)


async def _nothing() -> None:
    """It was stopped already."""
