"""Responses streams from 0.24 on: one item is open at a time, and a change of kind closes it and opens the next.

Source: vllm/entrypoints/openai/responses/streaming_events.py (SimpleStreamingEventProcessor).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....told import Part, ToldStep
from . import items
from .body import Answer
from .events import Events

NO_NAME = items.CallName("")


@dataclass(slots=True)
class _Open:
    """The item that is open. ``call``: the index of a tool call; ``sent``: a custom call's text so far."""

    kind: str
    id: str
    text: str = ""
    scores: tuple[Any, ...] = ()
    call: int | None = None
    call_id: str = ""
    name: items.CallName = NO_NAME
    sent: str = ""
    told: bool = False


class ItemStream:
    """The events between response.in_progress and response.completed. ``output``: the items as they were finished."""

    def __init__(self, answer: Answer, events: Events) -> None:
        self._answer = answer
        self._events = events
        self._open: _Open | None = None
        self.output: list[Any] = []

    def run(self) -> None:
        for step in self._answer.choice.steps:
            self._events.due_ms, self._events.tokens = step.due_ms, step.tokens
            for group in _groups(self._shown(step)):
                self._group(group, step)
        if self._answer.choice.failure is None:
            self._close()

    def _shown(self, step: ToldStep) -> Sequence[Part]:
        if step.parts is None:
            return (Part("content", step.text),)
        if not (self._answer.rules.filters_calls and self._answer.ask.body.get("parallel_tool_calls") is False):
            return step.parts
        return [part for part in step.parts if not part.tool_index]

    def _group(self, parts: Sequence[Part], step: ToldStep) -> None:
        first = parts[0]
        if first.kind == "content" and not first.text:
            return
        now = self._open
        if now is None or now.kind != first.kind or (first.kind == "tool" and now.call != first.tool_index):
            self._close()
            self._begin(first)
        text = "".join(part.text for part in parts)
        if first.kind == "tool":
            self._arguments(text)
        elif first.kind == "reasoning":
            self._reasoning(text)
        else:
            self._content(text, step)

    # ------------------------------------------------------------------ opening

    def _begin(self, part: Part) -> None:
        place = len(self.output)
        if part.kind == "tool":
            self._open = self._called(part)
            item = self._call_item(self._open, "", "in_progress")
            self._events.add("response.output_item.added", item=item, output_index=place)
            return
        prefix = "rs_" if part.kind == "reasoning" else "msg_"
        now = self._open = _Open(part.kind, self._new_id(prefix))
        if part.kind == "reasoning":
            item = items.reasoning(now.id, None, "in_progress")
            self._events.add("response.output_item.added", item=item, output_index=place)
            added = f"response.{self._answer.rules.reasoning_part}.added"
            self._part_event(added, items.reasoning_part(""))
            return
        item = items.message(now.id, [], "in_progress")
        self._events.add("response.output_item.added", item=item, output_index=place)
        self._part_event("response.content_part.added", items.text_part("", []))

    def _called(self, part: Part) -> _Open:
        rules = self._answer.rules
        name = items.call_name(part.name or "", self._answer.tools, custom_tools=rules.custom_tools)
        return _Open(
            "tool",
            self._new_id("ctc_" if name.custom else "fc_"),
            call=part.tool_index,
            call_id=self._answer.new_id(rules.stream_call_ids),
            name=name,
        )

    def _new_id(self, prefix: str) -> str:
        return self._answer.new_id(prefix if self._answer.rules.prefixed_ids else "")

    def _call_item(self, call: _Open, text: str, status: str) -> Any:
        if call.name.custom:
            return items.custom_call(call.id, call.call_id, call.name, text)
        return items.function_call(call.id, call.call_id, call.name, text, status)

    # ------------------------------------------------------------------- deltas

    def _content(self, text: str, step: ToldStep) -> None:
        now, answer = self._now(), self._answer
        now.text += text
        logprobs: list[Any] = []
        if answer.wants_scores:
            logprobs = [items.stream_entry(score) for score in answer.scores(step.scores)]
            now.scores += tuple(answer.entries(step.scores))
        self._add("response.output_text.delta", kind="delta", content_index=0, delta=text, logprobs=logprobs)

    def _reasoning(self, text: str) -> None:
        self._now().text += text
        self._add("response.reasoning_text.delta", kind="delta", content_index=0, delta=text)

    def _arguments(self, text: str) -> None:
        if not text:
            return
        now = self._now()
        now.text += text
        now.told = True
        if now.name.custom:
            self._custom_input(items.custom_input_so_far(now.text))
        else:
            self._add("response.function_call_arguments.delta", kind="delta", delta=text)

    def _custom_input(self, text: str) -> None:
        now = self._now()
        if text == now.sent:
            return
        fresh = text[len(now.sent) :] if text.startswith(now.sent) else text
        now.sent = text
        self._add("response.custom_tool_call_input.delta", kind="delta", delta=fresh)

    # ------------------------------------------------------------------ closing

    def _close(self) -> None:
        if self._open is None:
            return
        item = {"tool": self._end_call, "reasoning": self._end_reasoning, "content": self._end_content}[
            self._open.kind
        ]()
        self._events.add("response.output_item.done", item=item, output_index=len(self.output))
        self.output.append(item)
        self._open = None

    def _end_content(self) -> Any:
        now, rules = self._now(), self._answer.rules
        part = items.text_part(now.text, list(now.scores) if now.scores and rules.part_scores else None)
        self._add("response.output_text.done", content_index=0, text=now.text, logprobs=[])
        self._part_event("response.content_part.done", part)
        item = items.message(now.id, [part] if now.text else [])
        return {**item, "summary": []} if rules.summary else item

    def _end_reasoning(self) -> Any:
        now = self._now()
        self._add("response.reasoning_text.done", content_index=0, text=now.text)
        self._part_event(f"response.{self._answer.rules.reasoning_part}.done", items.reasoning_part(now.text))
        return items.reasoning(now.id, now.text, "completed")

    def _end_call(self) -> Any:
        now = self._now()
        if now.name.custom:
            text = items.custom_input(now.text)
            self._custom_input(text)
            self._add("response.custom_tool_call_input.done", input=text)
            return self._call_item(now, text, "completed")
        if now.told or self._answer.rules.empty_call_done:
            self._add("response.function_call_arguments.done", arguments=now.text, last={"name": now.name.name})
        return self._call_item(now, now.text, "completed")

    # ------------------------------------------------------------------ writing

    def _now(self) -> _Open:
        assert self._open is not None
        return self._open

    def _add(self, event: str, **members: Any) -> None:
        self._events.add(event, item_id=self._now().id, output_index=len(self.output), **members)

    def _part_event(self, event: str, part: Any) -> None:
        self._add(event, content_index=0, part=part)


def _groups(parts: Sequence[Part]) -> list[list[Part]]:
    """The parts of one step, split by kind and call: reasoning, content, then every call."""
    groups: dict[tuple[str, int | None], list[Part]] = {}
    for part in parts:
        if "null" not in part.marks:
            groups.setdefault((part.kind, part.tool_index), []).append(part)
    order = {"reasoning": 0, "content": 1, "tool": 2}
    return [groups[key] for key in sorted(groups, key=lambda key: order[key[0]])]
