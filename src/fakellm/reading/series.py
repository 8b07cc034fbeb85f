"""One value of one choice while it comes in: the pieces in the order of their messages, and how they join.

Most streams send each message's new part (``delta``); SGLang's native stream repeats everything so far
(``cumulative``), list by list as versions differ. Which it is shows in the token count beside each piece, else in
whether every piece begins with the one before. Pure; knows no wire.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Series:
    """Pieces of one value. ``counts``: the server's own running count at each piece, None where it gave none."""

    pieces: list[Any] = field(default_factory=list[Any])
    counts: list[int | None] = field(default_factory=list[int | None])

    def add(self, piece: Any, count: int | None = None) -> None:
        self.pieces.append(piece)
        self.counts.append(count)

    def repeats(self) -> bool | None:
        """Whether each piece repeats all so far; None when nothing tells (no piece, or only one)."""
        if len(self.pieces) < 2:
            return None
        lengths = [len(piece) for piece in self.pieces]
        known = [(length, count) for length, count in zip(lengths, self.counts, strict=True) if count is not None]
        if len(known) == len(lengths):
            if all(length == count for length, count in known):
                return True
            if _running(lengths) == [count for _, count in known]:
                return False
        return _grows(self.pieces) and lengths[-1] > 0

    def joined(self, repeats: bool) -> list[Any]:
        """All elements: the last piece, or the pieces one after the other."""
        if repeats:
            return list(self.pieces[-1]) if self.pieces else []
        return [element for piece in self.pieces for element in piece]


def _running(lengths: Sequence[int]) -> list[int]:
    total, sums = 0, list[int]()
    for length in lengths:
        total += length
        sums.append(total)
    return sums


def _grows(pieces: Sequence[Any]) -> bool:
    return all(later[: len(earlier)] == earlier for earlier, later in itertools.pairwise(pieces))
