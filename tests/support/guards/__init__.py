"""Every guard of the fake, with the probe that fails when it is taken out (``mechanism.Guard``)."""

from __future__ import annotations

from .bodies import GUARDS as BODIES
from .connections import GUARDS as CONNECTIONS
from .mechanism import Arena, Guard, little_patience

GUARDS: tuple[Guard, ...] = (*CONNECTIONS, *BODIES)

__all__ = ["GUARDS", "Arena", "Guard", "little_patience"]
