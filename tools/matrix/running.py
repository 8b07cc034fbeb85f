"""Running the suite against one run of a recipe, in a process of its own, with a time limit and a count of cases.

The suite is reached by its command line alone. Only processes started here are ended.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .recipe import Recipe, RunModel

POLL_SECONDS = 0.5
Progress = Callable[[int, int], None]
"""(cases done, cases planned) -> nothing."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one run. ``report``: the lines of report.jsonl (None = there is no whole report), ``words``: the
    last lines of its terminal."""

    exit_code: int
    seconds: float
    report: list[str] | None
    words: str


def command(recipe: Recipe, run: RunModel) -> list[str]:
    """The suite's command line for a run, relative to the repository, without the report's place."""
    words = ["fakellm", "conform", recipe.kind, *run.options]
    if run.profile != "capture-client":
        words += ["--profile", run.profile]
    if run.layouts:
        words += ["--layout", ",".join(run.layouts)]
    if run.baseline:
        words += ["--baseline", str(recipe.folder / run.baseline)]
    if recipe.kind == "gateway":
        return [*words, "--name", run.title or run.name, "--start", recipe.words(run.command or "")]
    if run.extract:
        return [*words, "--extract", run.extract]
    return [*words, "--", *shlex.split(recipe.words(run.command or ""))]


def environment(recipe: Recipe) -> dict[str, str]:
    """The environment of a run: the caller's, what the recipe sets, and nothing that leads to the network."""
    paths = [str(recipe.root / "src"), str(recipe.root / "conformance" / "adapters"), str(recipe.root / recipe.folder)]
    ours = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0", "NO_COLOR": "1", "COLUMNS": "120"}
    kept = {name: value for name, value in os.environ.items() if not _leads_out(name)}
    return {**kept, **ours, "NO_PROXY": "*", "CI": "", **recipe.model.environment}


def conduct(recipe: Recipe, run: RunModel, folder: Path, progress: Progress, extra: Mapping[str, str]) -> Outcome:
    """Run the suite; ``folder`` gets its reports, ``extra`` adds options such as ``--only``."""
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "report.jsonl"
    report.unlink(missing_ok=True)
    words = command(recipe, run)
    more = [word for pair in extra.items() for word in pair]
    full = [sys.executable, "-m", *words[:3], "--report-dir", str(folder), *more, *words[3:]]
    started = time.monotonic()
    log = folder / "terminal.txt"
    with log.open("w") as terminal:
        process = subprocess.Popen(
            full,
            cwd=recipe.root,
            env=environment(recipe),
            stdout=terminal,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=os.name == "posix",
        )
        try:
            _wait(process, report, started + recipe.model.timeout, progress)
        finally:
            _end(process)
    text = report.read_text(encoding="utf-8") if report.is_file() else ""
    lines = [line for line in text.split("\n") if line]
    whole = bool(lines) and '"type": "footer"' in lines[-1][:40]
    last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
    return Outcome(process.returncode, time.monotonic() - started, lines if whole else None, " | ".join(last))


def _wait(process: subprocess.Popen[bytes], report: Path, deadline: float, progress: Progress) -> None:
    while process.poll() is None:
        if time.monotonic() > deadline:
            return
        progress(*_counted(report))
        time.sleep(POLL_SECONDS)
    progress(*_counted(report))


def _counted(report: Path) -> tuple[int, int]:
    try:
        lines = report.read_text(encoding="utf-8", errors="replace").split("\n")
        return sum(line.startswith('{"type": "case"') for line in lines), int(json.loads(lines[0])["planned"])
    except (OSError, ValueError, KeyError):
        return 0, 0


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a run that took too long, and what it started: the suite leads a process group of its own."""
    if process.poll() is None:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGTERM)
        else:
            process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _leads_out(name: str) -> bool:
    """Keys of hosted vendors and proxies: a client under test must meet nobody but the fake."""
    upper = name.upper()
    return upper.endswith(("_API_KEY", "_PROXY", "_TOKEN")) or upper.startswith(("OPENAI_", "AWS_", "AZURE_"))
