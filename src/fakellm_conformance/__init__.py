"""The guard before the package ``fakellm``: makes sure that the one that answers to this name is ours.

The name ``fakellm`` on the package index belongs to another project with the same import name and command. When both
are installed, in either order, each overwrites files of the other, and what breaks is broken silently. So the commands
(and the pytest plugin) come through here: this module imports nothing of ``fakellm`` before it has looked at what is
installed. It knows package metadata and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from importlib.util import find_spec
from pathlib import Path

OURS = "fakellm-conformance"
MARKER = f'__distribution__ = "{OURS}"'
"""Stands in our ``fakellm/__init__.py`` and in no other."""

EXIT_USAGE = 4

MEND = """\
Both use the import name and the command fakellm, so they cannot live in one environment. Mend it with
  python -m pip uninstall --yes fakellm fakellm-conformance
  python -m pip install {source}
or keep this one apart, in an environment of its own:
  uvx --from {source} fakellm"""


def main(arguments: list[str] | None = None) -> None:
    """The commands ``fakellm`` and ``fakellm-conformance``."""
    found = trouble()
    if found is not None:
        print(f"error: {found}", file=sys.stderr)
        sys.exit(EXIT_USAGE)
    from fakellm.cli import main as run

    run(arguments)


def trouble() -> str | None:
    """What is wrong with the installed packages and how to mend it, or None when all is well."""
    foreign = namesake()
    if foreign is not None:
        return f"another distribution brings a package called fakellm: {foreign}.\n{mend()}"
    place = package_file()
    if place is None:
        return f"the package fakellm is not installed completely.\n  python -m pip install --force-reinstall {source()}"
    if MARKER not in place.read_text(encoding="utf-8", errors="replace"):
        owners = ", ".join(foreign_owners(distributions())) or "an unknown distribution"
        return f"the package fakellm in {place.parent} is not ours, but of {owners}.\n{mend()}"
    return None


def mend() -> str:
    """The words that put it right."""
    return MEND.format(source=source())


def source() -> str:
    """What to install ours from: the folder, file or address that it came from (PEP 610), else its name."""
    import json  # needed in trouble alone: this module is loaded before every command
    import shlex
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        told = distribution(OURS).read_text("direct_url.json")
        url = json.loads(told)["url"] if told else OURS
    except (PackageNotFoundError, ValueError, KeyError, TypeError):
        return OURS
    parts = urlsplit(url)
    return shlex.quote(url2pathname(parts.path) if parts.scheme == "file" else url)


def namesake() -> str | None:
    """Name and version of the distribution that is called as our package is, or None. Looked up by name: this runs
    before every command, and reading what every distribution owns would take a quarter of a second."""
    try:
        found = distribution("fakellm")
    except PackageNotFoundError:
        return None
    return f"{found.name} {found.version}"


def foreign_owners(installed: Iterable[Distribution]) -> list[str]:
    """Names and versions of the distributions, other than ours, that own the top-level package ``fakellm``."""
    found = {
        f"{one.name} {one.version}"
        for one in installed
        if one.name and one.name.lower().replace("_", "-") != OURS and _owns_fakellm(one)
    }
    return sorted(found)


def package_file() -> Path | None:
    """Where ``import fakellm`` would lead, without importing it."""
    spec = find_spec("fakellm")
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


def _owns_fakellm(one: Distribution) -> bool:
    if "fakellm" in (one.read_text("top_level.txt") or "").split():
        return True
    return any(file.as_posix() in ("fakellm/__init__.py", "fakellm.py") for file in one.files or ())
