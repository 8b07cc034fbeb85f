"""What every answer of an OpenAI-like server is built around, and the pieces that chat and completions share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ask import Ask
from ...message import Message, Rendering
from ...told import Told, ToldChoice
from .deltas import Delta
from .traits import Place, Traits

JSON_HEADERS = (("content-type", "application/json"),)
EVENT_HEADERS = (("content-type", "text/event-stream; charset=utf-8"),)


@dataclass(frozen=True, slots=True)
class Frame:
    """Facts of one answer. ``fresh``: a random hex string of so many digits, another one each time it is asked."""

    id: str
    created: int
    ask: Ask
    traits: Traits
    fresh: Callable[[int], str]


def json_answer(body: Any, status: int = 200) -> Rendering:
    """A whole JSON answer."""
    return Rendering(status, JSON_HEADERS, (Message("body", body),))


def failed(frame: Frame) -> Rendering:
    """A whole answer whose engine failed."""
    return json_answer(failure_value(frame), 500)


def failure_value(frame: Frame) -> Any:
    message = "The server had an error while processing your request. Sorry about that!"
    return frame.traits.error(500, message, "server_error", None, None)


def stream_of(messages: Sequence[Message], told: Told, frame: Frame, usage: Callable[[], Any]) -> Rendering:
    """A whole stream: the chunks in the order in which they are due, usage where it was asked for, the mark."""
    ordered = sorted(messages, key=lambda message: message.due_ms)
    due = max((message.due_ms for message in ordered), default=0.0)
    if any(choice.failure is not None for choice in told.choices):
        ordered.append(Message("error", failure_value(frame), due_ms=due))
    elif frame.ask.wants.usage:
        ordered.append(Message("usage", usage(), due_ms=due))
    ordered.append(Message("done", "[DONE]", due_ms=due))
    return Rendering(200, EVENT_HEADERS, tuple(ordered), stream=True)


def usage_value(told: Told, traits: Traits) -> dict[str, Any]:
    """Token counts; details where the server tells some."""
    usage = told.usage
    value: dict[str, Any] = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": None
        if usage.prompt_tokens is None and usage.completion_tokens is None
        else (usage.prompt_tokens or 0) + (usage.completion_tokens or 0),
    }
    for name, members in traits.usage_details.items():
        counted = {"cached_tokens": usage.cached_tokens or 0, "reasoning_tokens": usage.reasoning_tokens or 0}
        value[name] = {member: counted.get(member, given) for member, given in members.items()}
    return value


@dataclass(frozen=True, slots=True)
class Body:
    """The objects that places name: the answer or chunk, one of its choices, and the member that holds the text."""

    root: dict[str, Any]
    choice: dict[str, Any]
    inside: str

    def put(self, place: Place | None, value: Any, *, wanted: bool = True) -> None:
        """Put a value where its place says; nothing without a place, a wish or a value."""
        if place is None or not wanted or value is None:
            return
        if place.where == "root":
            self.root[place.key] = value
        elif place.where == "choice":
            self.choice[place.key] = value
        elif place.where == "message":
            self.choice[self.inside][place.key] = value
        else:
            self.choice[self.inside].setdefault("provider_specific_fields", {})[place.key] = value


def tells_ids(place: Place | None, delta: Delta, *, first: bool, stream: bool) -> bool:
    """Whether this delta is the one that tells the whole of a list of ids."""
    if place is None or not stream:
        return True
    return {"each": True, "first": first, "last": delta.end is not None}[place.when]


def prompt_ids(told: Told, choice: ToldChoice) -> list[Any] | None:
    ids = told.prompt_of(choice).token_ids
    return None if ids is None else list(ids)


def without_nulls(value: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    """The members of a chunk, less those without a value where the server leaves them out."""
    if not traits.sparse:
        return dict(value)
    return {name: one for name, one in value.items() if one is not None}
