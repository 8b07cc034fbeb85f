"""Clock and chance: what an answer depends on beside the request, handed to stations as a value.

:class:`FixedContext` stands still and counts its ids from a seed (tests, fidelity, ``play``); :class:`LiveContext`
reads the real clock (the server) and takes its ids from a seed or from the system. Both satisfy
``layouts.base.Context``. This module is the only one below the server that may read the clock.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from hashlib import blake2b
from typing import Any


class SeededIds:
    """Hex strings that look random, never repeat and depend only on the seed and their ordinal."""

    def __init__(self, seed: int | str | bytes, drawn: int = 0) -> None:
        self._seed = seed if isinstance(seed, bytes) else str(seed).encode()
        self._count = drawn

    @property
    def drawn(self) -> int:
        """How many were given."""
        return self._count

    def after(self, drawn: int) -> SeededIds:
        """The same ids from there on."""
        return SeededIds(self._seed, drawn)

    def hex(self, digits: int) -> str:
        self._count += 1
        found = ""
        while len(found) < digits:
            drawn = blake2b(b"%b:%d:%d" % (self._seed, self._count, len(found)), digest_size=16).hexdigest()
            found = uuid4_hex(drawn) + found
        return found[-digits:]


def uuid4_hex(drawn: str) -> str:
    """32 random hex digits as a uuid4 has them: version 4, and a variant digit from 8 to b.

    Servers cut their ids from the end of one, which is why vLLM's 16 digits begin with 8, 9, a or b.
    """
    return f"{drawn[:12]}4{drawn[13:16]}{'89ab'[int(drawn[16], 16) & 3]}{drawn[17:]}"


class FixedContext:
    """A clock that moves only when told to, and ids from a seed.

    ``now``: seconds since 1970. ``timing``: the reply's timing, or None for "everything is due at once".
    """

    def __init__(self, now: float = 0.0, seed: int | str = 0, timing: Any = None) -> None:
        self._now = now
        self._ids = SeededIds(seed)
        self._timing = timing

    def now(self) -> float:
        return self._now

    def hex(self, digits: int) -> str:
        return self._ids.hex(digits)

    def timing(self) -> Any:
        return self._timing

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds

    def set_timing(self, timing: Any) -> None:
        """The timing of the next reply."""
        self._timing = timing


class RequestContext:
    """The Context of one request: ids from a seed, the server's clock read once, the reply's timing."""

    __slots__ = ("_clock", "_heard", "_ids", "_read", "_timing", "hex")

    def __init__(self, clock: Callable[[], float], ids: SeededIds, timing: Any = None) -> None:
        self.hex = ids.hex
        self._clock = clock
        self._ids = ids
        self._heard = 0
        self._read: float | None = None
        self._timing = timing

    def now(self) -> float:
        if self._read is None:
            self._read = self._clock()
        return self._read

    def heard(self) -> None:
        """The request is read: what is drawn from here on belongs to its answer."""
        self._heard = self._ids.drawn

    def again(self) -> RequestContext:
        """A context in which the same answer gets the same ids and the same time once more."""
        return RequestContext(self.now, self._ids.after(self._heard), self._timing)

    def timing(self) -> Any:
        return self._timing

    def timed(self, timing: Any) -> RequestContext:
        """The same context with the timing of a reply."""
        self._timing = timing
        return self


class LiveContext:
    """The real clock. ``seed`` None: ids come from the system's random source; otherwise they are counted from it."""

    def __init__(self, seed: int | str | None = None, timing: Any = None) -> None:
        self._ids = None if seed is None else SeededIds(seed)
        self._timing = timing

    def now(self) -> float:
        return time.time()

    def hex(self, digits: int) -> str:
        if self._ids is not None:
            return self._ids.hex(digits)
        found = ""
        while len(found) < digits:
            found = uuid4_hex(secrets.token_hex(16)) + found
        return found[-digits:]

    def timing(self) -> Any:
        return self._timing
