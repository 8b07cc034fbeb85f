"""Everything that a conform command needs, put together: cases, layouts, host, driver, baseline, writers.

``client.py``, ``gateway.py`` and ``server.py`` make the :class:`Subject`; :func:`conduct` runs the suite against it.
What the command line prints or the pytest plugin asserts is their own matter. This module opens files; it decides no
verdict.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from .. import __version__, resources
from ..errors import UsageError
from . import baseline as baselines
from .baseline import Baseline
from .case import APIS, Case, Template, id_of, load, points
from .check import Check
from .checks import all_checks
from .drivers import group
from .drivers.base import Patience
from .finding import Outcome
from .host import Host, built
from .judging import Run
from .merge import judge_again
from .observation import Mode, Supports
from .protocol import PROTOCOL, RunnerError
from .report import jsonl
from .report.evidence import EvidenceWriter
from .report.html import Html
from .report.jsonl import JsonlWriter
from .report.junit import JUnitWriter
from .report.records import Footer, Header, Writer
from .report.summary import BadgeWriter, SummaryWriter
from .select import Selection, Wanted, select
from .verdict import Verdict
from .whole import about_the_run, finish

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


def split(command: Sequence[str]) -> tuple[str, ...]:
    """The command as words: one word with blanks is split as a shell splits words, but no shell runs."""
    return tuple(group.split(command[0])) if len(command) == 1 else tuple(command)


def case_files() -> list[Path]:
    """The shipped case files."""
    return sorted((resources.resource("conformance") / "cases").glob("*.yaml"))


@dataclass(slots=True)
class Result:
    """What a run came to."""

    footer: Footer
    selection: Selection
    findings: Sequence[Verdict] = field(default_factory=list[Verdict])


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Who is judged. ``words``: how it stands on a command line; ``run``: runs cases against it; ``stop``: ends it and
    tells what went wrong with that. ``selection``: cases of its own instead of the suite's, by ``command``."""

    mode: Mode
    supports: Supports
    words: tuple[str, ...]
    run: Callable[[Run, Sequence[Case]], Awaitable[None]]
    stop: Callable[[], Awaitable[Sequence[RunnerError]]]
    selection: Selection | None = None
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What tests put in the place of the shipped suite, of the wall clock's day, and of the usual patience."""

    checks: Sequence[Check] | None = None
    templates: Sequence[Template] | None = None
    today: date | None = None
    patience: Patience = field(default_factory=Patience)


USUAL = Setup()


async def conduct(subject: Subject, host: Host, options: Options, writers: Sequence[Writer], setup: Setup) -> Result:
    """One run of the suite against a subject; raises UsageError for what a user mis-spelt."""
    started = time.monotonic()
    checks = [check for check in setup.checks or all_checks() if subject.mode in check.modes]
    templates = load(case_files()) if setup.templates is None else setup.templates
    layouts = tuple(built(options.layouts or subject.supports.layouts or DEFAULT_LAYOUTS))
    own = subject.selection
    selection = own or select(templates, _wanted(options, layouts), subject.supports, host.serves, host.plays)
    known = everything(templates, host) if own is None else {case.id: () for case in own.catalogue}
    baseline = read_baseline(options.baseline, checks, known, setup.today)
    whole = options.shard is None
    with ReportFiles(options) as files:
        run = Run(
            supports=subject.supports,
            checks=checks,
            baseline=baseline,
            writers=[*writers, *files.writers],
            reproduce=_reproduce(subject, options, layouts),
            profile=options.profile,
            seed=options.seed,
            patience=setup.patience,
            evidence=options.report_dir is not None,
        )
        for writer in run.writers:
            writer.header(_header(subject, options, layouts, selection, host))
        await subject.run(run, selection.cases)
        about_the_run(run, await subject.stop(), untested=whole and not options.smoke and own is None)
        footer = finish(run, strict=options.strict, started=started, judged_stale=whole)
        for writer in run.writers:
            writer.footer(footer)
    if options.write_baseline is not None:
        fails = [verdict.finding for verdict in run.failing if verdict.finding.outcome is Outcome.FAIL]
        options.write_baseline.write_text(baselines.written(fails, run.passing), encoding="utf-8")
    return Result(footer, selection, run.failing)


def listed(profile: str, layouts: Sequence[str], extended: bool, only: tuple[str, ...]) -> tuple[Case, ...]:
    """The cases that a run with these options would take for a client that does everything."""
    check_layouts(layouts)
    host = Host()
    wanted = Wanted(profile=profile, layouts=tuple(built(layouts or DEFAULT_LAYOUTS)), extended=extended, only=only)
    anything = Supports(name="", apis=frozenset(APIS))
    return select(load(case_files()), wanted, anything, host.serves, host.plays).cases


def report_again(files: Sequence[Path], options: Options, writers: Sequence[Writer]) -> Sequence[Footer]:
    """Merge and judge reports, one footer per client or gateway; several of them share one ``report.html``, a matrix.

    Raises CaptureError for files that do not belong together or are cut.
    """
    subjects = jsonl.by_subject([(path, jsonl.read(path)) for path in files])
    checks, known_cases = all_checks(), everything(load(case_files()), Host())
    page = (
        Html(options.report_dir / "report.html", requirements()) if options.report_dir and len(subjects) > 1 else None
    )
    footers: list[Footer] = []
    for number, parts in enumerate(subjects, 1):
        report = jsonl.merged(parts)
        mode = Mode(report.header["mode"])
        known = [check for check in checks if mode in check.modes]
        baseline = read_baseline(options.baseline, known, known_cases)
        folder = options.report_dir / str(number) if page is not None and options.report_dir else options.report_dir
        with ReportFiles(replace(options, report_dir=folder)) as made:
            all_writers = [*writers, *made.writers, *([page] if page is not None else [])]
            footers.append(judge_again(report, checks, baseline, all_writers, strict=options.strict))
    return footers


def requirements() -> Mapping[str, str]:
    """The requirement sentence of every check."""
    return {check.id: check.requirement for check in all_checks()}


def check_layouts(names: Sequence[str]) -> None:
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


def read_baseline(
    path: Path | None, checks: Sequence[Check], catalogue: Mapping[str, Sequence[str]], today: date | None = None
) -> Baseline:
    """The baseline of a path, checked against every check and case there is; an empty one without a path."""
    if path is None:
        return Baseline()
    return baselines.load(
        path,
        checks=[check.id for check in checks],
        cases=catalogue,
        former={case: was for case, was in catalogue.items() if was},
        today=today or datetime.now(tz=UTC).date(),
        ci=os.environ.get("CI", "").lower() in ("true", "1"),
    )


def everything(templates: Sequence[Template], host: Host) -> Mapping[str, Sequence[str]]:
    """Every case of every layout that is built, with its former names: what baselines and patterns may name."""
    from ..layouts import registry

    layouts = [layout.name for layout in registry.all_layouts()]
    return {
        id_of(template, point): template.model.was
        for template in templates
        for point in points(template, layouts)
        if host.serves(str(point["layout"]), str(point["api"]), bool(point["stream"]))
    }


def _reproduce(subject: Subject, options: Options, layouts: Sequence[str]) -> Callable[[str], str]:
    """case id -> the command that runs it alone, as a shell takes it."""
    words = ["fakellm", "conform", subject.command or str(subject.mode)]
    if options.profile == "sdk":
        words += ["--profile", options.profile]
    if options.layouts:
        words += ["--layout", ",".join(layouts)]
    if options.seed:
        words += ["--seed", str(options.seed)]

    def command(case: str) -> str:
        only = ["--only", case] if case else []
        return group.join([*words, *only, *subject.words])

    return command


def _header(subject: Subject, options: Options, layouts: Sequence[str], selection: Selection, host: Host) -> Header:
    supports = subject.supports
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
        mode=str(subject.mode),
        client=client,
        command=options.words or ("fakellm", "conform", str(subject.mode), *subject.words),
        options={
            "profile": options.profile,
            "extended": options.extended,
            "only": list(options.only),
            "smoke": options.smoke,
        },
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
class ReportFiles:
    """The writers of ``--report-dir`` and ``--junit``, and the files behind them."""

    options: Options
    writers: list[Writer] = field(default_factory=list[Writer])
    _file: Any = None

    def __enter__(self) -> ReportFiles:
        folder = self.options.report_dir
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self._file = (folder / "report.jsonl").open("w", encoding="utf-8")
            except OSError as failure:
                raise UsageError(f"cannot write reports: {failure.strerror}", where=str(folder)) from None
            self.writers += [JsonlWriter(self._file), SummaryWriter(folder / "summary.md")]
            self.writers += [BadgeWriter(folder / "badge.json"), EvidenceWriter(folder / "evidence")]
            self.writers.append(Html(folder / "report.html", requirements()))
        junit = self.options.junit or (folder / "junit.xml" if folder is not None else None)
        if junit is not None:
            self.writers.append(JUnitWriter(junit))
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()
