"""Reading recordings: a server folder, a library root, or a packed library (``.tar.xz``).

All three give the same :class:`~fakellm.fidelity.recorded.Folder` values. ``masks.json`` and ``tokenizers/`` are looked
for in the folder, then in its parent, then in the packaged copy. Knows files; knows nothing of layouts or verdicts.
"""

from __future__ import annotations

import json
import re
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self, cast

from pydantic import TypeAdapter, ValidationError

from ..errors import CaptureError
from ..resources import golden
from .recorded import Exchange, Folder, Mask, Masks, Server

PACKED = (".tar.xz", ".tar.gz", ".tgz", ".tar")

_EXCHANGE = TypeAdapter(Exchange)
_SERVER_FIELDS = frozenset(Server.__dataclass_fields__) - {"extra"}


class Library:
    """Recordings that were opened together. Use as a context manager: packed tokenizers are unpacked while it is open."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._stack = ExitStack()
        self._packaged: Path | None = None
        try:
            self.folders: tuple[Folder, ...] = tuple(folder for path in paths for folder in self._open(path))
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self, path: Path) -> Iterable[Folder]:
        if not path.exists():
            raise CaptureError("there is no such file or folder", where=str(path))
        if path.is_file():
            root = self._unpacked(path)
            return [self._read(folder) for folder in _server_folders(root, str(path))]
        if (path / "server.json").is_file():
            return [self._read(path)]
        return [self._read(folder) for folder in _server_folders(path, str(path))]

    def _read(self, path: Path) -> Folder:
        server = _server(path / "server.json")
        exchanges = [_exchange(file) for file in sorted((path / "exchanges").glob("*.json"))]
        return Folder(
            name=path.resolve().name,
            server=server,
            truths=_read_json(path / "truths.json") if (path / "truths.json").is_file() else {},
            exchanges={exchange.name: exchange for exchange in exchanges},
            masks=_masks(self._beside(path, "masks.json"), server.server),
            tokenizer=self._tokenizer(path, server),
        )

    def _tokenizer(self, path: Path, server: Server) -> Path | None:
        if server.tokenizer is None:
            return None
        found = self._beside(path, f"tokenizers/{server.tokenizer}")
        if found is None and not server.gateway:
            raise CaptureError(
                f"the tokenizer {server.tokenizer!r} is not there",
                where=str(path / "server.json"),
                hint=f"put it into {path / 'tokenizers' / server.tokenizer}",
            )
        return found

    def _beside(self, path: Path, name: str) -> Path | None:
        for place in (path, path.resolve().parent):
            if (place / name).exists():
                return place / name
        if self._packaged is None:
            packed = golden()
            self._packaged = path if packed is None else self._unpacked(packed)
        return self._packaged / name if (self._packaged / name).exists() else None

    def _unpacked(self, path: Path) -> Path:
        if not path.name.endswith(PACKED):
            raise CaptureError(
                "this is neither a folder nor a packed library",
                where=str(path),
                hint="a packed library ends in .tar.xz",
            )
        place = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fakellm-")))
        try:
            with tarfile.open(path) as archive:
                _extract(archive, place)
        except (tarfile.TarError, EOFError, OSError) as broken:
            raise CaptureError(f"the packed library cannot be read: {broken}", where=str(path)) from None
        return place


def _extract(archive: tarfile.TarFile, place: Path) -> None:
    """Plain files only, and only below ``place``: an archive is somebody else's data."""
    for member in archive:
        target = (place / member.name).resolve()
        content = archive.extractfile(member) if member.isfile() and target.is_relative_to(place.resolve()) else None
        if content is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.read())


def _server_folders(root: Path, where: str) -> list[Path]:
    found = sorted(file.parent for file in root.rglob("server.json"))
    if not found:
        raise CaptureError(
            "no server.json here or below", where=where, hint="give a server folder, a library root or a packed library"
        )
    return found


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise CaptureError("the file is missing", where=str(path)) from None
    except (OSError, ValueError) as broken:
        raise CaptureError(f"the file cannot be read: {broken}", where=str(path)) from None


def _exchange(path: Path) -> Exchange:
    try:
        return _EXCHANGE.validate_json(path.read_bytes(), strict=True)
    except OSError as unreadable:
        raise CaptureError(f"the file cannot be read: {unreadable}", where=str(path)) from None
    except ValidationError as wrong:
        first = wrong.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise CaptureError(f"{place}: {first['msg']}", where=str(path)) from None


def _server(path: Path) -> Server:
    facts = _read_json(path)
    if not isinstance(facts, dict):
        raise CaptureError("server.json holds no object", where=str(path))
    members = cast("dict[str, Any]", facts)
    for name in ("server", "version"):
        if not isinstance(members.get(name), str):
            raise CaptureError(f"{name}: a string is needed", where=str(path))
    known = {name: value for name, value in members.items() if name in _SERVER_FIELDS and value is not None}
    known["launch"] = tuple(known.get("launch", ()))
    return Server(**known, extra={name: value for name, value in members.items() if name not in _SERVER_FIELDS})


def _masks(path: Path | None, server: str) -> Masks:
    if path is None:
        return Masks()
    facts: Mapping[str, Any] = _read_json(path)
    try:
        rules = tuple(
            Mask(rule["kind"], re.compile(rule["regex"]), rule["replace"]) for rule in facts["servers"].get(server, ())
        )
        return Masks(rules, frozenset(facts["headers"]))
    except (KeyError, TypeError, AttributeError, re.error) as wrong:
        raise CaptureError(f"the masks cannot be read: {wrong!r}", where=str(path)) from None
