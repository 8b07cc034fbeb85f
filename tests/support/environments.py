"""Environments of their own, made of what is installed here: no index is asked, and nothing else can be imported.

``environment`` makes a virtual environment that holds exactly the named distributions and what they require, as links
into this one's site-packages. Tests that ask "does it work with only this installed" stand on it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement


def environment(place: Path, names: Iterable[str]) -> Path:
    """Make it and give its python."""
    venv.create(place, symlinks=True, with_pip=False)
    python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    site = site_of(python)
    for one in closure(names):
        link(one, site)
    return python


def site_of(python: Path) -> Path:
    """The site-packages of an interpreter."""
    words = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    return Path(subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip())


def closure(names: Iterable[str]) -> list[Distribution]:
    """The distributions of those names and everything that they require here, each once."""
    found: dict[str, Distribution] = {}
    waiting = list(names)
    while waiting:
        wanted = Requirement(waiting.pop())
        key = re.sub(r"[-_.]+", "-", wanted.name).lower()
        if key in found:
            continue
        try:
            found[key] = distribution(key)
        except PackageNotFoundError:
            continue  # a requirement of another platform, or an extra that is not installed here
        extras = wanted.extras or {""}
        for line in found[key].requires or ():
            needed = Requirement(line)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(line)
    return list(found.values())


def link(one: Distribution, site: Path) -> None:
    """Links to a distribution's modules and metadata, but not to its commands."""
    tops = {Path(file.parts[0]) for file in one.files or () if file.parts[0] not in ("..", "__pycache__")}
    for top in tops:
        source, target = Path(str(one.locate_file(top))), site / top
        if source.exists() and not target.exists():
            target.symlink_to(source, target_is_directory=source.is_dir())
