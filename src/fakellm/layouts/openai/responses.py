"""OpenAI's Responses, whole and streamed: items in the order in which the model made them, events in OpenAI's order.

Output items are planned first (reasoning, message, calls), each from the deltas that make it; whole answers list them,
streams tell them one after the other. Scores belong to the text whose tokens they are. Reads only what is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...ask import Ask
from ...message import Message, Rendering
from ...told import Part, Score, Told
from ..common.fields import as_object
from ..compatible.deltas import Delta, deltas_of
from ..compatible.frame import EVENT_HEADERS, json_answer
from ..compatible.traits import Traits
from .response_object import (
    call_item,
    event_score,
    message_item,
    reasoning_item,
    response_value,
    summary_part,
    text_part,
    usage_value,
)

FAILED = {"code": "server_error", "message": "The model failed to generate a response."}


@dataclass(slots=True)
class Item:
    """One item of the output: ``kind`` reasoning | message | call, with the deltas or the call that make it."""

    kind: str
    id: str
    deltas: list[Delta] = field(default_factory=list[Delta])
    call: Part | None = None
    call_id: str = ""
    due_ms: float = 0.0
    summarised: bool = False

    @property
    def text(self) -> str:
        return "".join(delta.content for delta in self.deltas)

    @property
    def summary(self) -> str | None:
        """What a summary of this reasoning says: all of it."""
        return "".join(delta.reasoning for delta in self.deltas) if self.summarised else None

    @property
    def scores(self) -> list[Score | None]:
        return [score for delta in self.deltas for score in delta.scores]

    def value(self, status: str) -> dict[str, Any]:
        """The item when it is done."""
        if self.kind == "reasoning":
            return reasoning_item(self.id, self.summary)
        if self.kind == "message":
            return message_item(self.id, [text_part(self.text, self.scores)], status)
        assert self.call is not None
        return call_item(self.id, self.call_id, self.call.name, self.call.text, status)


@dataclass(frozen=True, slots=True)
class Plan:
    """An answer before it is written. ``status``: completed | incomplete | failed."""

    response_id: str
    created: float
    status: str
    items: tuple[Item, ...]
    due_ms: float


def plan_of(told: Told, ask: Ask, traits: Traits, created: float, fresh: Callable[[int], str]) -> Plan:
    """The items of an answer."""
    choice = told.choices[0]
    items: list[Item] = []
    summarised = as_object(ask.body.get("reasoning")).get("summary") is not None
    status = "failed" if choice.failure is not None else "completed"
    due = 0.0
    for delta in deltas_of(choice, traits, stream=ask.stream):
        due = delta.due_ms
        if delta.end is not None:
            status = "incomplete" if delta.end == "length" else status
            break
        if delta.reasoning:
            thought = _item(items, "reasoning", "rs_", fresh)
            thought.summarised, thought.due_ms = summarised, due
            thought.deltas.append(delta)
        if delta.content:
            _item(items, "message", "msg_", fresh).deltas.append(delta)
        for part in delta.calls:
            call = Item("call", f"fc_{fresh(48)}", call=part, call_id=f"call_{fresh(24)}", due_ms=due)
            items.append(call)
    if not items and status != "failed":
        items.append(Item("message", f"msg_{fresh(48)}"))
    return Plan(f"resp_{fresh(48)}", created, status, tuple(items), due)


def _item(items: list[Item], kind: str, prefix: str, fresh: Callable[[int], str]) -> Item:
    """The item that grows: the last one, when it is of this kind."""
    if not items or items[-1].kind != kind:
        items.append(Item(kind, f"{prefix}{fresh(48)}"))
    return items[-1]


def item_status(plan: Plan, item: Item) -> str:
    """Only the last item of an answer can be incomplete."""
    return "incomplete" if plan.status != "completed" and item is plan.items[-1] else "completed"


def final_value(plan: Plan, told: Told, ask: Ask) -> dict[str, Any]:
    """The response object at its end."""
    output = [item.value(item_status(plan, item)) for item in plan.items]
    error = FAILED if plan.status == "failed" else None
    usage = None if error else usage_value(told)
    return response_value(ask, plan.response_id, plan.created, plan.status, output, usage, error=error)


def whole(plan: Plan, told: Told, ask: Ask) -> Rendering:
    """The whole answer. A failure is an object with a status of its own, not an HTTP error."""
    return json_answer(final_value(plan, told, ask))


def streamed(plan: Plan, told: Told, ask: Ask) -> Rendering:
    """The events. There is no mark at the end: the last event is it."""
    return Rendering(200, EVENT_HEADERS, tuple(_Events(plan, ask).play(told)), stream=True)


class _Events:
    def __init__(self, plan: Plan, ask: Ask) -> None:
        self._plan = plan
        self._ask = ask
        self._events: list[Message] = []

    def play(self, told: Told) -> list[Message]:
        plan = self._plan
        began = response_value(self._ask, plan.response_id, plan.created, "in_progress", (), None)
        due = plan.items[0].due_ms if plan.items else plan.due_ms
        for name in ("response.created", "response.in_progress"):
            self._say(name, {"response": began}, due, kind="role")
        for index, item in enumerate(plan.items):
            {"reasoning": self._reasoning, "message": self._message, "call": self._call}[item.kind](index, item)
        kind = "error" if plan.status == "failed" else "finish"
        value = final_value(plan, told, self._ask)
        self._say(f"response.{plan.status}", {"response": value}, plan.due_ms, kind=kind)
        return self._events

    def _reasoning(self, index: int, item: Item) -> None:
        begun = reasoning_item(item.id, None)
        self._say("response.output_item.added", {"output_index": index, "item": begun}, item.due_ms)
        if item.summary is not None:
            self._summary(index, item, item.summary)
        self._say("response.output_item.done", {"output_index": index, "item": item.value("completed")}, item.due_ms)

    def _summary(self, index: int, item: Item, text: str) -> None:
        place = {"item_id": item.id, "output_index": index, "summary_index": 0}
        name = "response.reasoning_summary"
        self._say(f"{name}_part.added", {**place, "part": summary_part("")}, item.due_ms)
        for delta in item.deltas:
            self._say(f"{name}_text.delta", {**place, "delta": delta.reasoning}, delta.due_ms, kind="delta")
        self._say(f"{name}_text.done", {**place, "text": text}, item.due_ms)
        self._say(f"{name}_part.done", {**place, "part": summary_part(text)}, item.due_ms)

    def _message(self, index: int, item: Item) -> None:
        start = item.deltas[0].due_ms if item.deltas else self._plan.due_ms
        end = item.deltas[-1].due_ms if item.deltas else self._plan.due_ms
        begun = message_item(item.id, (), "in_progress")
        self._say("response.output_item.added", {"output_index": index, "item": begun}, start)
        place = {"content_index": 0, "item_id": item.id, "output_index": index}
        self._say("response.content_part.added", {**place, "part": text_part("", ())}, start)
        for delta in item.deltas:
            scores = [event_score(score) for score in delta.scores]
            members = {**place, "delta": delta.content, "logprobs": scores}
            self._say("response.output_text.delta", members, delta.due_ms, kind="delta", span=delta.span)
        scores = [event_score(score) for score in item.scores]
        self._say("response.output_text.done", {**place, "logprobs": scores, "text": item.text}, end)
        self._say("response.content_part.done", {**place, "part": text_part(item.text, item.scores)}, end)
        done = item.value(item_status(self._plan, item))
        self._say("response.output_item.done", {"output_index": index, "item": done}, end)

    def _call(self, index: int, item: Item) -> None:
        assert item.call is not None
        begun = call_item(item.id, item.call_id, item.call.name, "", "in_progress")
        self._say("response.output_item.added", {"output_index": index, "item": begun}, item.due_ms)
        place = {"item_id": item.id, "output_index": index}
        arguments = item.call.text
        self._say("response.function_call_arguments.delta", {**place, "delta": arguments}, item.due_ms, kind="delta")
        self._say("response.function_call_arguments.done", {**place, "arguments": arguments}, item.due_ms)
        done = item.value(item_status(self._plan, item))
        self._say("response.output_item.done", {"output_index": index, "item": done}, item.due_ms)

    def _say(
        self,
        name: str,
        members: Mapping[str, Any],
        due_ms: float,
        *,
        kind: str = "event",
        span: tuple[int, int] | None = None,
    ) -> None:
        body = {"type": name, "sequence_number": len(self._events), **members}
        self._events.append(Message(kind, body, 0, span, due_ms, event=name))


def said(plan: Plan) -> Sequence[Mapping[str, Any]]:
    """What the assistant said, as messages of the conversation that may go on."""
    messages: list[Mapping[str, Any]] = []
    for item in plan.items:
        if item.kind == "message":
            messages.append({"role": "assistant", "content": item.text})
        elif item.call is not None:
            function = {"name": item.call.name, "arguments": item.call.text}
            call = {"id": item.call_id, "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
    return messages
