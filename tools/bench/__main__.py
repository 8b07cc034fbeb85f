"""``python -m bench [MEASURE ...]``: measure, tell, and renew ``docs/benchmarks.md``; without names everything.

Exit 0 when everything could be measured; what a peer could not do is a row of the report, not a failure. Numbers depend
on the machine: ratios are what to look at, and they are of one run.
"""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .measure import Effort, Measure
from .measures import MEASURES
from .process import BenchError
from .publish import publish
from .report import TABLES, bounds

ROOT = Path(__file__).resolve().parents[2]
QUICK = 0.1
"""What a quick run takes of the requests of a full one; enough to see that something became much slower."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", metavar="[MEASURE]...", nargs=-1)
@click.option("--quick", is_flag=True, help="A tenth of the requests, two rounds; nothing is published.")
@click.option("--no-publish", is_flag=True, help="Leave docs/benchmarks alone.")
@click.option("--json", "as_json", is_flag=True, help="The results as one JSON value on stdout, no tables.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("--list", "listing", is_flag=True, help="List the measures, and run nothing.")
def main(names: tuple[str, ...], quick: bool, no_publish: bool, as_json: bool, quiet: bool, listing: bool) -> None:
    """Measure what answers cost, beside a constant server and the peers, in one run.

    Example: python -m bench cost peers
    """
    if listing:
        for measure in MEASURES:
            click.echo(f"{measure.name:12} {measure.question}")
        return
    wanted = _wanted(names)
    effort = Effort(ROOT, 2, QUICK) if quick else Effort(ROOT)
    run, (results, failed) = _run(), _measured(wanted, effort, quiet)
    written = [] if quick or no_publish or not results else publish(ROOT, run, results)
    if as_json:
        click.echo(json.dumps({"run": run, "results": results, "failed": failed}, ensure_ascii=False))
    else:
        _tell(results, failed)
        click.echo("".join(f"written: {file}\n" for file in written), nl=False, err=True)
    raise SystemExit(1 if failed else 0)


def _wanted(names: tuple[str, ...]) -> list[Measure]:
    known = {measure.name for measure in MEASURES}
    for name in names:
        if name not in known:
            raise click.UsageError(f"there is no measure {name!r}; known: {', '.join(sorted(known))}")
    return [measure for measure in MEASURES if not names or measure.name in names]


def _run() -> dict[str, Any]:
    """What the numbers depend on; nothing that names this machine."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
        "priority": _has_priority(),
    }


def _has_priority() -> bool:
    """Whether the benchmark runs before whatever else the machine does (nice, real time, a session's group)."""
    group = Path("/proc/self/autogroup")
    told = group.read_text() if group.is_file() else ""
    real_time = hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) != os.SCHED_OTHER
    return real_time or os.getpriority(os.PRIO_PROCESS, 0) < 0 or "nice -" in told


def _measured(wanted: list[Measure], effort: Effort, quiet: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """Measure -> numbers, and measure -> why it could not be measured."""
    results: dict[str, Any] = {}
    failed: dict[str, str] = {}
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description:12}"),
        BarColumn(20),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as progress:
        for measure in wanted:
            task = progress.add_task(measure.name, total=1, note="")
            try:
                results[measure.name] = measure.run(effort, lambda note, task=task: progress.update(task, note=note))
                progress.update(task, completed=1, note="")
            except (BenchError, OSError) as problem:
                failed[measure.name] = str(problem)
                progress.update(task, note=f"failed: {problem}")
    return results, failed


def _tell(results: dict[str, Any], failed: dict[str, str]) -> None:
    for name, found in results.items():
        click.echo(f"\n{name}\n")
        click.echo("\n".join(TABLES[name](found)))
    click.echo("\nwhat was promised\n")
    click.echo("\n".join(bounds(results)))
    for name, reason in failed.items():
        click.echo(f"{name} could not be measured: {reason}", err=True)


if __name__ == "__main__":
    main(prog_name="python -m bench")
