"""Responses streams up to 0.16: reasoning and text alone, everything counted up in content_index.

Tool calls stay raw text. When reasoning ends, the next item is announced under the old item's id and place: that is
how these versions behave. Source: ``_process_simple_streaming_events`` of 0.10.2, 0.12 and 0.16.
"""

from __future__ import annotations

from typing import Any

from ....told import ToldStep
from . import items
from .body import Answer
from .events import Events
from .texts import Texts, texts_of


class FlatStream:
    """The events between response.in_progress and response.completed."""

    def __init__(self, answer: Answer, events: Events) -> None:
        self._answer = answer
        self._events = events
        self._sent: list[Texts] = []
        self._id = ""
        self._item = 0
        self._place = 0

    def run(self) -> None:
        for step in self._answer.choice.steps:
            self._events.due_ms, self._events.tokens = step.due_ms, step.tokens
            texts = texts_of(step)
            if texts is not None:
                self._step(texts, step)
        if self._answer.choice.failure is None:
            self._end()

    def _step(self, texts: Texts, step: ToldStep) -> None:
        if not self._id:
            self._id = self._new_id()
            self._announce(items.reasoning(self._id, None, "in_progress") if texts.reasoning else self._empty())
            self._begin_part()
        if self._sent and self._sent[-1].reasoning is not None and texts.content is not None:
            self._end_reasoning()
            self._place = 0
            self._announce(self._empty())
            self._item += 1
            self._id = self._new_id()
            self._begin_part()
            self._sent = []
        if texts.reasoning is not None:
            self._add("response.reasoning_text.delta", kind="delta", delta=texts.reasoning)
        elif texts.content is not None:
            answer = self._answer
            scores = answer.scores(step.scores) if answer.wants_scores else []
            logprobs = [items.stream_entry(score) for score in scores]
            self._add("response.output_text.delta", kind="delta", delta=texts.content, logprobs=logprobs)
        self._place += 1
        self._sent.append(texts)

    def _end(self) -> None:
        if not self._sent:
            return
        if self._sent[-1].reasoning is not None:
            self._end_reasoning()
        elif self._sent[-1].content is not None:
            text = "".join(texts.content or "" for texts in self._sent)
            self._add("response.output_text.done", text=text, logprobs=[])
            self._place += 1
            part = items.text_part(text, None)
            self._add("response.content_part.done", part=part)
            item: dict[str, Any] = {**items.message(self._id, [part]), "summary": []}
            self._events.add("response.output_item.done", item=item, output_index=self._item)

    def _end_reasoning(self) -> None:
        text = "".join(texts.reasoning or "" for texts in self._sent)
        self._add("response.reasoning_text.done", text=text)
        item = items.reasoning(self._id, text, "completed")
        self._events.add("response.output_item.done", item=item, output_index=self._item)

    def _announce(self, item: Any) -> None:
        self._events.add("response.output_item.added", item=item, output_index=self._item)

    def _empty(self) -> Any:
        return items.message(self._id, [], "in_progress")

    def _begin_part(self) -> None:
        self._add("response.content_part.added", part=items.text_part("", []))
        self._place += 1

    def _add(self, event: str, **members: Any) -> None:
        self._events.add(event, content_index=self._place, item_id=self._id, output_index=self._item, **members)

    def _new_id(self) -> str:
        return dashed(self._answer.hex(32))


def dashed(digits: str) -> str:
    """32 hex digits as a uuid is written."""
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
