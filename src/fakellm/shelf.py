"""What is behind the answers of a stage: played again when somebody asks, let go when much else was asked for since.

A truth is some fifty times as large as the answer it became, and most truths are never looked at. So an answer carries
a :class:`Behind`, which knows how to play it again; the :class:`Shelf` keeps what was played last, up to a number of
tokens. Knows nothing of scenarios, layouts and wires.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Thing = TypeVar("Thing")

MAX_TOKENS = 65_536
"""Tokens whose truths are kept, about 1.5 KB each: a journal of a thousand answers with 50 tokens stays in reach."""


class Shelf(Generic[Thing]):
    """The last things that were made, up to so many tokens; the newest is kept however long it is."""

    def __init__(self, max_tokens: int = MAX_TOKENS) -> None:
        self._max_tokens = max_tokens
        self._kept: OrderedDict[Behind[Thing], int] = OrderedDict()
        self.tokens = 0

    def put(self, behind: Behind[Thing], tokens: int) -> None:
        """Keep it; the oldest make room and are made anew when they are asked for again."""
        self._kept[behind] = tokens
        self.tokens += tokens
        while self.tokens > self._max_tokens and len(self._kept) > 1:
            oldest, weight = self._kept.popitem(last=False)
            oldest.made = None
            self.tokens -= weight

    def clear(self) -> None:
        """Keep nothing of what was."""
        for behind in self._kept:
            behind.made = None
        self._kept.clear()
        self.tokens = 0


class Behind(Generic[Thing]):
    """One thing, made when it is called for. ``made``: kept by the shelf, None = not now."""

    __slots__ = ("_make", "_shelf", "_weigh", "made")

    def __init__(
        self,
        shelf: Shelf[Thing],
        make: Callable[[], Thing],
        weigh: Callable[[Thing], int],
        made: Thing | None = None,
    ) -> None:
        self._shelf = shelf
        self._make = make
        self._weigh = weigh
        self.made: Thing | None = None
        if made is not None:
            self._keep(made)

    def __call__(self) -> Thing:
        return self.made if self.made is not None else self._keep(self._make())

    def _keep(self, made: Thing) -> Thing:
        self.made = made
        self._shelf.put(self, self._weigh(made))
        return made
