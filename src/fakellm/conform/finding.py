"""What a check says about an observation, and the two dimensions in which it says it.

``level`` is how much the requirement weighs, ``outcome`` what happened; they are never mixed (CONFORMANCE section 7;
the third dimension, standing, belongs to the baseline). This module knows no check, no case and no report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

EMPTY: Mapping[str, Any] = MappingProxyType({})


class Level(StrEnum):
    """How much a requirement weighs."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    INFO = "INFO"


class Outcome(StrEnum):
    """What came of one check in one case."""

    PASS = "PASS"
    FAIL = "FAIL"
    UNTESTED = "UNTESTED"
    NOT_APPLICABLE = "N/A"
    ERROR = "ERROR"


class Blame(StrEnum):
    """Whose mistake a finding shows."""

    CLIENT = "client"
    GATEWAY = "gateway"
    SERVER = "server"
    HARNESS = "harness"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One outcome of one check in one case.

    ``where``: the value in question, such as ``choices[0].logprobs[17]`` ("" = the exchange as a whole). ``message``:
    one sentence for a person, naming what was expected and what was there. ``choice`` / ``position``: the first
    divergence, for the alignment strip (None = no single token). ``expected`` / ``got``: the two values, JSON-able and
    short. ``diagnosis``: what kind of damage it looks like ("scores are shifted by one from position 17").
    ``level`` repeats the check's level, or is the level that the oracle gives it in this case.
    """

    check: str
    level: Level
    outcome: Outcome
    case: str = ""
    where: str = ""
    message: str = ""
    choice: int | None = None
    position: int | None = None
    expected: Any = None
    got: Any = None
    diagnosis: str | None = None
    details: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
