"""Bodies as comparable documents, and the first place where two of them part.

A whole body is one JSON value; a stream is a list of events. Objects keep their order and their doubled keys.
``first_difference`` walks two documents and says where they part and how. Pure; knows no vendor.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class Members:
    """A JSON object as it stood on the wire: its members in order, doubled keys included."""

    pairs: tuple[tuple[str, Any], ...]

    def get(self, key: str) -> Any:
        return next((value for name, value in self.pairs if name == key), None)


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event (or line): ``data`` is JSON where it parses, else text; ``comments`` without the colon."""

    name: str | None
    data: Any
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two documents part (a JSON path) and how."""

    where: str
    detail: str


Same = Callable[[str, str, str], bool]
"""(path, recorded text, replayed text) -> do the two count as the same although they differ?"""

ABSENT = object()


def parse(text: str) -> Any:
    """The JSON value of a text, objects as :class:`Members`; text that is no JSON stays text."""
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: Members(tuple(pairs)))
    except ValueError:
        return text


def blocks(body: str, content_type: str) -> list[str] | None:
    """The raw events of a stream, each with what ends it; None when the content type is not that of a stream."""
    if content_type.startswith("text/event-stream"):
        return body.split("\n\n")
    if content_type.startswith("application/x-ndjson"):
        return body.split("\n")
    return None


def event(block: str) -> Event:
    """Read one raw event."""
    name: str | None = None
    data: list[str] = []
    comments: list[str] = []
    for line in block.split("\n"):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not field and line:
            comments.append(value)
        elif field == "event":
            name = value
        elif field == "data":
            data.append(value)
        elif line:
            data.append(line)
    return Event(name, parse("\n".join(data)) if data else None, tuple(comments))


def choice_of(block: str) -> int | None:
    """The choice that a raw event belongs to, or None."""
    data = event(block).data
    if not isinstance(data, Members):
        return None
    choices = data.get("choices")
    holder = cast("list[Any]", choices)[0] if isinstance(choices, list) and choices else data
    index = holder.get("index") if isinstance(holder, Members) else None
    return index if isinstance(index, int) else None


def by_choice(stream: Sequence[str]) -> list[str]:
    """The events sorted stably by choice, those without one last."""
    choices = [choice_of(block) for block in stream]
    order = sorted(range(len(stream)), key=lambda at: (choices[at] is None, choices[at] or 0))
    return [stream[at] for at in order]


def first_difference(
    recorded: Any, replayed: Any, where: str, *, tolerance: float = 0.0, same: Same | None = None
) -> Difference | None:
    """Where two values part first, in wire order, or None: same values, key order, null or absent.

    ``tolerance``: how far apart two numbers may be. ``same``: texts that count as equal although they differ.
    """
    if isinstance(recorded, Members) and isinstance(replayed, Members):
        return _members(recorded.pairs, replayed.pairs, where, tolerance, same)
    if isinstance(recorded, list) and isinstance(replayed, list):
        return _elements(cast("list[Any]", recorded), cast("list[Any]", replayed), where, tolerance, same)
    if isinstance(recorded, Event) and isinstance(replayed, Event):
        if recorded.name != replayed.name:
            return Difference(where, f"event name: recorded {recorded.name!r}, replayed {replayed.name!r}")
        if recorded.comments != replayed.comments:
            return Difference(where, f"comments: recorded {recorded.comments!r}, replayed {replayed.comments!r}")
        return first_difference(recorded.data, replayed.data, where, tolerance=tolerance, same=same)
    if _same_leaf(recorded, replayed, where, tolerance, same):
        return None
    return Difference(where, _told_apart(recorded, replayed))


def _members(
    recorded: tuple[tuple[str, Any], ...],
    replayed: tuple[tuple[str, Any], ...],
    where: str,
    tolerance: float,
    same: Same | None,
) -> Difference | None:
    for (key, value), (other_key, other_value) in zip(recorded, replayed, strict=False):
        if key != other_key:
            return _key_difference(key, other_key, recorded, replayed, where)
        place = f"{where}.{key}" if key.isidentifier() else f"{where}[{json.dumps(key, ensure_ascii=False)}]"
        found = first_difference(value, other_value, place, tolerance=tolerance, same=same)
        if found is not None:
            return found
    if len(recorded) > len(replayed):
        key, value = recorded[len(replayed)]
        return Difference(f"{where}.{key}", f"recorded {shown(value)}, absent in the replay")
    if len(replayed) > len(recorded):
        key, value = replayed[len(recorded)]
        return Difference(f"{where}.{key}", f"not in the recording, replayed {shown(value)}")
    return None


def _key_difference(
    key: str, other: str, recorded: tuple[tuple[str, Any], ...], replayed: tuple[tuple[str, Any], ...], where: str
) -> Difference:
    if key not in dict(replayed):
        return Difference(f"{where}.{key}", f"recorded {shown(dict(recorded)[key])}, absent in the replay")
    if other not in dict(recorded):
        return Difference(f"{where}.{other}", f"not in the recording, replayed {shown(dict(replayed)[other])}")
    return Difference(where, f"key order: {key!r} is recorded where {other!r} is replayed")


def _elements(
    recorded: list[Any], replayed: list[Any], where: str, tolerance: float, same: Same | None
) -> Difference | None:
    for at, (value, other) in enumerate(zip(recorded, replayed, strict=False)):
        found = first_difference(value, other, f"{where}[{at}]", tolerance=tolerance, same=same)
        if found is not None:
            return found
    at = min(len(recorded), len(replayed))
    if len(recorded) > at:
        return Difference(f"{where}[{at}]", f"recorded {shown(recorded[at])}, absent in the replay")
    if len(replayed) > at:
        return Difference(f"{where}[{at}]", f"not in the recording, replayed {shown(replayed[at])}")
    return None


def _same_leaf(recorded: Any, replayed: Any, where: str, tolerance: float, same: Same | None) -> bool:
    if isinstance(recorded, bool) or isinstance(replayed, bool):
        return recorded is replayed
    if isinstance(recorded, int | float) and isinstance(replayed, int | float):
        both_nan = math.isnan(recorded) and math.isnan(replayed)
        return both_nan or recorded == replayed or abs(recorded - replayed) <= tolerance
    if isinstance(recorded, str) and isinstance(replayed, str):
        return recorded == replayed or (same is not None and same(where, recorded, replayed))
    return type(recorded) is type(replayed) and recorded == replayed


def _told_apart(recorded: Any, replayed: Any) -> str:
    if isinstance(recorded, str) and isinstance(replayed, str) and max(len(recorded), len(replayed)) > _SHOWN:
        at = next(
            (at for at, (one, other) in enumerate(zip(recorded, replayed, strict=False)) if one != other),
            min(len(recorded), len(replayed)),
        )
        start = max(at - 20, 0)
        end = start + _SHOWN
        return f"from character {at}: recorded {recorded[start:end]!r}, replayed {replayed[start:end]!r}"
    return f"recorded {shown(recorded)}, replayed {shown(replayed)}"


_SHOWN = 100
"""Characters of a value that a report shows."""


def shown(value: Any) -> str:
    """A value in one short line."""
    text = json.dumps(plain(value), ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def plain(value: Any) -> Any:
    """A document as ordinary JSON again."""
    if isinstance(value, Members):
        return {key: plain(member) for key, member in value.pairs}
    if isinstance(value, list):
        return [plain(element) for element in cast("list[Any]", value)]
    if isinstance(value, Event):
        return plain(value.data)
    return value
