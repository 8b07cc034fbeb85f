"""Where the truth of an answer comes from, as a stage sees it: a reply to a request, or none.

A scenario's script is a :class:`Source` (``house``), and so is what a test scripts. Data and contracts only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

from .ask import Ask
from .generation import Generation
from .layouts.base import Layout


@dataclass(frozen=True, slots=True)
class Reply:
    """What a source answers with. ``generate``: the truth for an ask (faults may have changed what the server heard);
    ``faults``: as scenario entries or FaultCalls; ``key``: equal keys mean equal truth for equal requests, None = the
    reply has state (times, then) and must be asked for again; ``ordinal``: how often this reply was given before."""

    generate: Callable[[Ask], tuple[Generation, ...]]
    faults: tuple[Any, ...] = ()
    timing: Any = None
    key: Hashable | None = None
    ordinal: int = 0
    name: str = ""


class Unmatched(Exception):
    """No reply of the scenario fits: carries the ready 501 body (a JSON value)."""

    def __init__(self, body: Any) -> None:
        super().__init__("no reply matches this request")
        self.body = body


class ByHand(Protocol):
    """Faults that somebody armed while the server runs (``fakellm.armed``)."""

    def waits(self, scenario: str) -> bool:
        """Whether any may touch an answer of this scenario."""
        ...

    def take(self, scenario: str, ask: Ask, layout: Layout) -> tuple[Any, ...]:
        """Those for this answer, which then count as played."""
        ...


class Source(Protocol):
    """Where the truth comes from."""

    def reply(self, ask: Ask) -> Reply:
        """The reply to a request; raises Unmatched."""
        ...
