"""Cutting at the events of an answer: bytes to JSON values, changed, and back to bytes.

Only mutants need it; the reference client reads bytes as they are. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

from ...reading import EventParser

Event = dict[str, Any]
"""One JSON object of a stream; text that is no JSON is wrapped as ``{TEXT: ...}``."""
TEXT = "\0text"


def events_of(body: bytes) -> list[Event] | None:
    """The events of a stream, None for what is no stream."""
    if body.lstrip()[:1] in (b"{", b"[", b"<", b""):
        return None
    return [_event(event.data) for event in EventParser().feed(body)]


def _event(data: str) -> Event:
    try:
        value = json.loads(data)
    except ValueError:
        return {TEXT: data}
    return cast("Event", value) if isinstance(value, dict) else {TEXT: data}


def written(events: Sequence[Event]) -> bytes:
    """The stream of these events."""
    lines = [event[TEXT] if TEXT in event else json.dumps(event) for event in events]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def mapped(body: bytes, change: Callable[[Event], Event]) -> bytes:
    """The body with every JSON object of it changed."""
    events = events_of(body)
    if events is not None:
        return written([event if TEXT in event else change(event) for event in events])
    try:
        value = json.loads(body)
    except ValueError:
        return body
    return json.dumps(change(cast("Event", value))).encode() if isinstance(value, dict) else body


def choices_of(event: Event) -> list[Event]:
    """The choices of an event."""
    return cast("list[Event]", event.get("choices") or [])


def member(event: Event, name: str) -> Event:
    """The object under that name, or an empty one."""
    return cast("Event", event.get(name) or {})


def carries(event: Event) -> bool:
    """Whether an event carries a choice."""
    return bool(choices_of(event)) or "output_ids" in event


def is_silent(event: Event) -> bool:
    """A chunk whose choices show no text, no role and no end."""
    said = [
        choice.get("text")
        or choice.get("finish_reason")
        or member(choice, "delta").get("content")
        or member(choice, "delta").get("role")
        for choice in choices_of(event)
    ]
    return bool(said) and not any(said)


def without(event: Event, name: str, *, keep_top: bool = False) -> Event:
    """The event without members of that name, at any depth; ``keep_top``: but for those at its top."""
    return {key: _pruned(value, name) for key, value in event.items() if keep_top or key != name}


def _pruned(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return without(cast("Event", value), name)
    return [_pruned(one, name) for one in cast("list[Any]", value)] if isinstance(value, list) else value
