"""Objects with named fields: request bodies and what nests in them.

A :class:`Field` may be known to some versions only (``since``, ``until``: first version that does not know it any
more); :meth:`Record.at` gives the record as one version has it. Order of fields = order of the flaws. Knows no API.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from .flaws import Flaw, Path
from .kinds import Flaws, Kind

Version = tuple[int, ...]


class Absent:
    """The default of a field that has none."""


REQUIRED: Final = Absent()
OMITTED: Final = Absent()
"""The default of a key that may be left out and then is not there at all (typed dictionaries)."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field. ``default``: a value, REQUIRED or OMITTED. ``alias``: its name on the wire when that differs."""

    name: str
    kind: Kind
    default: Any = None
    since: Version = ()
    until: Version | None = None

    def known_at(self, version: Version) -> bool:
        return self.since <= version and (self.until is None or version < self.until)


def _place(entry: tuple[int, Field]) -> int:
    return entry[0]


@dataclass(frozen=True, slots=True)
class Record:
    """An object. ``name``: its label as a union member. ``nature``: what the server makes of it, which shows in the
    flaw of a wrong type: a ``model``, a ``dictionary`` or a ``dataclass``. ``strict``: unknown names are flaws."""

    name: str
    fields: tuple[Field, ...]
    nature: str = "model"
    strict: bool = False
    _known: Mapping[str, tuple[int, Field]] = field(init=False, repr=False, compare=False)
    _defaults: Mapping[str, Any] = field(init=False, repr=False, compare=False)
    _required: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Derive what every check needs, once."""
        optional = {known.name: known.default for known in self.fields if not isinstance(known.default, Absent)}
        required = frozenset(known.name for known in self.fields if known.default is REQUIRED)
        object.__setattr__(self, "_known", {known.name: (place, known) for place, known in enumerate(self.fields)})
        object.__setattr__(self, "_defaults", optional)
        object.__setattr__(self, "_required", required)

    @property
    def label(self) -> str:
        return self.name

    def exact(self, value: Any) -> bool:
        if not isinstance(value, dict) or not self._required <= value.keys():
            return False
        members = cast("dict[str, Any]", value)
        return all(self._known[name][1].kind.exact(item) for name, item in members.items() if name in self._known)

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        if not isinstance(value, dict):
            flaws.append(self._wrong_type(value, path))
            return value
        members = cast("dict[str, Any]", value)
        checked = dict(self._defaults)
        present = [self._known[name] for name in members if name in self._known]
        present += [self._known[name] for name in self._required if name not in members]
        for _, known in sorted(present, key=_place):
            if known.name in members:
                checked[known.name] = known.kind.check(members[known.name], (*path, known.name), flaws)
            else:
                flaws.append(Flaw("missing", (*path, known.name), "Field required", value))
        if self.strict:
            for name in [name for name in members if name not in self._known]:
                message = "Extra inputs are not permitted"
                flaws.append(Flaw("extra_forbidden", (*path, name), message, members[name]))
        return checked

    def _wrong_type(self, value: Any, path: Path) -> Flaw:
        if self.nature == "dictionary":
            return Flaw("dict_type", path, "Input should be a valid dictionary", value)
        if self.nature == "dataclass":
            message = f"Input should be a dictionary or an instance of {self.name}"
            return Flaw("dataclass_type", path, message, value, {"class_name": self.name})
        message = "Input should be a valid dictionary or object to extract fields from"
        return Flaw("model_attributes_type", path, message, value)

    def names(self) -> frozenset[str]:
        """The recognised names; all others are ignored."""
        return frozenset(self._known)

    def at(self, version: Version) -> Record:
        """This record with the fields that a version knows. A name may stand twice with disjoint versions."""
        return replace(self, fields=tuple(known for known in self.fields if known.known_at(version)))


def _members(value: Any, names: frozenset[str] | None = None) -> int:
    """How many members a value has, those inside its members counted; ``names``: only these at the top."""
    if isinstance(value, list):
        return sum(_members(item) for item in cast("list[Any]", value))
    if not isinstance(value, dict):
        return 0
    members = cast("dict[str, Any]", value)
    return sum(1 + _members(item) for name, item in members.items() if names is None or name in names)


@dataclass(frozen=True, slots=True)
class Branches:
    """A body that may be one of several records: the one that knows most members of it, or the first of those that
    know as many; when none fits, the flaws of all, labelled by their names."""

    records: tuple[Record, ...]

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        best: tuple[int, Any] | None = None
        for record in self.records:
            trial: Flaws = []
            checked = record.check(value, path, trial)
            known = 0 if trial else _members(cast("dict[str, Any]", value), record.names())
            if not trial and (best is None or known > best[0]):
                best = (known, checked)
        if best is not None:
            return best[1]
        for record in self.records:
            record.check(value, (*path, record.label), flaws)
        return value

    def names(self) -> frozenset[str]:
        """The names that any of the records recognises."""
        return frozenset[str]().union(*(record.names() for record in self.records))
