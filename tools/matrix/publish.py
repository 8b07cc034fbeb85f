"""What is made of the results: the site, the findings, and the table in the project's README. All of it generated.

The only module here that reads results and writes pages; it runs no client.
"""

from __future__ import annotations

import platform as system
import shutil
from collections.abc import Sequence
from pathlib import Path

from . import findings, readme, result, site
from .recipe import Recipe
from .result import Result

RESULTS = Path("conformance/results")
README = Path("README.md")


def platform() -> str:
    """The machine in so many words as matter for a result."""
    return f"{system.system()} {system.machine()}, Python {system.python_version()}"


def results_of(root: Path, recipes: Sequence[Recipe]) -> list[Result]:
    """The results of every run that a recipe knows, clients first, in the recipes' order."""
    found: list[Result] = []
    for recipe in recipes:
        for run in recipe.model.runs:
            path = root / RESULTS / f"{run.name}.jsonl"
            if path.is_file():
                found.append(result.read(path))
    return found


def publish(root: Path, recipes: Sequence[Recipe]) -> None:
    """Write everything that is generated."""
    results = results_of(root, recipes)
    missing = {one.name: one.model.not_installed for one in recipes if one.model.not_installed is not None}
    folder = root / RESULTS
    shutil.rmtree(folder / "runs", ignore_errors=True)
    (folder / "runs").mkdir(parents=True)
    (folder / "index.html").write_text(site.index(results, missing), encoding="utf-8")
    for one in results:
        (folder / "runs" / f"{one.name}.html").write_text(site.about(one), encoding="utf-8")
    (folder / "findings.md").write_text(findings.document(findings.load(recipes), results), encoding="utf-8")
    front = root / README
    front.write_text(readme.with_table(front.read_text(encoding="utf-8"), results, missing), encoding="utf-8")
    beside = folder / "README.md"
    beside.write_text(readme.with_driven(beside.read_text(encoding="utf-8"), recipes), encoding="utf-8")
