"""Lock files of the matrix: every version that came with what a recipe names, and nothing of this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from matrix import environment
from matrix.recipe import Install, Recipe, RecipeModel

FREEZE = "zlib-ng==1.0\nopenai==3.57.0\nAnyio==4.16.0\ncooperbench==0.0.29\n-e git+somewhere#egg=x\n"


def recipe_of(root: Path, install: Install) -> Recipe:
    (root / "x").mkdir()
    return Recipe("client", RecipeModel(name="x", homepage="h", driven="d", install=install), Path("x"), root)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would have run."""
    commands: list[list[str]] = []

    def run(command: Sequence[str], folder: Path) -> str:
        commands.append([*command])
        if command[0] == "npm":
            (folder / "node_modules").mkdir(exist_ok=True)
            packages = {"node_modules/ai": {"version": "7.0.173", "resolved": "https://index/ai.tgz", "integrity": "s"}}
            (folder / "package-lock.json").write_text(json.dumps({"packages": packages}))
        return FREEZE

    monkeypatch.setattr(environment, "_run", run)
    return commands


def test_a_lock_holds_every_version_but_those_that_are_installed_alone(tmp_path: Path, said: list[list[str]]) -> None:
    recipe = recipe_of(tmp_path, Install(pip="requirements.txt", pip_alone="alone.txt"))
    (tmp_path / "x" / ".venv").mkdir()
    (tmp_path / "x" / "alone.txt").write_text("cooperbench==0.0.29\n")

    environment.freeze(recipe)

    lines = (tmp_path / "x" / "requirements.lock").read_text().splitlines()
    assert ["Anyio==4.16.0", "openai==3.57.0", "zlib-ng==1.0"] == lines[1:]
    assert "make lock CLIENT=x" in lines[0]


@pytest.mark.parametrize("locked, held", [(True, ["-c", "requirements.lock"]), (False, [])])
def test_what_is_installed_is_what_the_lock_holds(
    locked: bool, held: list[str], tmp_path: Path, said: list[list[str]]
) -> None:
    recipe = recipe_of(tmp_path, Install(pip="requirements.txt"))
    (tmp_path / "x" / "requirements.lock").write_text("openai==3.57.0\n")
    (tmp_path / recipe.python).parent.mkdir(parents=True)
    (tmp_path / recipe.python).touch()

    environment.install(recipe, locked=locked)

    assert ["-r", "requirements.txt", *held] == said[0][said[0].index("-r") :]


def test_a_node_lock_names_no_place_of_this_machines_index(tmp_path: Path, said: list[list[str]]) -> None:
    recipe = recipe_of(tmp_path, Install(npm="package.json"))
    (tmp_path / "x" / "package-lock.json").write_text("{}")

    assert "package-lock.json" == environment.lock(recipe)

    assert {"version": "7.0.173", "integrity": "s"} == json.loads((tmp_path / "x" / "package-lock.json").read_text())[
        "packages"
    ]["node_modules/ai"]
    assert "install" == said[0][1]


def test_a_changed_lock_is_installed_anew(tmp_path: Path, said: list[list[str]]) -> None:
    recipe = recipe_of(tmp_path, Install(pip="requirements.txt"))
    (tmp_path / "x" / ".venv").mkdir()
    environment.freeze(recipe)
    assert environment.installed(recipe)

    (tmp_path / "x" / "requirements.lock").write_text("openai==3.58.0\n")

    assert not environment.installed(recipe)
