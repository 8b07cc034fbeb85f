"""``/v1/responses``, whole and streamed, with or without the scores that released versions drop.

Scores come with chunks. A chunk that shows text tells on its delta all scores that came since the delta before;
chunks that show none (reasoning, calls, the end token) keep theirs for the next delta, or for the text's done event,
which tells all of them again, in order, once. A message that never begins has no place for scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...message import Message, Rendering
from ...told import Part, Score, Told
from . import answers, nvext
from .chunks import Chunk, chunks_of
from .frame import Frame, dashed
from .response_object import (
    call_item,
    message_item,
    response_value,
    short,
    text_part,
    usage_value,
    whole_order,
)


def render(told: Told, frame: Frame) -> Rendering:
    """The answer to a Responses request."""
    chunks = list(chunks_of(told.choices[0], told, frame.extension, frame.facts))
    if frame.ask.stream:
        return answers.events(_Stream(told, frame).play(chunks), done=frame.traits.responses_done)
    if told.choices[0].failure is not None:
        return answers.engine_failed()
    return _whole(told, chunks, frame)


def _status(chunks: list[Chunk]) -> str:
    return "incomplete" if chunks and chunks[-1].finish_reason == "length" else "completed"


def _known(scores: tuple[Score | None, ...] | None) -> list[Score]:
    return [score for score in scores or () if score is not None]


def _whole(told: Told, chunks: list[Chunk], frame: Frame) -> Rendering:
    """Calls stand before the message, whatever was said first (a difference from streams that was captured)."""
    calls = [part for chunk in chunks for part in chunk.calls]
    text = "".join(chunk.content or "" for chunk in chunks)
    scores = [score for chunk in chunks for score in _known(chunk.scores)]
    status = _status(chunks)
    output = [
        call_item(f"fc_{frame.fresh()}", f"call-{dashed(frame.fresh())}", part.name, part.text, "completed")
        for part in calls
    ]
    if text or not calls:
        output.append(message_item(f"msg_{frame.fresh()}", text_part(text, scores), status))
    output[-1]["status"] = status
    value = whole_order(response_value(frame, f"resp_{frame.fresh()}", status, output, usage_value(told, frame)))
    extension = nvext.merged([chunk.nvext for chunk in chunks])
    return answers.json_answer(value | ({"nvext": extension} if extension else {}))


@dataclass(slots=True)
class _Call:
    index: int
    id: str
    call_id: str
    part: Part

    def item(self, status: str, *, begun: bool = False) -> dict[str, Any]:
        return call_item(self.id, self.call_id, self.part.name, "" if begun else self.part.text, status)


@dataclass(slots=True)
class _Text:
    """The message while it grows. ``untold``: scores that no delta has told yet."""

    index: int | None = None
    id: str = ""
    text: str = ""
    scores: list[Score] = field(default_factory=list[Score])
    untold: list[Score] = field(default_factory=list[Score])


class _Stream:
    """Writes one stream of events."""

    def __init__(self, told: Told, frame: Frame) -> None:
        self._told = told
        self._frame = frame
        self._id = f"resp_{frame.fresh()}"
        self._events: list[Message] = []
        self._message = _Text()
        self._calls: list[_Call] = []
        self._done: dict[int, dict[str, Any]] = {}
        self._due = 0.0
        self._span: tuple[int, int] | None = None

    def play(self, chunks: list[Chunk]) -> list[Message]:
        """Every event of the answer."""
        self._due = chunks[0].due_ms if chunks else 0.0
        began = response_value(self._frame, self._id, "in_progress", (), None)
        self._say("response.created", {"response": began}, kind="role")
        self._say("response.in_progress", {"response": began}, kind="role")
        for chunk in chunks:
            self._chunk(chunk)
        self._end(chunks)
        return self._events

    def _chunk(self, chunk: Chunk) -> None:
        self._due, self._span = chunk.due_ms, chunk.span
        known = _known(chunk.scores)
        self._message.scores += known
        self._message.untold += known
        if chunk.content:
            self._delta(chunk.content)
        for part in chunk.calls:
            self._call(part)
        self._span = None

    def _delta(self, text: str) -> None:
        message = self._message
        if message.index is None:
            message.index, message.id = self._next_index(), f"msg_{self._frame.fresh()}"
            item = message_item(message.id, None, "in_progress")
            self._say("response.output_item.added", {"output_index": message.index, "item": item})
            self._say("response.content_part.added", {**self._place(), "part": text_part("", ())})
        scores = [short(score) for score in message.untold]
        message.untold.clear()
        message.text += text
        self._say("response.output_text.delta", {**self._place(), "delta": text, "logprobs": scores}, kind="delta")

    def _call(self, part: Part) -> None:
        frame = self._frame
        call = _Call(self._next_index(), f"fc_{frame.fresh()}", f"call-{dashed(frame.fresh())}", part)
        self._calls.append(call)
        began = {"output_index": call.index, "item": call.item("in_progress", begun=True)}
        self._say("response.output_item.added", began)
        place = {"item_id": call.id, "output_index": call.index}
        self._say("response.function_call_arguments.delta", {**place, "delta": part.text}, kind="delta")

    def _end(self, chunks: list[Chunk]) -> None:
        failed = self._told.choices[0].failure is not None
        status = "failed" if failed else _status(chunks)
        calls_first = bool(chunks) and chunks[-1].finish_reason == "tool_calls"
        self._close_all(calls_first, "completed" if status == "completed" else "incomplete")
        error = {"code": "server_error", "message": "Internal server error"} if failed else None
        output = [self._done[index] for index in sorted(self._done)]
        usage = None if failed and self._frame.ask.tools else usage_value(self._told, self._frame)
        value = response_value(self._frame, self._id, status, output, usage, error=error)
        self._say(f"response.{status}", {"response": value}, kind="error" if failed else "finish")

    def _close_all(self, calls_first: bool, last_status: str) -> None:
        """Close every item; only the one that is closed last may be incomplete."""
        messages = [] if self._message.index is None else [self._message]
        items: list[_Call | _Text] = [*self._calls, *messages] if calls_first else [*messages, *self._calls]
        for place, item in enumerate(items, 1):
            status = last_status if place == len(items) else "completed"
            if isinstance(item, _Call):
                self._close_call(item, status)
            else:
                self._close_message(item, status)

    def _close_call(self, call: _Call, status: str) -> None:
        place = {"item_id": call.id, "output_index": call.index}
        name = {"name": call.part.name}
        done = "response.function_call_arguments.done"
        self._say(done, {**place, "arguments": call.part.text}, first=name)
        self._close_item(call.index, call.item(status))

    def _close_message(self, message: _Text, status: str) -> None:
        scores = [short(score) for score in message.scores]
        self._say("response.output_text.done", {**self._place(), "text": message.text, "logprobs": scores})
        part = text_part(message.text, message.scores)
        self._say("response.content_part.done", {**self._place(), "part": part})
        self._close_item(message.index or 0, message_item(message.id, part, status))

    def _close_item(self, index: int, item: dict[str, Any]) -> None:
        self._done[index] = item
        self._say("response.output_item.done", {"output_index": index, "item": item})

    def _place(self) -> dict[str, Any]:
        return {"item_id": self._message.id, "output_index": self._message.index, "content_index": 0}

    def _next_index(self) -> int:
        return len(self._calls) + (self._message.index is not None)

    def _say(
        self, name: str, members: Mapping[str, Any], *, kind: str = "event", first: Mapping[str, Any] | None = None
    ) -> None:
        body = {"type": name, **(first or {}), "sequence_number": len(self._events), **members}
        self._events.append(Message(kind, body, 0, self._span, self._due, event=name, spelling="serde"))
