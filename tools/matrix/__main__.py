"""``python -m matrix [NAME ...]``: install, run and publish; without names everything that can be installed here.

Exit 0 when every run came to its end and found nothing that its baseline does not know, 1 otherwise.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from . import baselines, environment, findings, publish, result, running
from .recipe import Recipe, RecipeError, RunModel, chosen, load
from .scrub import Machine

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path("conformance/results")
GREEN = ("conformant", "conformant-with-warnings")


@dataclass(slots=True)
class Session:
    """One call of the command. ``sound``: every run ended as its baseline says."""

    root: Path
    extra: dict[str, str]
    progress: Progress
    sound: bool = True
    notes: list[str] = field(default_factory=list[str])


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1)
@click.option("--jobs", default=2, show_default=True, help="Runs side by side.")
@click.option("--only", help="Only these cases; nothing is published.")
@click.option("--write-baselines", is_flag=True, help="Write today's failures to fresh baselines, reasons to be done.")
@click.option("--tell-baselines", is_flag=True, help="Renew what the baselines say was seen, of the results there are.")
@click.option("--publish-only", is_flag=True, help="Make site, findings and README table of the results there are.")
@click.option(
    "--lock", "locking", is_flag=True, help="Install the newest that is allowed, write the lock files, run nothing."
)
@click.option("--list", "listing", is_flag=True, help="List clients and gateways, and run nothing.")
def main(
    names: tuple[str, ...],
    jobs: int,
    only: str | None,
    write_baselines: bool,
    tell_baselines: bool,
    publish_only: bool,
    locking: bool,
    listing: bool,
) -> None:
    """Judge real clients and gateways and publish what they keep.

    Example: python -m matrix openai-python litellm
    """
    try:
        recipes = load(ROOT)
        wanted = chosen(recipes, names)
    except RecipeError as wrong:
        raise SystemExit(f"matrix: {wrong}") from None
    if listing:
        for recipe in recipes:
            print(f"{recipe.kind:8} {recipe.name:24} {', '.join(run.name for run in recipe.model.runs)}")
        return
    if locking:
        raise SystemExit(_lock(wanted))
    if tell_baselines:
        _tell(wanted)
        return
    sound = True
    if not publish_only:
        sound = _run_all(wanted, names, jobs, only, write_baselines)
    if only is None:
        publish.publish(ROOT, recipes)
    raise SystemExit(0 if sound else 1)


def _lock(wanted: list[Recipe]) -> int:
    """Exit 0 when every lock file was written."""
    ended = 0
    for recipe in wanted:
        if recipe.model.not_installed is not None:
            continue
        try:
            print(f"{recipe.name}: {environment.lock(recipe) or 'its packages are fetched alone, nothing to lock'}")
        except environment.InstallError as failure:
            print(f"{recipe.name}: cannot be installed here: {failure}", file=sys.stderr)
            ended = 1
    return ended


def _tell(wanted: list[Recipe]) -> None:
    for one in publish.results_of(ROOT, wanted):
        recipe, run = next((each, run) for each in wanted for run in each.model.runs if run.name == one.name)
        if run.baseline and baselines.rewrite(ROOT / recipe.folder / run.baseline, one):
            print(f"{recipe.folder / run.baseline}")


def _run_all(wanted: list[Recipe], names: tuple[str, ...], jobs: int, only: str | None, write_baselines: bool) -> bool:
    columns = (TextColumn("{task.description}"), BarColumn(20), TextColumn("{task.fields[note]}"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        session = Session(ROOT, {} if only is None else {"--only": only}, progress)
        with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
            waiting = [pool.submit(_recipe, session, recipe, names, write_baselines) for recipe in wanted]
        for one in waiting:
            one.result()
    return session.sound


def _recipe(session: Session, recipe: Recipe, names: tuple[str, ...], write_baselines: bool) -> None:
    if recipe.model.not_installed is not None:
        _say(session, f"{recipe.name}: not installed: {recipe.model.not_installed}")
        return
    if not environment.installed(recipe):
        _say(session, f"{recipe.name}: installing")
        try:
            environment.install(recipe)
        except environment.InstallError as failure:
            session.sound = False
            _say(session, f"{recipe.name}: cannot be installed here: {failure}")
            return
    for run in recipe.model.runs:
        if not names or recipe.name in names or run.name in names:
            _one(session, recipe, run, write_baselines)


def _one(session: Session, recipe: Recipe, run: RunModel, write_baselines: bool) -> None:
    task: TaskID = session.progress.add_task(run.name.ljust(36), total=None, note="starting")

    def tell(done: int, planned: int) -> None:
        session.progress.update(task, completed=done, total=planned or None, note=f"{done} of {planned} cases")

    folder = session.root / ".matrix" / run.name
    extra = dict(session.extra)
    if write_baselines:
        extra["--write-baseline"] = str(folder / "baseline.yaml")
    ended = running.conduct(recipe, run, folder, tell, extra)
    session.progress.update(task, note=ended.words.rpartition(" | ")[2][:60], completed=1, total=1)
    if ended.report is None:
        session.sound = False
        _say(session, f"{run.name}: no report (exit {ended.exit_code}): {ended.words}")
        return
    about = {
        "name": run.name,
        "kind": recipe.kind,
        "recipe": recipe.name,
        "title": run.title or run.name,
        "homepage": recipe.model.homepage,
        "driven": recipe.model.driven,
        "installed": environment.versions(recipe),
        "date": datetime.now(tz=UTC).date().isoformat(),
        "platform": publish.platform(),
        "command": running.command(recipe, run),
    }
    claimed = {claim.model.case for claim in findings.load([recipe]) if claim.model.run == run.name}
    outcome = result.from_report(ended.report, about, Machine.this(session.root), claimed)
    verdict, counts = outcome.footer["verdict"], outcome.footer["counts"]
    surprises = result.surprises(outcome, run.untested)
    session.sound = session.sound and not surprises
    mark = f"not as its baseline says: {'; '.join(surprises[:3])}" if surprises else "as its baseline says"
    _say(session, f"{run.name}: {verdict}, {counts['fail']} failed, {ended.seconds:.0f} s, {mark}")
    if not session.extra:
        path = session.root / RESULTS / f"{run.name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text(result.written(outcome), encoding="utf-8")


def _say(session: Session, words: str) -> None:
    session.progress.console.print(words, highlight=False, markup=False)
    sys.stderr.flush()


if __name__ == "__main__":
    main()
