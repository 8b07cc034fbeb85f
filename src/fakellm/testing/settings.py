"""What a test chose: layout, scenario, faults, and how strict the end is; read from a marker, options and ini values.

The nearest word wins: the marker over the command line, the command line over the ini file, and all of them over a
scenario's own ``server:`` section. Pure; opens no file and imports nothing of pytest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from ..errors import UsageError, did_you_mean

EMPTY: Mapping[str, Any] = MappingProxyType({})
STRICTNESS = ("fail", "ignore")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The choices of one handle.

    ``scenario``: a file, a folder, or the data of one (a mapping as in a file, or its list of replies). ``layouts``:
    run the test once for each. ``options``: the vendor's launch words. ``faults``: on every answer, before a reply's
    own. ``unmatched`` and ``unused``: ``fail`` or ``ignore``. ``folder``: where relative paths start.
    """

    scenario: Any = None
    layout: str | None = None
    layouts: tuple[str, ...] = ()
    model: str | None = None
    tokenizer: str | None = None
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    faults: tuple[Any, ...] = ()
    seed: int = 0
    unmatched: str = "fail"
    unused: str = "fail"
    folder: Path = field(default_factory=Path)

    def updated(self, given: Mapping[str, Any], *, where: str) -> Settings:
        """The same with these words in place of the old ones (None leaves a word alone); raises UsageError."""
        known = [one.name for one in fields(self) if one.name != "folder"]
        for name in given:
            if name not in known:
                raise UsageError(
                    f"there is no setting {name!r}",
                    where=where,
                    hint=did_you_mean(name, known) or f"settings are {', '.join(known)}",
                )
        words = {name: _checked(name, value, where) for name, value in given.items() if value is not None}
        return replace(self, **words)


def _checked(name: str, value: Any, where: str) -> Any:
    if name in ("options", "layouts", "faults"):
        return _listed(value)
    if name in ("unmatched", "unused"):
        if value not in STRICTNESS:
            raise UsageError(f"{name} is {' or '.join(STRICTNESS)}, not {value!r}", where=where)
        return value
    if name == "seed":
        return _number(value, where)
    if name in ("layout", "model", "tokenizer") and not isinstance(value, str):
        raise UsageError(f"{name} is a name, not {value!r}", where=where)
    return value


def _listed(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) else (value,)


def _number(value: Any, where: str) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise UsageError(f"the seed is a whole number, not {value!r}", where=where) from None
