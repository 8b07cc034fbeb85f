"""Where the files of a recording lie: a folder on disk, or one packed file held in memory.

Both answer the same three questions (which names, what content, a real directory where one is needed). Names are
relative, with slashes. Knows nothing of what the files mean.
"""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from ..errors import CaptureError

PACKED = (".tar.xz", ".tar.gz", ".tgz", ".tar")
"""How the names of packed recordings end."""


class Source(Protocol):
    """Files by relative name. ``where``: how errors call it."""

    where: str

    def names(self, below: str, suffix: str) -> list[str]:
        """All names below a folder ("" = everywhere) that end so, sorted."""
        ...

    def read(self, name: str) -> bytes | None:
        """The content, or None when there is no such file."""
        ...

    def directory(self, name: str) -> Path | None:
        """A real directory with the files below ``name``, or None when there are none."""
        ...


class Disk:
    """Files below a folder."""

    def __init__(self, root: Path) -> None:
        self.where = str(root)
        self._root = root

    def names(self, below: str, suffix: str) -> list[str]:
        found = (self._root / below).rglob(f"*{suffix}")
        return sorted(path.relative_to(self._root).as_posix() for path in found)

    def read(self, name: str) -> bytes | None:
        try:
            return (self._root / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as broken:
            raise CaptureError(f"the file cannot be read: {broken}", where=f"{self.where}/{name}") from None

    def directory(self, name: str) -> Path | None:
        return self._root / name if (self._root / name).is_dir() else None


class Packed:
    """Files of a packed recording. Directories are unpacked when asked for and live as long as ``stack``."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.where = str(path)
        self._files = _unpacked(path)
        self._stack = stack
        self._directories: dict[str, Path] = {}

    def names(self, below: str, suffix: str) -> list[str]:
        prefix = f"{below}/" if below else ""
        return sorted(name for name in self._files if name.startswith(prefix) and name.endswith(suffix))

    def read(self, name: str) -> bytes | None:
        return self._files.get(name)

    def directory(self, name: str) -> Path | None:
        if name in self._directories:
            return self._directories[name]
        files = {file: content for file, content in self._files.items() if file.startswith(f"{name}/")}
        if not files:
            return None
        place = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fakellm-"))) / Path(name).name
        for file, content in files.items():
            target = place / file.removeprefix(f"{name}/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        return self._directories.setdefault(name, place)


@lru_cache(maxsize=2)
def _unpacked(path: Path) -> Mapping[str, bytes]:
    """Content by name. An archive is somebody else's data: names that lead out of it are refused."""
    if not path.name.endswith(PACKED):
        raise CaptureError(
            "this is neither a folder nor a packed library", where=str(path), hint="a packed library ends in .tar.xz"
        )
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None:
                    files[_safe(member.name, path)] = content.read()
    except (tarfile.TarError, EOFError, OSError) as broken:
        raise CaptureError(f"the packed library cannot be read: {broken}", where=str(path)) from None
    return files


def _safe(name: str, path: Path) -> str:
    parts = Path(name).parts
    if Path(name).is_absolute() or ".." in parts:
        raise CaptureError(f"the packed library holds the name {name!r}, which leads out of it", where=str(path))
    return "/".join(parts)
