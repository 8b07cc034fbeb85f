"""Reading recordings: a server folder, a library root, or a packed library (``.tar.xz``).

All three give the same :class:`~fakellm.fidelity.recorded.Folder` values. ``masks.json`` and ``tokenizers/`` are looked
for in the folder, then in its parent, then in the packaged copy. Knows the format of the files; no layout, no verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import Any, Self, cast

from pydantic import TypeAdapter, ValidationError

from ..errors import CaptureError
from ..resources import golden
from .recorded import Exchange, Folder, Mask, Masks, Server
from .sources import Disk, Packed, Source

_EXCHANGE = TypeAdapter(Exchange)
_SERVER = TypeAdapter(Server)
_SERVER_FIELDS = frozenset(Server.__dataclass_fields__) - {"extra"}


class Library:
    """Recordings that were opened together: ``folders``. A context manager: what it unpacks lives while it is open."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._stack = ExitStack()
        self._packaged: Source | None = None
        with ExitStack() as on_failure:
            on_failure.callback(self._stack.close)
            self.folders: tuple[Folder, ...] = tuple(folder for path in paths for folder in self._open(path))
            on_failure.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self, path: Path) -> Iterator[Folder]:
        if not path.exists():
            raise CaptureError("there is no such file or folder", where=str(path))
        if (path / "server.json").is_file():
            place = path.resolve()
            yield self._read(Disk(place.parent), place.name)
            return
        source = Packed(path, self._stack) if path.is_file() else Disk(path)
        found = sorted(str(PurePosixPath(name).parent) for name in source.names("", "server.json"))
        if not found:
            hint = "give a server folder, a library root or a packed library"
            raise CaptureError("no server.json here or below", where=str(path), hint=hint)
        yield from (self._read(source, folder) for folder in found)

    def _read(self, source: Source, folder: str) -> Folder:
        server = _server(source, folder)
        exchanges = [_exchange(source, name) for name in source.names(f"{folder}/exchanges", ".json")]
        truths = _read_json(source, f"{folder}/truths.json")
        return Folder(
            name=PurePosixPath(folder).name,
            server=server,
            truths={} if truths is None else truths,
            exchanges={exchange.name: exchange for exchange in exchanges},
            masks=self._masks(source, folder, server.server),
            tokenizer=self._tokenizer(source, folder, server),
        )

    def _masks(self, source: Source, folder: str, server: str) -> Masks:
        for place, name in self._beside(source, folder, "masks.json"):
            facts = _read_json(place, name)
            if facts is not None:
                return _masks(facts, server, f"{place.where}/{name}")
        return Masks()

    def _tokenizer(self, source: Source, folder: str, server: Server) -> Path | None:
        if server.tokenizer is None or server.gateway:
            return None
        for place, name in self._beside(source, folder, f"tokenizers/{server.tokenizer}"):
            found = place.directory(name)
            if found is not None:
                return found
        where = f"{source.where}/{folder}"
        hint = f"put it into {where}/tokenizers/{server.tokenizer}"
        raise CaptureError(f"the tokenizer {server.tokenizer!r} is not there", where=f"{where}/server.json", hint=hint)

    def _beside(self, source: Source, folder: str, name: str) -> Iterator[tuple[Source, str]]:
        """The places in which a shared file may lie, nearest first; the packaged copy is opened only when needed."""
        yield source, f"{folder}/{name}"
        yield source, str(PurePosixPath(folder).parent / name)
        packaged = golden()
        if self._packaged is None and packaged is not None:
            self._packaged = Packed(packaged, self._stack)
        if self._packaged is not None:
            yield self._packaged, name


def _read_json(source: Source, name: str) -> Any:
    """The JSON value of a file, None when there is no such file."""
    data = source.read(name)
    if data is None:
        return None
    try:
        return json.loads(data)
    except ValueError as broken:
        raise CaptureError(f"the file cannot be read: {broken}", where=f"{source.where}/{name}") from None


def _exchange(source: Source, name: str) -> Exchange:
    try:
        return _EXCHANGE.validate_json(source.read(name) or b"", strict=True)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise CaptureError(f"{place}: {first['msg']}", where=f"{source.where}/{name}") from None


def _server(source: Source, folder: str) -> Server:
    where = f"{source.where}/{folder}/server.json"
    facts = _read_json(source, f"{folder}/server.json")
    if not isinstance(facts, dict):
        raise CaptureError("server.json holds no object", where=where)
    members = cast("dict[str, Any]", facts)
    for name in ("server", "version"):
        if not isinstance(members.get(name), str):
            raise CaptureError(f"{name}: a string is needed", where=where)
    known = {name: value for name, value in members.items() if name in _SERVER_FIELDS and value is not None}
    extra = {name: value for name, value in members.items() if name not in _SERVER_FIELDS}
    try:
        return _SERVER.validate_python({**known, "extra": extra})
    except ValidationError as wrong:
        first = wrong.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise CaptureError(f"{place}: {first['msg']}", where=where) from None


def _masks(facts: Mapping[str, Any], server: str, where: str) -> Masks:
    try:
        rules = tuple(
            Mask(rule["kind"], re.compile(rule["regex"]), rule["replace"]) for rule in facts["servers"].get(server, ())
        )
        return Masks(rules, frozenset(facts["headers"]))
    except (KeyError, TypeError, AttributeError, re.error) as wrong:
        raise CaptureError(f"the masks cannot be read: {wrong!r}", where=where) from None
