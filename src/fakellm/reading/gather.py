"""Collecting what an answer says, message by message, without judging it: JSON values in, a :class:`Gathered` out.

Values are found by the layout's accessor rows; prompt ids also at the top when they belong under the choice, and the
other way round, because captured layouts have both. Choices are kept apart by index. Whether the result
can be trusted is ``trust.py``'s question; this module knows no bytes and refuses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ..layouts.base import Accessor
from .failures import error_in
from .paths import MISSING, Each, Step, find, steps
from .places import IDS, TERMINAL_EVENTS, UNFINISHED
from .series import Series

LISTS = frozenset(
    {
        "logprobs",
        "top_logprobs",
        "prompt_logprobs",
        "weight_versions",
        "token_texts",
        "entry_ids",
        "ranks",
        "prompt_scores",
    }
)
SINGLE = frozenset({"id", "token_id", "logprob", "logprobs"})
"""Names of one value per message (TGI's events, Together's chunks)."""
LISTED_APIS = frozenset({"chat", "completions", "tito", "batch"})
"""APIs whose bodies always have a list of choices."""
ENTRIES = frozenset({"top_logprobs", "prompt_logprobs"})
"""Lists of lists: one entry per token, itself a list or an object."""
_CHOICES: tuple[Step, ...] = ("choices", Each())
_NEIGHBOURS: Mapping[Step, tuple[Step, Step]] = {
    "logprob": ("token", "token_id"),
    "token_logprobs": ("tokens", "token_ids"),
    0: (2, 1),
}
"""Last step of a scores' path -> its neighbours that hold the token strings and (some vendors) the ids."""


@dataclass(frozen=True, slots=True)
class Row:
    """An accessor, ready to be used. ``shared``: it starts at the top of the body although the API has choices."""

    value: str
    rank: int
    way: tuple[Step, ...]
    shared: bool
    events: frozenset[str]


@dataclass(slots=True)
class Found:
    """What one choice (or the top of the body) said. ``series``: (value, rank of the row) -> pieces."""

    series: dict[tuple[str, int], Series] = field(default_factory=dict[tuple[str, int], Series])
    finish_reason: Any = None
    usage: Mapping[str, Any] | None = None

    def add(self, value: str, rank: int, piece: Any, count: int | None = None) -> None:
        self.series.setdefault((value, rank), Series()).add(piece, count)


@dataclass(slots=True)
class Gathered:
    """Everything read so far. ``top``: what stands beside the choices; ``indices``: as they came, message by message;
    ``disagreements``: values that one message told twice, differently; ``done``: the answer said that it is over."""

    choices: dict[Any, Found] = field(default_factory=dict[Any, Found])
    top: Found = field(default_factory=Found)
    messages: int = 0
    bodies: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    disagreements: list[str] = field(default_factory=list[str])
    errors: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    done: bool = False


class Gatherer:
    """Feeds on the messages of one answer. ``rows``: accessors by value (``places.rows_for``); ``expected``: how many
    choices were asked for (a choice without index is number 0 only where there can be no other)."""

    def __init__(self, rows: Mapping[str, tuple[Accessor, ...]], api: str, *, expected: int) -> None:
        self.api = api
        self.expected = expected
        self.lists = _lists_choices(api, rows)
        self.rows = tuple(_rows(rows, has_choices=self.lists))
        self.names = {value: _names(self.rows, value) for value in IDS}
        self.gathered = Gathered()

    def add(self, message: Any, event: str | None = None) -> None:
        """One JSON body or event."""
        self.gathered.messages += 1
        listed = self.api == "generate" and isinstance(message, list)
        for place, body in enumerate(cast("list[Any]", message) if listed else [message]):
            self._body(body, event, place if listed else None)

    def _body(self, message: Any, event: str | None, place: int | None) -> None:
        if not isinstance(message, dict):
            self.gathered.errors.append(("unreadable", f"an answer that is no JSON object but {message!r:.60}"))
            return
        body = cast("dict[str, Any]", message)
        kind = body.get("type") if event is None else event
        if problem := error_in(body, kind if isinstance(kind, str) else None):
            self.gathered.errors.append(problem)
            return
        self.gathered.done = self.gathered.done or kind in TERMINAL_EVENTS
        elements = list(self._elements(body, place))
        self.gathered.bodies.append(tuple(index for index, _ in elements))
        for index, element in elements:
            self._choice(self.gathered.choices.setdefault(index, Found()), body, element, kind)
        if not elements or elements[0][1] is not body:
            self._top(body)

    def _elements(self, body: dict[str, Any], place: int | None) -> Iterator[tuple[Any, dict[str, Any]]]:
        if self.api == "responses":
            yield 0, body
        elif self.api == "generate":
            if "meta_info" in body or "output_ids" in body or "text" in body:
                yield _index(body.get("index", 0) if place is None else place), body
        elif not self.lists:
            yield 0, body
        else:
            listed = cast("list[Any]", body.get("choices") or [])
            for number, element in enumerate(listed):
                if isinstance(element, dict):
                    alone = self.expected == 1 and len(listed) == 1
                    missing = 0 if alone else f"no index (choice {number} of {len(listed)})"
                    choice = cast("dict[str, Any]", element)
                    yield _index(choice.get("index", missing)), choice

    def _choice(self, found: Found, body: dict[str, Any], element: dict[str, Any], kind: Any) -> None:
        count = _integer(find(body, ("meta_info", "completion_tokens"))) if self.api == "generate" else None
        for row in self.rows:
            if not row.shared and (not row.events or kind in row.events):
                self._keep(found, row, find(element, row.way), count)
        for value in IDS:
            self._ids(found, element, value, count)
        if self.api == "generate":
            self._abort(element)

    def _keep(self, found: Found, row: Row, value: Any, count: int | None = None) -> None:
        if value is MISSING or value is None or row.value in IDS:
            return
        if row.value == "finish_reason":
            found.finish_reason = found.finish_reason if value in ("", *UNFINISHED) else value
        elif row.value == "usage" and isinstance(value, dict):
            found.usage = cast("dict[str, Any]", value)
        elif row.value == "text":
            parts = cast("list[Any]", value) if isinstance(value, list) else [value]
            found.add("text", row.rank, "".join(part for part in parts if isinstance(part, str)), count)
        elif row.value in LISTS and (listed := _listed(value, row)) is not None:
            found.add(row.value, row.rank, listed, count)

    def _ids(self, found: Found, element: dict[str, Any], value: str, count: int | None) -> None:
        """Where the layout has them, else under that name in the choice; told twice, they must agree."""
        declared = [_listed(find(element, row.way), row) for row in self.rows if row.value == value and not row.shared]
        lists = [_flat(one) for one in declared if one]
        lists += [_flat(one) for one in _called(element, self.names[value])]
        if lists:
            found.add(value, 0, lists[0], count)
        if any(other != lists[0] for other in lists[1:]):
            self.gathered.disagreements.append(value)

    def _top(self, body: dict[str, Any]) -> None:
        for row in self.rows:
            if row.shared:
                self._keep(self.gathered.top, row, find(body, row.way))
        for value in IDS:
            ways = [row.way for row in self.rows if row.value == value and row.shared]
            if value == "prompt_token_ids":
                ways += [(name,) for name in self.names[value] if (name,) not in ways]
            found: list[Any] = [find(body, way) for way in ways]
            lists = [cast("list[Any]", one) for one in found if isinstance(one, list) and one]
            if lists:
                self.gathered.top.add(value, 0, lists[0])
            if any(other != lists[0] for other in lists[1:]):
                self.gathered.disagreements.append(value)

    def _abort(self, element: dict[str, Any]) -> None:
        reason = find(element, ("meta_info", "finish_reason"))
        if isinstance(reason, dict) and cast("dict[str, Any]", reason).get("status_code") is not None:
            self.gathered.errors.append(("aborted", str(cast("dict[str, Any]", reason).get("message"))))


def _rows(accessors: Mapping[str, tuple[Accessor, ...]], *, has_choices: bool) -> Iterator[Row]:
    for value, listed in accessors.items():
        for rank, accessor in enumerate(listed):
            way = steps(accessor.path)
            way = way[1:] if way[:1] == (Each(),) else way
            way = way[:-1] if value in ENTRIES and way[-1:] == (Each(),) else way
            inside = way[:2] == _CHOICES
            events = frozenset(name for name in accessor.messages if "." in name)
            row = Row(value, rank, way[2:] if inside else way, has_choices and not inside, events)
            yield row
            if value == "logprobs" and row.way[-1:] == ("logprob",):
                yield Row("ranks", rank, (*row.way[:-1], "rank"), row.shared, events)
            place = row.way[:-1] if row.way[-1:] == (Each(),) else row.way
            if value == "logprobs" and place and place[-1] in _NEIGHBOURS:
                for name, last in zip(("token_texts", "entry_ids"), _NEIGHBOURS[place[-1]], strict=True):
                    yield Row(name, rank, (*place[:-1], last), row.shared, events)


def _names(rows: tuple[Row, ...], value: str) -> tuple[str, ...]:
    """The names under which a value goes: the last key of each of its paths."""
    keys = [[step for step in row.way if isinstance(step, str)] for row in rows if row.value == value]
    return tuple(dict.fromkeys(names[-1] for names in keys if names and names[-1] != "tokens"))


def _called(element: Mapping[str, Any], names: tuple[str, ...]) -> list[list[Any]]:
    """The non-empty lists under one of these names in a choice, or where litellm puts what it does not know."""
    beside: Any = element.get("provider_specific_fields")
    members = [element, cast("dict[str, Any]", beside)] if isinstance(beside, dict) else [element]
    lists: list[Any] = [member.get(name) for member in members for name in names]
    return [cast("list[Any]", one) for one in lists if isinstance(one, list) and one]


def _flat(found: list[Any]) -> list[Any]:
    return [each for one in found for each in one] if all(isinstance(one, list) for one in found) else found


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _index(value: Any) -> Any:
    return value if isinstance(value, int | float | str) or value is None else repr(value)


def _lists_choices(api: str, rows: Mapping[str, tuple[Accessor, ...]]) -> bool:
    """Whether bodies of an API have a list of choices; a native API whose places do not name one is its only choice."""
    if api in ("generate", "responses"):
        return False
    known = api in LISTED_APIS
    return known or any(row.path.startswith("choices[]") for listed in rows.values() for row in listed)


def _listed(value: Any, row: Row) -> list[Any] | None:
    """A list, or one of the single number that a message tells where its place is that of one."""
    if isinstance(value, list):
        return cast("list[Any]", value)
    single = row.way[-1:] and row.way[-1] in SINGLE and Each() not in row.way
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return [value] if single and number else None
