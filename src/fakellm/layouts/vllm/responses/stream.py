"""A Responses stream as a whole: its first two events, the items in the manner of the version, and its last event.

Any failure inside a stream cuts the connection after the events so far; no error event exists (issues 40418, 22341).
"""

from __future__ import annotations

from typing import Any

from ....message import Message, Rendering
from ..bodies import EVENT_HEADERS
from .body import Answer
from .events import Events
from .flat import FlatStream
from .single import Broken, SingleStream
from .steps import ItemStream


def opening(answer: Answer) -> Events:
    """response.created and response.in_progress."""
    events = Events()
    for event in ("response.created", "response.in_progress"):
        body = answer.sdk_body("in_progress") if answer.rules.sdk_bodies else answer.body([], "in_progress")
        events.add(event, response=body)
    return events


def cut_off(answer: Answer | None) -> Rendering:
    """The stream of a request that the engine's front end refuses; None: it ends before its first event."""
    if answer is None:
        return Rendering(200, EVENT_HEADERS, (), stream=True, cut=True)
    return _rendering(answer, opening(answer).messages, cut=True)


def stream(answer: Answer) -> tuple[Rendering, dict[str, Any] | None]:
    """The whole stream, and the response at its end (None when it never gets there)."""
    events = opening(answer)
    try:
        output = _items(answer, events)
    except Broken:
        return _rendering(answer, events.messages, cut=True), None
    rules = answer.rules
    refused = rules.last_only and answer.ask.options["response_messages"]
    broken = rules.reads_again and answer.choice.extras.get("failed") is not None
    if answer.choice.failure is not None or rules.sdk_bodies or refused or broken:
        return _rendering(answer, events.messages, cut=True), None
    final = answer.finished(output, streamed=True)
    events.add("response.completed", kind="finish", response=final)
    return _rendering(answer, events.messages, cut=False), final


def _items(answer: Answer, events: Events) -> list[Any]:
    """Write the items' events; returns what response.completed will show."""
    rules = answer.rules
    if rules.stream == "items":
        items = ItemStream(answer, events)
        items.run()
        return answer.output() if rules.reads_again else items.output
    if rules.stream == "single":
        SingleStream(answer, events).run()
    else:
        FlatStream(answer, events).run()
    return answer.last_output() if rules.last_only else answer.output()


def _rendering(answer: Answer, messages: list[Message], *, cut: bool) -> Rendering:
    return Rendering(200, (*EVENT_HEADERS, *answer.facts.headers), tuple(messages), stream=True, cut=cut)
