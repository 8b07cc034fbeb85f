"""Every guard of the fake, with the probe that fails when it is taken out (``mechanism.Guard``)."""

from __future__ import annotations

from .bodies import GUARDS as BODIES
from .connections import GUARDS as CONNECTIONS
from .deaths import GUARDS as DEATHS
from .gates import GUARDS as GATES
from .mechanism import Arena, Guard, little_patience
from .records import GUARDS as RECORDS

GUARDS: tuple[Guard, ...] = (*CONNECTIONS, *BODIES, *RECORDS, *DEATHS, *GATES)

__all__ = ["GUARDS", "Arena", "Guard", "little_patience"]
