"""Seeded chance: the same words give the same numbers on every machine and in every Python.

A :class:`Stream` is an endless row of numbers derived by BLAKE2b from what it is named after (seed, scenario, reply,
choice ...). Nothing here reads a clock, an environment variable or the process's hash seed; ``random`` is not used,
because what its methods draw has changed between Python versions.

>>> Stream(7, "greeting", 0).below(10) == Stream(7, "greeting", 0).below(10)
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import blake2b
from struct import Struct
from typing import TypeVar

T = TypeVar("T")

_WORDS = Struct("<8Q")
_SCALE = 2.0**-64


class Stream:
    """A row of 64-bit numbers named by ``words``; equal words give equal rows, other words unrelated ones."""

    __slots__ = ("_block", "_counter", "_key")

    def __init__(self, *words: object) -> None:
        # Lengths go in as well, so that ("a", "bc") and ("ab", "c") name different rows.
        name = b"".join(b"%d:%s" % (len(text), text) for text in (repr(word).encode() for word in words))
        self._key = blake2b(name, digest_size=32).digest()
        self._counter = 0
        self._block: list[int] = []

    def next(self) -> int:
        """The next number, 0 to 2**64 - 1."""
        if not self._block:
            digest = blake2b(self._counter.to_bytes(8, "little"), key=self._key).digest()
            self._block = list(_WORDS.unpack(digest))
            self._counter += 1
        return self._block.pop()

    def below(self, bound: int) -> int:
        """A whole number from 0 to bound - 1 (the bias of less than bound / 2**64 does not matter here)."""
        return self.next() * bound >> 64

    def unit(self) -> float:
        """A number in the half-open interval 0 to 1."""
        return (self.next() >> 11) * 2.0**-53

    def pick(self, items: Sequence[T]) -> T:
        """One of ``items``, each as likely as the other."""
        return items[self.below(len(items))]

    def normal(self) -> float:
        """A standard normal number (Box-Muller, one of the pair)."""
        radius = math.sqrt(-2.0 * math.log((self.next() + 1) * _SCALE))
        return radius * math.cos(2.0 * math.pi * self.unit())
