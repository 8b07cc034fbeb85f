"""Everything that a conform command needs, put together: cases, layouts, host, driver, baseline, writers.

The command line and the pytest plugin call :func:`conform_client`; what they print or assert is their own matter. This
module opens files and starts servers; it decides no verdict.
"""

from __future__ import annotations

import os
import platform
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from .. import __version__, resources
from ..errors import UsageError
from . import baseline as baselines
from .baseline import Baseline
from .case import Case, Template, load
from .check import Check
from .checks import all_checks
from .drivers.base import Driver, Patience
from .drivers.in_process import ExtractDriver, InProcessDriver
from .drivers.per_case import PerCaseDriver
from .drivers.process import ProcessDriver
from .finding import Outcome
from .host import Host, built
from .observation import Mode, Observation, Supports
from .protocol import PROTOCOL, RunnerError
from .report.jsonl import JsonlWriter
from .report.junit import JUnitWriter
from .report.records import CaseRecord, Footer, Header, Writer
from .report.summary import BadgeWriter, SummaryWriter
from .run import Run, error_finding, finish, judge_run, run_cases
from .select import Selection, Wanted, select
from .strip import strip_of
from .verdict import Verdict

DEFAULT_LAYOUTS = ("vllm-0.32.0", "sglang-0.5.23")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of section 4 that every mode shares. ``words``: the command line, for reproducing."""

    profile: str = "capture-client"
    layouts: tuple[str, ...] = ()
    extended: bool = False
    only: tuple[str, ...] = ()
    shard: tuple[int, int] | None = None
    baseline: Path | None = None
    write_baseline: Path | None = None
    report_dir: Path | None = None
    junit: Path | None = None
    strict: bool = False
    seed: int = 0
    smoke: bool = False
    words: tuple[str, ...] = ()


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
            return InProcessDriver.from_name(self.adapter)
        if self.extract is not None:
            return ExtractDriver.from_name(self.extract)
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


def split(command: Sequence[str]) -> tuple[str, ...]:
    """The command as words: one word with blanks is split as a shell splits words, but no shell runs."""
    return tuple(shlex.split(command[0])) if len(command) == 1 else tuple(command)


def case_files() -> list[Path]:
    """The shipped case files."""
    return sorted((resources.resource("conformance") / "cases").glob("*.yaml"))


@dataclass(slots=True)
class Result:
    """What a run came to."""

    footer: Footer
    selection: Selection
    findings: Sequence[Verdict] = field(default_factory=list[Verdict])


async def conform_client(
    target: ClientTarget,
    options: Options,
    writers: Sequence[Writer] = (),
    *,
    patience: Patience | None = None,
    checks: Sequence[Check] | None = None,
    templates: Sequence[Template] | None = None,
    today: date | None = None,
) -> Result:
    """Run the suite against a client; raises UsageError for what a user mis-spelt."""
    patience = patience or Patience()
    started = time.monotonic()
    checks = [check for check in checks or all_checks() if Mode.CLIENT in check.modes]
    templates = load(case_files()) if templates is None else templates
    driver = target.driver(patience)
    _check_layouts(options.layouts)
    async with AsyncExitStack() as stack:
        supports = await driver.start()
        stack.push_async_callback(_quietly_stopped, driver)
        layouts = tuple(built(options.layouts or supports.layouts or DEFAULT_LAYOUTS))
        host = await stack.enter_async_context(Host(seed=options.seed))
        selection = select(templates, _wanted(options, layouts), supports, _served(host), host.plays)
        baseline = _baseline(options, checks, templates, host, today)
        with _writers(options) as files:
            run = Run(
                host=host,
                driver=driver,
                supports=supports,
                checks=checks,
                baseline=baseline,
                writers=[*writers, *files.writers],
                reproduce=_reproduce(target, options, layouts),
                profile=options.profile,
                seed=options.seed,
                patience=patience,
                evidence=options.report_dir is not None,
            )
            for writer in run.writers:
                writer.header(_header(target, options, supports, layouts, selection, host))
            await run_cases(run, selection.cases)
            stopped = await _stopped(driver)
            _about_the_run(run, stopped, untested=not options.smoke and options.shard is None)
            footer = finish(run, strict=options.strict, started=started, judged_stale=options.shard is None)
            for writer in run.writers:
                writer.footer(footer)
    if options.write_baseline is not None:
        fails = [v.finding for v in run.failing if v.finding.outcome is Outcome.FAIL]
        options.write_baseline.write_text(baselines.written(fails, run.passing), encoding="utf-8")
    return Result(footer, selection, run.failing)


def _check_layouts(names: Sequence[str]) -> None:
    from ..layouts import registry

    for name in names:
        registry.find(name)


def _wanted(options: Options, layouts: tuple[str, ...]) -> Wanted:
    return Wanted(
        profile=options.profile,
        layouts=layouts,
        extended=options.extended,
        only=options.only,
        shard=options.shard,
        smoke=options.smoke,
    )


def _served(host: Host) -> Callable[[str, str, bool], bool]:
    return lambda layout, api, stream: bool(host.accessors(layout, api, stream))


def _baseline(
    options: Options, checks: Sequence[Check], templates: Sequence[Template], host: Host, today: date | None
) -> Baseline:
    if options.baseline is None:
        return Baseline()
    catalogue = everything(templates, host)
    return baselines.load(
        options.baseline,
        checks=[check.id for check in checks],
        cases=[case.id for case in catalogue],
        former={case.id: case.was for case in catalogue if case.was},
        today=today or datetime.now(tz=UTC).date(),
        ci=os.environ.get("CI", "").lower() in ("true", "1"),
    )


def everything(templates: Sequence[Template], host: Host) -> tuple[Case, ...]:
    """Every case of every layout that is built: what baselines and patterns may name."""
    from ..layouts import registry

    layouts = tuple(layout.name for layout in registry.all_layouts())
    anything = Supports(name="", apis=frozenset({"chat", "completions", "responses", "generate", "tito"}))
    return select(templates, Wanted(layouts=layouts, extended=True), anything, _served(host), host.plays).catalogue


async def _stopped(driver: Driver) -> RunnerError | None:
    try:
        await driver.stop()
    except RunnerError as failure:
        return failure
    return None


async def _quietly_stopped(driver: Driver) -> None:
    """On the way out after an error: the process must not stay, and the first error is the one to show."""
    await _stopped(driver)


def _about_the_run(run: Run, stopped: RunnerError | None, *, untested: bool) -> None:
    """Findings that belong to no case: run-level checks, an adapter that would not stop, late answers."""
    verdicts = list(judge_run(run, untested=untested))
    for failure in [*([stopped] if stopped else []), *run.driver.problems]:
        verdict = Verdict(error_finding(f"runner.{failure.name}", baselines.RUN, str(failure)))
        run.tally.add(verdict)
        run.failing.append(verdict)
        verdicts.append(verdict)
    record = run_record(run.light, verdicts, run.reproduce)
    for writer in run.writers:
        writer.case(record)


def run_record(
    light: Sequence[Observation], verdicts: Sequence[Verdict], reproduce: Callable[[str], str]
) -> CaseRecord:
    """The record of the run as a whole; of a finding that points at a case, the strip and the command of that case."""
    shown = [verdict for verdict in verdicts if verdict.finding.outcome is not Outcome.NOT_APPLICABLE]
    by_case = {one.case.id: one for one in light}
    strips: dict[str, Any] = {}
    commands: dict[str, str] = {}
    for verdict in shown:
        finding = verdict.finding
        if finding.outcome is not Outcome.FAIL or finding.check in commands:
            continue
        commands[finding.check] = reproduce(finding.case if finding.case in by_case else "")
        strip = strip_of(by_case[finding.case], finding) if finding.case in by_case else None
        if strip is not None:
            strips[finding.check] = strip.to_json()
    return CaseRecord(
        id=baselines.RUN,
        title="The run as a whole",
        verdicts=shown,
        strips=strips,
        commands=commands,
        reproduce=reproduce(""),
    )


def _reproduce(target: ClientTarget, options: Options, layouts: Sequence[str]) -> Callable[[str], str]:
    """case id -> the command that runs it alone, as a shell takes it."""
    words = ["fakellm", "conform", "client"]
    if options.profile != "capture-client":
        words += ["--profile", options.profile]
    if options.layouts:
        words += ["--layout", ",".join(layouts)]
    if options.seed:
        words += ["--seed", str(options.seed)]

    def command(case: str) -> str:
        only = ["--only", case] if case else []
        return shlex.join([*words, *only, *target.words()])

    return command


def _header(
    target: ClientTarget,
    options: Options,
    supports: Supports,
    layouts: Sequence[str],
    selection: Selection,
    host: Host,
) -> Header:
    client: Mapping[str, Any] = {
        "name": supports.name,
        "version": supports.version,
        "language": supports.language,
        "homepage": supports.homepage,
        "issues": supports.issues,
        "supports": {
            "apis": sorted(supports.apis),
            "stream": sorted(supports.stream),
            "captures": sorted(supports.captures),
        },
    }
    return Header(
        suite=__version__,
        protocol=PROTOCOL,
        mode=str(Mode.CLIENT),
        client=client,
        command=options.words or ("fakellm", "conform", "client", *target.words()),
        options={"profile": options.profile, "extended": options.extended, "only": list(options.only)},
        layouts=tuple(layouts),
        seed=options.seed,
        tokenizer=host.tokenizer.name,
        platform=f"{platform.system()} {platform.machine()}, Python {sys.version.split()[0]}",
        started=datetime.now(tz=UTC).isoformat(timespec="seconds"),
        shard=None if options.shard is None else f"{options.shard[0]}/{options.shard[1]}",
        planned=len(selection.cases),
        pruned=len(selection.pruned),
    )


@dataclass(slots=True)
class _writers:  # noqa: N801 - used as a context manager, like a function
    """The writers of ``--report-dir`` and ``--junit``, and the files behind them."""

    options: Options
    writers: list[Writer] = field(default_factory=list[Writer])
    _stack: AsyncExitStack | None = None
    _file: Any = None

    def __enter__(self) -> _writers:
        folder = self.options.report_dir
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self._file = (folder / "report.jsonl").open("w", encoding="utf-8")
            except OSError as failure:
                raise UsageError(f"cannot write reports: {failure.strerror}", where=str(folder)) from None
            self.writers += [JsonlWriter(self._file), SummaryWriter(folder / "summary.md")]
            self.writers += [BadgeWriter(folder / "badge.json")]
        junit = self.options.junit or (folder / "junit.xml" if folder is not None else None)
        if junit is not None:
            self.writers.append(JUnitWriter(junit))
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()
