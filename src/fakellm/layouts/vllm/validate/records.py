"""Objects with named fields: request bodies and what nests in them.

A :class:`Field` may be known to some versions only (``since``, ``until``: first version that does not know it any
more); :meth:`Record.at` gives the record as one version has it. Order of fields = order of the flaws. Knows no API.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from .flaws import Flaw, Path
from .kinds import Flaws, Kind

Version = tuple[int, ...]


class _Required:
    """The default of a field that has none."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()
OMITTED: Final = _Required()
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


@dataclass(frozen=True, slots=True)
class Record:
    """An object. ``name``: its label as a union member. ``nature``: what the server makes of it, which shows in the
    flaw of a wrong type: a ``model``, a ``dictionary`` or a ``dataclass``. ``strict``: unknown names are flaws."""

    name: str
    fields: tuple[Field, ...]
    nature: str = "model"
    strict: bool = False

    @property
    def label(self) -> str:
        return self.name

    def exact(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        members = cast("dict[str, Any]", value)
        return all(
            field.kind.exact(members[field.name]) if field.name in members else field.default is not REQUIRED
            for field in self.fields
        )

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        if not isinstance(value, dict):
            flaws.append(self._wrong_type(value, path))
            return value
        members = cast("Mapping[str, Any]", value)
        checked: dict[str, Any] = {}
        for field in self.fields:
            if field.name in members:
                checked[field.name] = field.kind.check(members[field.name], (*path, field.name), flaws)
            elif field.default is REQUIRED:
                flaws.append(Flaw("missing", (*path, field.name), "Field required", value))
            elif field.default is not OMITTED:
                checked[field.name] = field.default
        if self.strict:
            for name in [name for name in members if name not in self.names()]:
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
        return frozenset(field.name for field in self.fields)

    def at(self, version: Version) -> Record:
        """This record with the fields that a version knows. A name may stand twice with disjoint versions."""
        return replace(self, fields=tuple(field for field in self.fields if field.known_at(version)))


@dataclass(frozen=True, slots=True)
class Branches:
    """A body that may be one of several records; when none fits, the flaws of all, labelled by their names."""

    records: tuple[Record, ...]

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        for record in self.records:
            trial: Flaws = []
            checked = record.check(value, path, trial)
            if not trial:
                return checked
        for record in self.records:
            record.check(value, (*path, record.label), flaws)
        return value

    def names(self) -> frozenset[str]:
        """The names that any of the records recognises."""
        return frozenset[str]().union(*(record.names() for record in self.records))
