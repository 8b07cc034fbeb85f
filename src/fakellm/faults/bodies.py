"""Editing the JSON bodies of a Rendering by the layout's accessor paths, and making new messages from old ones.

Bodies are never changed in place: every edit copies what lies on the way. What a path does not find is left alone, so
that faults compose. Knows the shape of choices (a list under ``choices``, each with an ``index``), no vendor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from ..layouts.base import Accessor
from ..message import Message, Rendering
from ..reading.paths import Each, Step, steps

Way = tuple[Step, ...]
DROP: Any = object()
"""What a change returns to take a member away."""
Json = dict[str, Any]


def change(node: Any, way: Sequence[Step], act: Callable[[Any], Any], choice: int | None = None) -> Any:
    """A copy of ``node`` in which what stands at the end of the way is replaced by ``act`` of it (DROP removes it).

    ``choice``: below ``choices[]`` only the element with this index counts.
    """
    return _change(node, tuple(way), act, choice, below_choices=False)


def _change(node: Any, way: Way, act: Callable[[Any], Any], choice: int | None, *, below_choices: bool) -> Any:
    if not way:
        return act(node)
    head, rest = way[0], way[1:]
    if isinstance(head, str):
        if not isinstance(node, dict) or head not in node:
            return cast(Any, node)
        members = cast(Json, node)
        value = _change(members[head], rest, act, choice, below_choices=head == "choices")
        if value is DROP:
            return {key: member for key, member in members.items() if key != head}
        return {**members, head: value}
    if not isinstance(node, list | tuple):
        return node
    elements = list(cast(Sequence[Any], node))
    changed = [
        _change(element, rest, act, choice, below_choices=False)
        if _taken(element, place, head, len(elements), choice if below_choices else None)
        else element
        for place, element in enumerate(elements)
    ]
    return [element for element in changed if element is not DROP]


def _taken(element: Any, place: int, head: Step, length: int, choice: int | None) -> bool:
    if isinstance(head, int):
        return place == (head if head >= 0 else length + head)
    members = cast(Json, element) if isinstance(element, dict) else {}
    if isinstance(head, Each) and head.key is not None and members.get(head.key) != head.value:
        return False
    return choice is None or members.get("index", place) == choice


def values(node: Any, way: Sequence[Step], choice: int | None = None) -> list[Any]:
    """Everything that stands at the end of the way."""
    found: list[Any] = []

    def look(value: Any) -> Any:
        found.append(value)
        return value

    change(node, way, look, choice)
    return found


def ids_way(accessor: Accessor) -> Way:
    """The way to a list of ids as a whole."""
    way = steps(accessor.path)
    return way[:-1] if isinstance(way[-1], Each) else way


def list_way(accessor: Accessor) -> Way:
    """The way to the list whose elements carry the value, one for each token."""
    way = steps(accessor.path)
    places = [number for number, step in enumerate(way) if isinstance(step, Each) and way[number - 1] != "choices"]
    return way[: places[-1]] if places else way


def leaf_way(accessor: Accessor) -> Way:
    """The way to the single values, also where the table names the list that holds them."""
    way = steps(accessor.path)
    return (*way, Each()) if list_way(accessor) == way else way


def id_lists(node: Any, accessor: Accessor) -> list[list[Any]]:
    """The lists of ids that stand in a body, one for each choice (or one for all of them)."""
    found = _lists(values(node, ids_way(accessor)))
    return [ids for each in found for ids in _lists(each)] or found


def _lists(found: list[Any]) -> list[list[Any]]:
    return [cast(list[Any], each) for each in found if isinstance(each, list)]


def holder_way(accessor: Accessor) -> Way:
    """The way to what a server leaves out as a whole: the object ``logprobs``, or else the list."""
    way = steps(accessor.path)
    if "logprobs" in way:
        return way[: way.index("logprobs") + 1]
    return list_way(accessor)


def carries(message: Message, accessor: Accessor) -> bool:
    """The message may hold the value: accessors that name SSE events count for these events only."""
    events = [name for name in accessor.messages if "." in name]
    return not events or message.event in events


def has_body(message: Message) -> bool:
    """The message is a JSON object, not ``[DONE]``, text or a comment."""
    return isinstance(message.body, dict)


def body(message: Message) -> Json:
    """The message's JSON object ({} for anything else)."""
    held: Any = message.body
    return cast(Json, held) if isinstance(held, dict) else {}


def map_bodies(rendering: Rendering, act: Callable[[Json], Any]) -> Rendering:
    """Change every JSON object of the answer but errors."""
    messages = tuple(
        replace(message, body=_each(message.body, lambda members, _: act(members)))
        if _holds_objects(message) and message.kind != "error"
        else message
        for message in rendering.messages
    )
    return replace(rendering, messages=messages)


def _holds_objects(message: Message) -> bool:
    """A JSON object, or the list of objects with which some servers answer batches."""
    held: Any = message.body
    return has_body(message) or (isinstance(held, list) and any(isinstance(each, dict) for each in cast(Any, held)))


def _each(held: Any, act: Callable[[Json, int | None], Any]) -> Any:
    """``act`` of the object, or of every object of a list with its place."""
    if isinstance(held, dict):
        return act(cast(Json, held), None)
    listed = cast(list[Any], held)
    return [act(cast(Json, each), place) if isinstance(each, dict) else each for place, each in enumerate(listed)]


def change_at(
    rendering: Rendering,
    accessor: Accessor,
    way: Sequence[Step],
    act: Callable[[Any], Any],
    choice: int | None = None,
) -> Rendering:
    """Change what stands at the end of a way, in every message that may hold the accessor's value."""

    def at(members: Json, place: int | None) -> Any:
        meant = choice is None or place is None or place == choice
        return change(members, way, act, choice) if meant else members

    messages = tuple(
        replace(message, body=_each(message.body, at))
        if _holds_objects(message) and carries(message, accessor)
        else message
        for message in rendering.messages
    )
    return replace(rendering, messages=messages)


def choices(message: Message) -> list[Json]:
    """The choices of a message, [] when it has none."""
    listed: Any = body(message).get("choices")
    return [cast(Json, each) for each in cast(list[Any], listed)] if isinstance(listed, list) else []


def map_choice_rows(rendering: Rendering, act: Callable[[Json], Any]) -> Rendering:
    """Change every element of ``choices`` in every message."""
    return map_bodies(rendering, lambda members: change(members, steps("choices[]"), act))


def finishes(message: Message) -> bool:
    """The message tells why a choice ended."""
    return message.kind == "finish" or any(row.get("finish_reason") for row in choices(message))


def with_numbers(rendering: Rendering) -> Rendering:
    """Events of the Responses API counted anew after one was added or moved."""
    number = 0
    messages: list[Message] = []
    for message in rendering.messages:
        if has_body(message) and "sequence_number" in body(message):
            message = replace(message, body={**body(message), "sequence_number": number})
            number += 1
        messages.append(message)
    return replace(rendering, messages=tuple(messages))


def silent(row: Json) -> Json:
    """A choice of a stream that says nothing: same keys, no text, no ids, no scores, no end."""
    emptied = dict(row)
    for key, value in row.items():
        if key == "delta":
            emptied[key] = {}
        elif key == "text":
            emptied[key] = ""
        elif key == "index":
            continue
        elif isinstance(value, list):
            emptied[key] = []
        elif key in ("stop_reason", "matched_stop"):
            emptied.pop(key)
        else:
            emptied[key] = None
    return emptied


def beside(message: Message, rows: list[Json], **members: Any) -> Message:
    """A further message of the same stream: the envelope of this one with other choices; what only it told is gone."""
    kept = {
        key: value for key, value in body(message).items() if key in ("id", "object", "created", "model", "choices")
    }
    return replace(message, kind="delta", body={**kept, "choices": rows, **members}, tokens=None)


def insert_after(rendering: Rendering, place: int, *more: Message) -> Rendering:
    """The answer with further messages behind the one at ``place``; due times never go back."""
    due = rendering.messages[place].due_ms if rendering.messages else 0.0
    fresh = tuple(replace(message, due_ms=due) for message in more)
    return replace(rendering, messages=(*rendering.messages[: place + 1], *fresh, *rendering.messages[place + 1 :]))
