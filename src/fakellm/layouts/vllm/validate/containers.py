"""Kinds of value that hold others: lists, objects with free names, null, unions, and kinds with a check around them.

They answer what every kind answers (see ``kinds``); a union takes the first member that needs no coercion, else the
first that fits, as pydantic's smart mode does for JSON values. Knows nothing of vLLM, versions or HTTP.

    Union((Text(), ListOf(Text()))).check([1], ("body", "stop"), flaws)    # flaws at ("body", "stop", "list[str]", 0)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from .flaws import Flaw, Objection, Path
from .kinds import Flaws, Kind, Whole, counted

_INT = {int}


def _all_whole(items: list[Any]) -> bool:
    """Whether every item is an int and nothing else: token ids come by the thousand."""
    return not items or set(map(type, items)) == _INT


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list. ``lazy``: an iterable field, whose items nobody looks at while the request is validated. ``pair``: two
    items, no more and no less."""

    item: Kind
    at_least: int | None = None
    at_most: int | None = None
    lazy: bool = False
    pair: bool = False

    @property
    def label(self) -> str:
        return f"{'generator' if self.lazy else 'list'}[{self.item.label}]"

    def exact(self, value: Any) -> bool:
        if not isinstance(value, list):
            return False
        items = cast("list[Any]", value)
        if self.lazy:
            return True
        return _all_whole(items) if type(self.item) is Whole else all(self.item.exact(item) for item in items)

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        if self.lazy:
            if isinstance(value, list | str | dict):
                return cast("Any", value)
            flaws.append(Flaw("iterable_type", path, "Input should be iterable", value))
            return value
        if not isinstance(value, list):
            noun = "tuple" if self.pair else "list"
            flaws.append(Flaw(f"{noun}_type", path, f"Input should be a valid {noun}", value))
            return value
        items = cast("list[Any]", value)
        if self.pair:
            return self._check_pair(items, path, flaws)
        if self.at_most is not None and len(items) > self.at_most:
            flaws.append(self._length_flaw("too_long", "at most", "max_length", self.at_most, items, path))
            return items
        if type(self.item) is Whole and _all_whole(items) and self.item.bounds_hold(items):
            return self._too_short(items, path, flaws)
        found = len(flaws)
        checked = [self.item.check(item, (*path, index), flaws) for index, item in enumerate(items)]
        if len(flaws) == found:
            self._too_short(items, path, flaws)
        return checked

    def _too_short(self, items: list[Any], path: Path, flaws: Flaws) -> list[Any]:
        if self.at_least is not None and len(items) < self.at_least:
            flaws.append(self._length_flaw("too_short", "at least", "min_length", self.at_least, items, path))
        return items

    def _check_pair(self, items: list[Any], path: Path, flaws: Flaws) -> list[Any]:
        checked = [self.item.check(item, (*path, index), flaws) for index, item in enumerate(items[:2])]
        for index in range(len(items), 2):
            flaws.append(Flaw("missing", (*path, index), "Field required", items))
        if len(items) > 2:
            context = {"field_type": "Tuple", "max_length": 2, "actual_length": len(items)}
            message = f"Tuple should have at most 2 items after validation, not {len(items)}"
            flaws.append(Flaw("too_long", path, message, items, context))
        return checked

    @staticmethod
    def _length_flaw(kind: str, words: str, name: str, limit: int, items: list[Any], path: Path) -> Flaw:
        message = f"List should have {words} {counted(limit, 'item')} after validation, not {len(items)}"
        return Flaw(kind, path, message, items, {"field_type": "List", name: limit, "actual_length": len(items)})


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object with values of one kind. ``key``: the kind of its names, where they are not just text."""

    item: Kind
    key: Kind | None = None

    @property
    def label(self) -> str:
        return f"dict[{self.key.label if self.key else 'str'},{self.item.label}]"

    def exact(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        return all(self.item.exact(item) for item in cast("dict[str, Any]", value).values())

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        if not isinstance(value, dict):
            flaws.append(Flaw("dict_type", path, "Input should be a valid dictionary", value))
            return value
        members = cast("dict[str, Any]", value)
        checked: dict[Any, Any] = {}
        for name, item in members.items():
            key = self.key.check(name, (*path, name, "[key]"), flaws) if self.key else name
            checked[key] = self.item.check(item, (*path, name), flaws)
        return checked


@dataclass(frozen=True, slots=True)
class Maybe:
    """A kind, or null."""

    inner: Kind

    @property
    def label(self) -> str:
        return f"nullable[{self.inner.label}]"

    def exact(self, value: Any) -> bool:
        return value is None or self.inner.exact(value)

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        return None if value is None else self.inner.check(value, path, flaws)


@dataclass(frozen=True, slots=True)
class Union:
    """The first member that fits exactly, else the first that fits; when none does, the flaws of all, labelled."""

    members: tuple[Kind, ...]

    @property
    def label(self) -> str:
        return f"union[{','.join(member.label for member in self.members)}]"

    def exact(self, value: Any) -> bool:
        return any(member.exact(value) for member in self.members)

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        trial: Flaws = []
        for wanted in (True, False):
            for member in self.members:
                if member.exact(value) is wanted:
                    checked = member.check(value, path, trial)
                    if not trial:
                        return checked
                    trial.clear()
        for member in self.members:
            member.check(value, (*path, member.label), flaws)
        return value


AsFlaw = Callable[[Objection, Any, Path], Flaw]


@dataclass(frozen=True, slots=True)
class Checked:
    """A kind with a check of its own around it, which may raise an Objection: ``before`` sees the raw value and may
    change it, ``after`` the coerced one. ``as_flaw``: versions that report such an objection as a flaw of the field."""

    inner: Kind
    before: Callable[[Any], Any] | None = None
    after: Callable[[Any, Path, Flaws], Any] | None = None
    label: str = "function"
    as_flaw: AsFlaw | None = None

    def exact(self, value: Any) -> bool:
        return self.inner.exact(value)

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        if self.as_flaw is None:
            return self._check(value, path, flaws)
        try:
            return self._check(value, path, flaws)
        except Objection as objection:
            flaws.append(self.as_flaw(objection, value, path))
            return value

    def _check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        if self.before is not None:
            value = self.before(value)
        found = len(flaws)
        checked = self.inner.check(value, path, flaws)
        if self.after is not None and len(flaws) == found:
            return self.after(checked, path, flaws)
        return checked
