"""The environment of one recipe: a venv or node_modules in its own folder, made once and again when its files change.

A stamp holds the hash of the files that say what to install. ``requirements.txt`` names what the recipe is about;
``requirements.lock`` (npm: ``package-lock.json``) the version of everything that came with it, so that a later
run installs the same; ``lock`` writes it anew. Sources of packages that cannot be installed are fetched from the
package index and unpacked into ``.sources``; nothing of them is ever committed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from .recipe import Recipe

STAMP = ".installed"
LOCK = "requirements.lock"
OURS = "package-lock.json"
SECONDS = 1800.0
"""Enough for the largest of them (a proxy with 150 packages) on a slow line."""


class InstallError(Exception):
    """It could not be installed; the message is the installer's last word."""


def installed(recipe: Recipe) -> bool:
    """Whether the environment is there and made of the files as they are now."""
    folder = recipe.root / recipe.folder
    stamps = [folder / place / STAMP for place in (".venv", "node_modules", ".sources")]
    return any(one.is_file() and one.read_text() == _digest(recipe) for one in stamps)


def install(recipe: Recipe, *, locked: bool = True) -> None:
    """Make the environment; raises InstallError. ``locked``: in the versions that the lock file holds."""
    folder = recipe.root / recipe.folder
    wanted = recipe.model.install
    for program in recipe.model.needs:
        if shutil.which(program) is None:
            raise InstallError(f"needs the program {program}, which is not on PATH")
    if wanted.npm is not None:
        command = ["npm", "ci" if locked and (folder / OURS).is_file() else "install", "--no-audit", "--no-fund"]
        _run(command, folder)
        (folder / "node_modules" / STAMP).write_text(_digest(recipe))
        return
    if wanted.sources:
        for package in wanted.sources:
            _fetch(package, folder / ".sources", folder)
        (folder / ".sources" / STAMP).write_text(_digest(recipe))
        return
    if not (recipe.root / recipe.python).exists():
        venv.create(folder / ".venv", with_pip=True)
    pip = [*_pip(recipe), "install", "--quiet"]
    if wanted.pip is not None:
        held = ["-c", LOCK] if locked and (folder / LOCK).is_file() else []
        _run([*pip, "-r", wanted.pip, *held], folder)
    if wanted.pip_alone is not None:
        _run([*pip, "--no-deps", "-r", wanted.pip_alone], folder)
    (folder / ".venv" / STAMP).write_text(_digest(recipe))


def lock(recipe: Recipe) -> str | None:
    """Install the newest that the recipe allows and write down every version: the lock file's name, None where there is
    nothing to lock. Raises InstallError."""
    folder = recipe.root / recipe.folder
    wanted = recipe.model.install
    if wanted.npm is not None:
        (folder / OURS).unlink(missing_ok=True)
        shutil.rmtree(folder / "node_modules", ignore_errors=True)
        install(recipe, locked=False)
        made = json.loads((folder / OURS).read_text())
        (folder / OURS).write_text(json.dumps(_placeless(made), indent=2) + "\n")
        (folder / "node_modules" / STAMP).write_text(_digest(recipe))
        return OURS
    if wanted.pip is None:
        return None
    shutil.rmtree(folder / ".venv", ignore_errors=True)
    install(recipe, locked=False)
    freeze(recipe)
    return LOCK


def freeze(recipe: Recipe) -> None:
    """Write the versions of the environment as it is to the lock file."""
    folder = recipe.root / recipe.folder
    lines = _run([*_pip(recipe), "freeze"], folder).splitlines()
    alone = recipe.model.install.pip_alone
    named = {} if alone is None else _pinned((folder / alone).read_text())
    kept = [line for line in lines if "==" in line and line.partition("==")[0] not in named]
    head = "# Every version that came with requirements.txt. Made by: make lock CLIENT=" + recipe.name
    (folder / LOCK).write_text("\n".join([head, *sorted(kept, key=str.lower)]) + "\n")
    (folder / ".venv" / STAMP).write_text(_digest(recipe))


def versions(recipe: Recipe) -> dict[str, str]:
    """Name -> version of the packages that the recipe names itself."""
    folder = recipe.root / recipe.folder
    wanted = recipe.model.install
    found: dict[str, str] = {}
    if wanted.npm is not None:
        for name in json.loads((folder / wanted.npm).read_text())["dependencies"]:
            found[name] = json.loads((folder / "node_modules" / name / "package.json").read_text())["version"]
    for file in (wanted.pip, wanted.pip_alone):
        found |= {} if file is None else _pinned((folder / file).read_text())
    found.update(package.split("==") for package in wanted.sources)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return found


def _pip(recipe: Recipe) -> list[str]:
    return [str(recipe.root / recipe.python), "-m", "pip", "--disable-pip-version-check"]


def _pinned(requirements: str) -> dict[str, str]:
    """Name -> version of the lines that name both."""
    pairs = (line.partition("#")[0].strip().partition("==") for line in requirements.splitlines())
    return {name: version for name, _, version in pairs if version}


def _placeless(part: Any) -> Any:
    """A package-lock without the places that packages were fetched from: they are those of this machine's index."""
    if isinstance(part, dict):
        entries = cast("dict[str, Any]", part)
        return {name: _placeless(value) for name, value in entries.items() if name != "resolved"}
    return part


def _digest(recipe: Recipe) -> str:
    wanted = recipe.model.install
    folder = recipe.root / recipe.folder
    digest = hashlib.sha256(repr(wanted).encode())
    for name in (wanted.pip, wanted.pip_alone, wanted.npm, LOCK, OURS):
        if name is not None and (folder / name).is_file():
            digest.update((folder / name).read_bytes())
    return digest.hexdigest()


def _fetch(package: str, into: Path, folder: Path) -> None:
    """The files of a package's wheel or source archive, under ``into/<name>``; nothing of it runs."""
    target = into / package.partition("==")[0]
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:none:", "-d", place]
        _run([*command, package], folder)
        for archive in Path(place).iterdir():
            if archive.suffix == ".whl":
                zipfile.ZipFile(archive).extractall(target)
            else:
                with tarfile.open(archive) as packed:
                    packed.extractall(target, filter="data")


def _run(command: Sequence[str], folder: Path) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise InstallError(f"{command[0]}: {failure}") from None
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        wrong = [line for line in lines if "ERROR" in line or "error" in line]
        raise InstallError(" | ".join((wrong or lines)[-3:])[:600] or f"{command[0]} ended with {done.returncode}")
    return done.stdout
