"""Pack a golden library into the one file that this repository carries.

    python tools/pack_golden.py PATH_OF_THE_LIBRARY [tests/golden/golden.tar.xz]

Everything goes in but ``models/`` (only needed where a real server runs) and the README (ours is beside the archive).
The same library always gives the same bytes: names are sorted, times and owners are zero. Exchanges are written
compactly; their bodies are strings inside the JSON and stay untouched.
"""

from __future__ import annotations

import io
import json
import lzma
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

LEFT_OUT = {"models", "README.md"}


def members(library: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file that is packed, sorted by name."""
    for path in sorted(path for path in library.rglob("*") if path.is_file()):
        name = path.relative_to(library)
        if name.parts[0] in LEFT_OUT:
            continue
        yield name.as_posix(), content(path)


def content(path: Path) -> bytes:
    """The file, exchanges and truths without the blanks between their members."""
    data = path.read_bytes()
    if path.parent.name == "exchanges" or path.name == "truths.json":
        return json.dumps(json.loads(data), ensure_ascii=False, separators=(",", ":")).encode()
    return data


def pack(library: Path, target: Path) -> int:
    """Write the archive; returns the number of files in it."""
    count = 0
    with (
        lzma.open(target, "wb", preset=9 | lzma.PRESET_EXTREME) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name, data in members(library):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(data))
            count += 1
    return count


def main(arguments: list[str]) -> int:
    if not 1 <= len(arguments) <= 2 or not Path(arguments[0]).is_dir():
        print(__doc__, file=sys.stderr)
        return 4
    target = Path(arguments[1]) if len(arguments) > 1 else Path(__file__).parent.parent / "tests/golden/golden.tar.xz"
    count = pack(Path(arguments[0]), target)
    print(f"{count} files, {target.stat().st_size:,} bytes in {target}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
