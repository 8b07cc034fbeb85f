"""Responses streams of 0.20.2: calls are streamed too, one at a time; the end is told by what the last step was.

A last step without text leaves its item without any done event; text before a call is closed as if it were empty:
that is how this version behaves. Source: ``_process_simple_streaming_events`` of 0.20.2.
"""

from __future__ import annotations

from typing import Any

from ....told import Part, ToldStep
from . import items
from .body import Answer
from .events import Events
from .flat import dashed
from .texts import Texts, texts_of


class Broken(Exception):
    """The server's own assertion fails here: the connection is cut."""


class SingleStream:
    """The events between response.in_progress and response.completed."""

    def __init__(self, answer: Answer, events: Events) -> None:
        self._answer = answer
        self._events = events
        self._sent: list[Texts] = []
        self._id = ""
        self._item = 0
        self._place = 0
        self._call: Part | None = None
        self._call_id = ""

    def run(self) -> None:
        """Raises Broken where the server would fail."""
        for step in self._answer.choice.steps:
            self._events.due_ms, self._events.tokens = step.due_ms, step.tokens
            texts = texts_of(step)
            if texts is not None:
                self._step(texts, step)
        if self._sent and self._answer.choice.failure is None:
            self._end()

    def _step(self, texts: Texts, step: ToldStep) -> None:
        if len(texts.calls) > 1:
            raise Broken("Multiple tool calls in one delta is not supported")
        begun = not self._id and self._first(texts)
        if self._sent and self._sent[-1].reasoning is not None and texts.content is not None:
            texts = self._from_reasoning(texts)
        if texts.calls:
            if self._call_step(texts.calls[0], begun):
                return
        elif texts.reasoning is not None:
            self._add("response.reasoning_text.delta", kind="delta", content_index=self._place, delta=texts.reasoning)
        elif texts.content:
            answer = self._answer
            scores = answer.scores(step.scores) if answer.wants_scores else []
            logprobs = [items.stream_entry(score) for score in scores]
            self._add(
                "response.output_text.delta",
                kind="delta",
                content_index=self._place,
                delta=texts.content,
                logprobs=logprobs,
            )
        self._sent.append(texts)

    def _first(self, texts: Texts) -> bool:
        """Announce the first item; is it a tool call?"""
        self._id = self._answer.new_id("")
        if texts.calls:
            if texts.calls[0].name is None:
                raise Broken("Tool call without function name is not supported")
            self._begin_call(texts.calls[0])
            return True
        if texts.reasoning:
            self._announce(items.reasoning(self._id, None, "in_progress"))
            self._part("response.reasoning_part.added", items.reasoning_part(""))
        else:
            self._begin_message()
        return False

    def _from_reasoning(self, texts: Texts) -> Texts:
        """Content follows reasoning: the reasoning item ends, with what this step adds to it."""
        text = "".join(earlier.reasoning or "" for earlier in self._sent)
        if texts.reasoning is not None:
            self._add("response.reasoning_text.delta", kind="delta", content_index=self._place, delta=texts.reasoning)
            text += texts.reasoning
            texts = Texts(content=texts.content)
        self._end_reasoning(text)
        self._place = 0
        self._item += 1
        self._id = dashed(self._answer.hex(32))
        self._begin_message()
        self._sent = []
        return texts

    def _call_step(self, call: Part, begun: bool) -> bool:
        """A piece of a call; True = the step is done with."""
        known = self._call
        if known is not None and call.tool_index != known.tool_index and call.name is not None:
            self._end_call("".join(part.text for texts in self._sent for part in texts.calls[:1]))
            self._sent = []
            self._next_call(call)
            self._place = 0
            begun = True
        if call.text:
            self._add("response.function_call_arguments.delta", kind="delta", delta=call.text)
            return False
        if call.name is None or begun:
            return False
        self._add("response.output_text.done", content_index=self._place, text="", logprobs=[])
        self._part("response.content_part.done", items.text_part("", []))
        self._done(items.message(self._id, []))
        self._next_call(call)
        self._place = 1
        return True

    def _next_call(self, call: Part) -> None:
        self._item += 1
        self._id = self._answer.new_id("")
        self._begin_call(call)

    def _begin_call(self, call: Part) -> None:
        self._call = call
        self._call_id = self._answer.new_id(self._answer.rules.stream_call_ids)
        self._announce(self._call_item("", "in_progress"))

    def _call_item(self, arguments: str, status: str) -> Any:
        name = items.CallName((self._call.name if self._call else None) or "")
        return items.function_call(self._id, self._call_id, name, arguments, status)

    def _end(self) -> None:
        arguments = "".join(part.text for texts in self._sent for part in texts.calls)
        last = self._sent[-1]
        if arguments:
            self._end_call(arguments)
        elif last.reasoning is not None:
            self._end_reasoning("".join(texts.reasoning or "" for texts in self._sent))
        elif last.content:
            text = "".join(texts.content or "" for texts in self._sent)
            self._add("response.output_text.done", content_index=self._place, text=text, logprobs=[])
            part = items.text_part(text, None)
            self._part("response.content_part.done", part)
            self._done({**items.message(self._id, [part]), "summary": []})

    def _end_call(self, arguments: str) -> None:
        name = (self._call.name if self._call else None) or ""
        self._add("response.function_call_arguments.done", arguments=arguments, last={"name": name})
        self._done(self._call_item(arguments, "completed"))

    def _end_reasoning(self, text: str) -> None:
        self._add("response.reasoning_text.done", content_index=self._place, text=text)
        self._part("response.reasoning_part.done", items.reasoning_part(text))
        self._done(items.reasoning(self._id, text, "completed"))

    # ------------------------------------------------------------------ writing

    def _begin_message(self) -> None:
        self._announce(items.message(self._id, [], "in_progress"))
        self._part("response.content_part.added", items.text_part("", []))

    def _announce(self, item: Any) -> None:
        self._events.add("response.output_item.added", item=item, output_index=self._item)

    def _done(self, item: Any) -> None:
        self._events.add("response.output_item.done", item=item, output_index=self._item)

    def _part(self, event: str, part: Any) -> None:
        self._add(event, content_index=self._place, part=part)

    def _add(self, event: str, **members: Any) -> None:
        self._events.add(event, item_id=self._id, output_index=self._item, **members)
