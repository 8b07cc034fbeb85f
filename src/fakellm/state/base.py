"""The contract of a state, and the one of a single process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..aborting import Elsewhere
from ..scenario.match import Counters, MemoryCounters
from ..scenario.model import Scenario


class State(Protocol):
    """What replicas of one fake share. Calls are short and may block for a round trip to a neighbour."""

    salt: str
    """Goes into the random ids: differs where two processes count ordinals apart, so that no id appears twice."""

    def counters(self, scenario: Scenario) -> Counters:
        """Counters of a scenario's replies, the same for every replica."""
        ...

    def armed_counters(self) -> Counters:
        """Counters of faults armed by hand, by their slots (``fakellm.armed``)."""
        ...

    def ordinal(self, digest: bytes) -> int | None:
        """How many equal requests came before, over all replicas; None = each process counts for itself."""
        ...

    def publish(self, exchange: Mapping[str, Any]) -> None:
        """An exchange has ended; ``exchange`` is its journal entry as JSON."""
        ...

    def journal(self) -> Sequence[Mapping[str, Any]] | None:
        """The entries of all replicas, oldest first; None = the journal lives in each process."""
        ...

    @property
    def publishes(self) -> bool:
        """Whether ``publish`` does anything (entries cost something to make)."""
        ...

    def elsewhere(self, scenario: str) -> Elsewhere | None:
        """The other replicas, as far as answers of this scenario are on their way there; None = they are not known."""
        ...

    def reset(self) -> None:
        """Forget everything that is shared."""
        ...


class LocalState:
    """Everything in this process."""

    salt = ""
    publishes = False

    def counters(self, scenario: Scenario) -> Counters:
        return MemoryCounters()

    def armed_counters(self) -> Counters:
        return MemoryCounters()

    def ordinal(self, digest: bytes) -> int | None:
        return None

    def publish(self, exchange: Mapping[str, Any]) -> None:
        """Nobody else to tell."""

    def journal(self) -> Sequence[Mapping[str, Any]] | None:
        return None

    def elsewhere(self, scenario: str) -> Elsewhere | None:
        return None

    def reset(self) -> None:
        """The scripts and the journal reset themselves."""
