"""The environment of one recipe: a venv or node_modules in its own folder, made once and again when its files change.

A stamp holds the hash of the files that say what to install. Sources of packages that cannot be installed are fetched
from the package index and unpacked into ``.sources``; nothing of them is ever committed.
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

from .recipe import Recipe

STAMP = ".installed"
SECONDS = 1800.0
"""Enough for the largest of them (a proxy with 150 packages) on a slow line."""


class InstallError(Exception):
    """It could not be installed; the message is the installer's last word."""


def installed(recipe: Recipe) -> bool:
    """Whether the environment is there and made of the files as they are now."""
    folder = recipe.root / recipe.folder
    stamps = [folder / place / STAMP for place in (".venv", "node_modules", ".sources")]
    return any(one.is_file() and one.read_text() == _digest(recipe) for one in stamps)


def install(recipe: Recipe) -> None:
    """Make the environment; raises InstallError."""
    folder = recipe.root / recipe.folder
    wanted = recipe.model.install
    for program in recipe.model.needs:
        if shutil.which(program) is None:
            raise InstallError(f"needs the program {program}, which is not on PATH")
    if wanted.npm is not None:
        command = ["npm", "ci" if (folder / "package-lock.json").is_file() else "install", "--no-audit", "--no-fund"]
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
    pip = [str(recipe.root / recipe.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if wanted.pip is not None:
        _run([*pip, "-r", wanted.pip, *_constraints(folder)], folder)
    if wanted.pip_alone is not None:
        _run([*pip, "--no-deps", "-r", wanted.pip_alone], folder)
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
        for line in [] if file is None else (folder / file).read_text().splitlines():
            name, _, version = line.partition("#")[0].strip().partition("==")
            if version:
                found[name] = version
    found.update(package.split("==") for package in wanted.sources)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return found


def _constraints(folder: Path) -> list[str]:
    return ["-c", "constraints.txt"] if (folder / "constraints.txt").is_file() else []


def _digest(recipe: Recipe) -> str:
    wanted = recipe.model.install
    folder = recipe.root / recipe.folder
    digest = hashlib.sha256(repr(wanted).encode())
    for name in (wanted.pip, wanted.pip_alone, wanted.npm, "constraints.txt", "package-lock.json"):
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


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise InstallError(f"{command[0]}: {failure}") from None
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        wrong = [line for line in lines if "ERROR" in line or "error" in line]
        raise InstallError(" | ".join((wrong or lines)[-3:])[:600] or f"{command[0]} ended with {done.returncode}")
