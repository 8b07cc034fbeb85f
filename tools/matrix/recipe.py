"""``adapter.yaml`` and ``gateway.yaml``: how one piece of third-party software is installed, started and judged.

    name: openai-python
    homepage: https://github.com/openai/openai-python
    driven: plain create calls; the stream helper
    install: {pip: requirements.txt}
    runs:
      - {name: openai-python, command: "{python} {folder}/adapter.py create", baseline: baseline-create.yaml}

``{python}`` is the python of the recipe's own environment, ``{node}`` node, ``{folder}`` the recipe's folder, both
relative to the repository. A gateway's command keeps ``{upstream}`` and ``{port}`` for the suite. Runs nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

Kind = Literal["client", "gateway"]
FILES: dict[Kind, str] = {
    "client": "conformance/adapters/*/adapter.yaml",
    "gateway": "conformance/gateways/*/gateway.yaml",
}


class RecipeError(Exception):
    """A recipe that cannot be used; the message names file and field."""


class Install(BaseModel):
    """Files of the folder that say what to install. ``pip_alone``: without dependencies, after the others.
    ``sources``: packages whose source files alone are fetched and unpacked, never installed."""

    model_config = ConfigDict(extra="forbid")

    pip: str | None = None
    pip_alone: str | None = None
    sources: list[str] = Field(default_factory=list)
    npm: str | None = None


class RunModel(BaseModel):
    """One run of the suite, one row of the matrix. ``options`` go to the command line as they are. ``untested``: check
    -> why this software leaves nothing for it to judge (``*``: for any); any other that stays untested is red."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9]+([.-][a-z0-9]+)*$")
    title: str | None = None
    command: str | None = None
    extract: str | None = None
    baseline: str | None = None
    profile: Literal["capture-client", "sdk"] = "capture-client"
    layouts: list[str] = Field(default_factory=list)
    options: list[str] = Field(default_factory=list)
    untested: dict[str, str] = Field(default_factory=dict)


class RecipeModel(BaseModel):
    """A recipe file. ``driven``: one sentence for the README. ``not_installed``: the exact reason why it cannot run."""

    model_config = ConfigDict(extra="forbid")

    name: str
    homepage: str
    driven: str
    install: Install = Field(default_factory=Install)
    environment: dict[str, str] = Field(default_factory=dict)
    needs: list[str] = Field(default_factory=list)
    timeout: float = 300
    not_installed: str | None = None
    runs: list[RunModel] = Field(default_factory=list[RunModel])


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe with its place. ``folder`` is relative to ``root``, the repository."""

    kind: Kind
    model: RecipeModel
    folder: Path
    root: Path

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def python(self) -> Path:
        """The python of its environment, relative to the repository."""
        return self.folder / ".venv" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

    def words(self, text: str) -> str:
        """A command of the recipe with its own places filled in; ``{upstream}`` and ``{port}`` are left."""
        known = {"{python}": str(self.python), "{bin}": str(self.python.parent), "{folder}": str(self.folder)}
        for name, value in {**known, "{node}": "node"}.items():
            text = text.replace(name, value)
        return text


def load(root: Path) -> list[Recipe]:
    """Every recipe of the repository, clients first, by name; raises RecipeError."""
    recipes: list[Recipe] = []
    for kind, pattern in FILES.items():
        recipes += [_read(kind, path, root) for path in sorted(root.glob(pattern))]
    seen: set[str] = set()
    for recipe in recipes:
        for run in recipe.model.runs:
            if run.name in seen:
                raise RecipeError(f"{recipe.folder}: the run {run.name!r} stands in another recipe already")
            seen.add(run.name)
    return recipes


def chosen(recipes: Sequence[Recipe], names: Sequence[str]) -> list[Recipe]:
    """The recipes that have one of the names, or a run of that name; all without names; raises RecipeError."""
    if not names:
        return list(recipes)
    found: list[Recipe] = []
    for name in names:
        hits = [one for one in recipes if name in (one.name, *(run.name for run in one.model.runs))]
        if not hits:
            known = ", ".join(one.name for one in recipes)
            raise RecipeError(f"there is no client or gateway {name!r}; there are: {known}")
        found += [hit for hit in hits if hit not in found]
    return found


def _read(kind: Kind, path: Path, root: Path) -> Recipe:
    try:
        document: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        model = RecipeModel.model_validate(document)
    except yaml.YAMLError as wrong:
        raise RecipeError(f"{path}: {wrong}") from None
    except ValidationError as wrong:
        first = wrong.errors()[0]
        raise RecipeError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if model.not_installed is None and not model.runs:
        raise RecipeError(f"{path}: has neither runs nor a reason why it is not installed")
    return Recipe(kind, model, path.parent.relative_to(root), root)
