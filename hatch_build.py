"""Puts the data beside the code into the wheel, under ``fakellm/_data`` (``fakellm.resources`` finds it there).

Only what stands in ``DATA`` goes in, and never what a run leaves behind: environments, node modules, caches, results.
An editable install needs none of it, because there the checkout itself is found.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DATA = {
    "scenarios": "scenarios",
    "conformance/cases": "conformance/cases",
    "conformance/profiles": "conformance/profiles",
    "conformance/adapters": "conformance/adapters",
    "tests/golden/golden.tar.xz": "golden.tar.xz",
    "tests/golden/shapes.json.xz": "shapes.json.xz",
}
"""path in the checkout -> path below ``fakellm/_data``."""

LEFT_OUT = {".venv", "venv", "env", "node_modules", "target", "bin", "obj", "__pycache__", "results"}


class DataHook(BuildHookInterface[Any]):
    """Hatchling calls ``initialize`` before it builds."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        for source, target in DATA.items():
            for path in files(root / source):
                name = Path("fakellm/_data", target, path.relative_to(root / source))
                build_data["force_include"][str(path)] = name.as_posix()


def files(place: Path) -> Iterator[Path]:
    """Every file at or below ``place`` that may ship."""
    if place.is_file():
        yield place
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and not name.startswith("."))
        yield from (
            Path(folder, name) for name in sorted(names) if not name.startswith(".") and not name.endswith(".pyc")
        )
