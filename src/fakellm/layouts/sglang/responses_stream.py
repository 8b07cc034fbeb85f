"""The output items of a streamed response: which is open, and the typed events that open, grow and close it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...message import Message
from ...told import Part
from .responses_items import function_item, message_item, reasoning_item, text_part

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


def held_until_known(events: Iterable[Message]) -> Iterator[Message]:
    """A message and what follows it wait until a call or the end tells what the message was for (0.5.20 on)."""
    held: list[Message] = []
    for event in events:
        body: Any = event.body
        opens = body["item"]["type"] if body["type"] == "response.output_item.added" else None
        if not held and opens != "message":
            yield event
            continue
        held.append(event)
        if opens == "function_call" or body["type"] in _ENDS:
            phase = "final_answer" if opens is None else "commentary"
            for each in held:
                yield replace(each, body=_for(each.body, phase), due_ms=event.due_ms)
            held.clear()
    yield from held


def _for(body: Any, phase: str) -> Any:
    item = body.get("item")
    return {**body, "item": {**item, "phase": phase}} if item and item["type"] == "message" else body


@dataclass(slots=True)
class OpenItems:
    """``hexes``: random hex digits; ``phased``: messages say what they are for; ``number``: the next event's."""

    hexes: Callable[[int], str]
    summarises: bool
    phased: bool
    number: int = 2
    done: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _kind: str | None = None
    _call: int | None = None
    _names: tuple[str, str, str | None] = ("", "", None)
    _text: str = ""
    _index: int = -1

    @property
    def _phase(self) -> str | None:
        return "final_answer" if self.phased else None

    def take(self, part: Part, due: float) -> Iterator[Message]:
        """A piece of reasoning, text or a call."""
        calling = self._kind == "tool"
        if part.kind == "content" and calling and not part.text.strip():
            return
        if self._kind != part.kind or (part.kind == "tool" and part.tool_index != self._call):
            yield from self.close(due)
            yield from self._open(part, due)
        self._text += part.text
        if part.kind == "content":
            yield self._event("response.output_text.delta", due, content_index=0, delta=part.text, logprobs=[])
        elif part.kind == "tool":
            if part.text:
                yield self._event("response.function_call_arguments.delta", due, delta=part.text)
        elif self.summarises:
            yield self._event("response.reasoning_summary_text.delta", due, delta=part.text, summary_index=0)
        else:
            yield self._event("response.reasoning_text.delta", due, content_index=0, delta=part.text)

    def close(self, due: float) -> Iterator[Message]:
        """Close the open item, if any."""
        kind, text, name = self._kind, self._text, self._names[0]
        if kind is None:
            return
        self._kind = None
        if kind == "content":
            yield self._event("response.output_text.done", due, content_index=0, logprobs=[], text=text)
            yield self._event("response.content_part.done", due, content_index=0, part=text_part(text, None))
            item = message_item(name, text, "completed", self._phase)
        elif kind == "tool":
            item = function_item(name, self._names[1], self._names[2], text, "completed")
            yield self._event("response.function_call_arguments.done", due, arguments=text, name=self._names[2])
        else:
            item = reasoning_item(name, text, summarised=self.summarises)
            yield from self._close_reasoning(text, due)
        yield self._item("done", item, due)
        self.done.append(item)

    def _close_reasoning(self, text: str, due: float) -> Iterator[Message]:
        if self.summarises:
            part = {"text": text, "type": "summary_text"}
            yield self._event("response.reasoning_summary_text.done", due, summary_index=0, text=text)
            yield self._event("response.reasoning_summary_part.done", due, part=part, summary_index=0)
            return
        yield self._event("response.reasoning_text.done", due, content_index=0, text=text)
        part = {"text": text, "type": "reasoning_text"}
        yield self._event("response.content_part.done", due, content_index=0, part=part)

    def _open(self, part: Part, due: float) -> Iterator[Message]:
        self._kind, self._text, self._call = part.kind, "", part.tool_index
        self._index += 1
        if part.kind == "content":
            self._names = (f"msg_{self.hexes(32)}", "", None)
            yield self._item("added", message_item(self._names[0], None, "in_progress", self._phase), due)
            yield self._event("response.content_part.added", due, content_index=0, part=text_part("", None))
        elif part.kind == "tool":
            self._names = (f"fc_{self.hexes(8)}", f"call_{self.hexes(24)}", part.name)
            yield self._item("added", function_item(*self._names, "", "in_progress"), due)
            for item in self.done:
                if "phase" in item:
                    item["phase"] = "commentary"
        else:
            self._names = (f"rs_{self.hexes(32)}", "", None)
            yield self._item(
                "added", reasoning_item(self._names[0], "", summarised=self.summarises, status="in_progress"), due
            )
            if self.summarises:
                part_added = {"text": "", "type": "summary_text"}
                yield self._event("response.reasoning_summary_part.added", due, part=part_added, summary_index=0)
            else:
                part_added = {"text": "", "type": "reasoning_text"}
                yield self._event("response.content_part.added", due, content_index=0, part=part_added)

    def _item(self, what: str, item: Mapping[str, Any], due: float) -> Message:
        name = f"response.output_item.{what}"
        body = {"item": dict(item), "output_index": self._index, "sequence_number": self.number, "type": name}
        self.number += 1
        return Message("event", body, due_ms=due, event=name, spelling="serde")

    def _event(self, kind: str, due: float, **fields: Any) -> Message:
        """An event on the open item; the SDK's types order their members by name."""
        made = {
            **fields,
            "item_id": self._names[0],
            "output_index": self._index,
            "sequence_number": self.number,
            "type": kind,
        }
        self.number += 1
        body = {member: made[member] for member in sorted(made)}
        return Message("event", body, 0, due_ms=due, event=kind, spelling="serde")
