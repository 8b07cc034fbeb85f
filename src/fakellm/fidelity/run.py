"""A whole fidelity run: every exchange of the given recordings, replayed and judged, and what a person is told.

Nothing is skipped but by ``only``; captures of gateways are not played (a fake imitates servers) and not in the total.
Files are read through ``library``, everything else here is pure.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..errors import FakellmError
from ..layouts import registry
from ..layouts.base import Station
from ..tokenizer import Tokenizer, load
from .compare import DIFFERS, EQUAL, EXACT, Verdict, compare
from .library import Library
from .play import launch_of, play
from .recorded import Exchange, Folder

LoadTokenizer = Callable[[Folder], Tokenizer]
FindStart = Callable[[Folder], Callable[[], Station]]


@dataclass(frozen=True, slots=True)
class Judged:
    """One exchange and its verdict."""

    folder: str
    name: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a run. ``gateways``: folders that were left out; ``notes``: which layout stood in for which."""

    judged: tuple[Judged, ...]
    gateways: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def count(self, verdict: str) -> int:
        return sum(1 for entry in self.judged if entry.verdict.verdict == verdict)

    @property
    def holds(self) -> bool:
        """Did something run, and does nothing differ?"""
        return bool(self.judged) and not self.count(DIFFERS)

    def to_json(self) -> dict[str, Any]:
        """The object that ``fakellm fidelity --json`` prints."""
        return {
            "total": len(self.judged),
            "exact": self.count(EXACT),
            "equal": self.count(EQUAL),
            "differs": self.count(DIFFERS),
            "exchanges": [
                {
                    "folder": entry.folder,
                    "name": entry.name,
                    "verdict": entry.verdict.verdict,
                    "where": entry.verdict.where,
                    "detail": entry.verdict.detail,
                }
                for entry in self.judged
            ],
        }

    def to_text(self, *, shown: int = 20) -> str:
        """A table by folder, then the first ``shown`` differences (0 = all)."""
        return "\n".join([*_table(self), *_differences(self, shown)])


def run(paths: Iterable[Path], only: Sequence[str] = ()) -> Report:
    """Replay everything under ``paths``; ``only``: globs on ``name`` or ``folder/name``, any of which must match."""
    judged: list[Judged] = []
    gateways: list[str] = []
    notes: list[str] = []
    with Library(paths) as library:
        for folder in library.folders:
            if folder.server.gateway:
                gateways.append(folder.name)
                continue
            chosen = [exchange for exchange in folder.exchanges.values() if _wanted(folder, exchange, only)]
            if chosen:
                judged.extend(_folder(folder, chosen, notes))
    return Report(tuple(judged), tuple(gateways), tuple(notes))


def judge(folder: Folder, exchange: Exchange, start: Callable[[], Station]) -> Verdict:
    """Replay and compare one exchange. A layout that breaks down is a difference, never a broken run."""
    try:
        replayed = play(folder, exchange, start)
    except FakellmError as refused:
        return Verdict(DIFFERS, "replay", refused.message)
    except Exception as broken:  # noqa: BLE001 - whatever a layout throws is its verdict
        return Verdict(DIFFERS, "replay", _breakdown(broken))
    return compare(exchange, replayed, folder.masks, folder.server.tolerance)


def _folder(folder: Folder, exchanges: Sequence[Exchange], notes: list[str]) -> Iterator[Judged]:
    try:
        start, note = _start(folder)
    except Exception as broken:  # noqa: BLE001 - a layout that cannot start fails its folder, not the run
        detail = broken.message if isinstance(broken, FakellmError) else _breakdown(broken)
        yield from (Judged(folder.name, exchange.name, Verdict(DIFFERS, "launch", detail)) for exchange in exchanges)
        return
    if note is not None:
        notes.append(f"{folder.name}: {note}")
    for exchange in exchanges:
        yield Judged(folder.name, exchange.name, judge(folder, exchange, start))


def _breakdown(broken: Exception) -> str:
    place = traceback.extract_tb(broken.__traceback__)[-1]
    return f"the layout broke down: {type(broken).__name__}: {broken} ({Path(place.filename).name}:{place.lineno})"


def _start(folder: Folder) -> tuple[Callable[[], Station], str | None]:
    found = registry.find(folder.server.layout)
    launch = launch_of(folder, load(folder.tokenizer))
    found.layout.start(launch)  # launch options that it does not know are told once, before the first exchange
    return lambda: found.layout.start(launch), found.note


def _wanted(folder: Folder, exchange: Exchange, only: Sequence[str]) -> bool:
    names = (exchange.name, f"{folder.name}/{exchange.name}")
    return not only or any(fnmatchcase(name, pattern) for pattern in only for name in names)


def _table(report: Report) -> Iterator[str]:
    folders: dict[str, list[str]] = {}
    for entry in report.judged:
        folders.setdefault(entry.folder, []).append(entry.verdict.verdict)
    width = max([len("folder"), *(len(name) for name in folders)])
    yield f"{'folder':<{width}}  {'total':>6} {'exact':>6} {'equal':>6} {'differs':>8}"
    for name, verdicts in folders.items():
        counts = [verdicts.count(verdict) for verdict in (EXACT, EQUAL, DIFFERS)]
        yield f"{name:<{width}}  {len(verdicts):>6} {counts[0]:>6} {counts[1]:>6} {counts[2]:>8}"
    if len(folders) > 1:
        counts = [report.count(verdict) for verdict in (EXACT, EQUAL, DIFFERS)]
        yield f"{'total':<{width}}  {len(report.judged):>6} {counts[0]:>6} {counts[1]:>6} {counts[2]:>8}"


def _differences(report: Report, shown: int) -> Iterator[str]:
    differing = [entry for entry in report.judged if entry.verdict.verdict == DIFFERS]
    listed = differing[:shown] if shown else differing
    if listed:
        yield ""
    for entry in listed:
        yield f"{entry.folder}/{entry.name}\n  at {entry.verdict.where}: {entry.verdict.detail}"
    if len(differing) > len(listed):
        yield f"... and {len(differing) - len(listed)} more"
