"""The answers of /v1/responses: the response object, and the typed events of its stream.

Up to 0.5.13 a stream has only its first two events and its last; the envelope and its members changed with 0.5.20.
Reads only the Told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...message import Message, Rendering
from ...told import Part, Score, Told, ToldChoice
from . import answers
from .loose import members
from .responses import ResponsesRoute, refusal
from .responses_body import effective_choice
from .responses_items import function_item, message_item, reasoning_item
from .responses_stream import OpenItems, held_until_known
from .traits import Trait, Traits

if TYPE_CHECKING:
    from .station import SglangStation

_STATUSES = {"length": "incomplete", "abort": "failed", "error": "failed"}


@dataclass(frozen=True, slots=True)
class ResponsesRenderer:
    """Renders one response. ``created``: seconds since 1970; ``hexes``: random hex digits."""

    route: ResponsesRoute
    traits: Traits
    created: int
    hexes: Callable[[int], str]

    def whole(self, told: Told) -> Rendering:
        """A JSON answer; a failed engine is an error of the route."""
        choice = told.choices[0]
        failed = choice.failure
        if choice.finish_reason == "abort" and failed is not None and failed.code is not None:
            return refusal(failed.message if failed.code == 400 else f"{failed.code}: {failed.message}")
        spelling = "serde" if self.traits.has(Trait.JSON_BY_PYDANTIC) else "json"
        return answers.json_answer(self.response(told), spelling=spelling)

    def response(self, told: Told) -> dict[str, Any]:
        """The finished response object."""
        choice = told.choices[0]
        logprobs = _logprobs(choice.scores or ()) if self.route.logprobs and choice.scores is not None else None
        return self.object(self._status(choice), self._items(choice, logprobs), self._usage(told), self._error(choice))

    def stream(self, told: Told) -> Rendering:
        """Typed events; no ``[DONE]``."""
        events: Iterable[Message] = self._events(told)
        if self.traits.has(Trait.RESPONSES_STORE) and self._may_call():
            events = held_until_known(events)
        return answers.events(tuple(events), done=False, headers=answers.UNCACHED_HEADERS)

    def _may_call(self) -> bool:
        """Whether tools are offered that a call may follow a message to."""
        values = self.route.values
        offered = any(members(tool).get("type") in ("function", "custom") for tool in values["tools"])
        return offered and effective_choice(values["tool_choice"]) != "none"

    def object(
        self,
        status: str,
        output: Sequence[Any] = (),
        usage: Mapping[str, Any] | None = None,
        error: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """A response object as JSON answers have it."""
        values = self.route.values
        asked = values["text"]
        text = asked if asked is not None else ({"format": {"type": "text"}} if _only_text(output) else None)
        effort = members(values["reasoning"]).get("effort")
        return {
            "id": self.route.id,
            "object": "response",
            "created_at": self.created,
            "model": values["model"],
            "output": list(output),
            "status": status,
            "usage": usage,
            "parallel_tool_calls": values["parallel_tool_calls"] is not False,
            "tool_choice": effective_choice(values["tool_choice"]),
            "tools": [_tool(tool, self.traits) for tool in values["tools"]],
            "error": error,
            "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
            "instructions": values["instructions"],
            "max_output_tokens": values["max_output_tokens"],
            "previous_response_id": values["previous_response_id"],
            "reasoning": {"effort": effort, "summary": None},
            "store": values["store"],
            "temperature": values["temperature"],
            "text": text,
            "top_p": values["top_p"],
            "truncation": values["truncation"],
            "user": values["user"],
            "metadata": dict(values["metadata"] or {}),
        }

    def lifecycle(self, kind: str, number: int, body: Mapping[str, Any], due: float) -> Message:
        """response.created, .in_progress, .completed, .incomplete, .failed."""
        name = f"response.{kind}"
        if self.traits.has(Trait.RESPONSES_ENVELOPE):
            made = {"type": name, "response": body, "sequence_number": number}
        else:
            made = {"response": _sdk_response(body), "sequence_number": number, "type": name}
        return Message("event", made, due_ms=due, event=name, spelling="serde")

    def _status(self, choice: ToldChoice) -> str:
        if not self.traits.has(Trait.RESPONSES_USAGE):
            return "completed"
        return _STATUSES.get(choice.finish_reason or "", "completed")

    def _error(self, choice: ToldChoice) -> dict[str, Any] | None:
        if choice.finish_reason not in ("abort", "error") or not self.traits.has(Trait.RESPONSES_FAILED):
            return None
        message = choice.failure.message if choice.failure is not None else "Generation aborted"
        return {"code": "server_error", "message": message}

    def _usage(self, told: Told) -> dict[str, Any]:
        counted = told.usage
        if not self.traits.has(Trait.RESPONSES_USAGE):
            zeros: dict[str, Any] = {"prompt_tokens": 0, "total_tokens": 0, "completion_tokens": 0}
            return {**zeros, "prompt_tokens_details": None, "reasoning_tokens": 0}
        prompt, completion = counted.prompt_tokens or 0, counted.completion_tokens or 0
        return {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": completion,
            "output_tokens_details": {"reasoning_tokens": counted.reasoning_tokens or 0},
            "total_tokens": prompt + completion,
        }

    def _items(self, choice: ToldChoice, logprobs: list[Any] | None) -> list[dict[str, Any]]:
        parts = choice.parts if choice.parts is not None else (Part("content", choice.text),)
        calls = [part for part in parts if part.kind == "tool"]
        reasoning = "".join(part.text for part in parts if part.kind == "reasoning")
        content = "".join(part.text for part in parts if part.kind == "content")
        items: list[dict[str, Any]] = []
        if reasoning:
            items.append(reasoning_item(f"rs_{self.hexes(32)}", reasoning, summarised=self.summarises))
        if content:
            phase = self.phase(calls=bool(calls))
            items.append(message_item(f"msg_{self.hexes(32)}", content, "completed", phase, logprobs))
        for part in calls:
            items.append(
                function_item(f"fc_{self.hexes(8)}", f"call_{self.hexes(24)}", part.name, part.text, "completed")
            )
        return items

    def phase(self, *, calls: bool) -> str | None:
        """What a message is for, where the version says so."""
        if not self.traits.has(Trait.RESPONSES_STORE):
            return None
        return "commentary" if calls else "final_answer"

    @property
    def summarises(self) -> bool:
        return members(self.route.values["reasoning"]).get("summary") is not None

    def _events(self, told: Told) -> Iterator[Message]:
        opening = self.object("in_progress")
        yield self.lifecycle("created", 0, opening, 0.0)
        yield self.lifecycle("in_progress", 1, opening, 0.0)
        choice = told.choices[0]
        due = choice.steps[-1].due_ms if choice.steps else 0.0
        if not self.traits.has(Trait.RESPONSES_DELTAS):
            yield self.lifecycle("completed", 2, self.response(told), due)
            return
        stream = OpenItems(self.hexes, self.summarises, self.traits.has(Trait.RESPONSES_STORE))
        for step in choice.steps:
            parts = step.parts if step.parts is not None else ((Part("content", step.text),) if step.text else ())
            for part in parts:
                yield from stream.take(part, step.due_ms)
        yield from stream.close(due)
        status = self._status(choice)
        body = self.object(status, stream.done, self._usage(told), self._error(choice))
        kind = status if self.traits.has(Trait.RESPONSES_FAILED) else "completed"
        yield self.lifecycle(kind, stream.number, body, due)


def failed_stream(route: ResponsesRoute, station: SglangStation, created: int) -> Rendering:
    """A stream whose request the engine refused."""
    renderer = ResponsesRenderer(route, station.traits, created, lambda digits: "")
    opening = renderer.object("in_progress")
    error = {"code": "server_error", "message": route.refused} if station.traits.has(Trait.RESPONSES_STORE) else None
    fails = station.traits.has(Trait.RESPONSES_FAIL)
    failed = renderer.object("failed", error=error)
    messages = (
        renderer.lifecycle("created", 0, opening, 0.0),
        renderer.lifecycle("in_progress", 1, opening, 0.0),
        *((renderer.lifecycle("failed", 2, failed, 0.0),) if fails else ()),
    )
    return replace(answers.events(messages, done=False, headers=answers.UNCACHED_HEADERS), cut=not fails)


def _logprobs(scores: Sequence[Score | None]) -> list[Any]:
    """Entries over all tokens; bytes are those of the displayed text, as this route has them."""
    return [
        None if score is None else {**_entry(score), "top_logprobs": [_entry(each) for each in score.top or ()]}
        for score in scores
    ]


def _entry(score: Score) -> dict[str, Any]:
    return {"token": score.token, "bytes": list(score.token.encode()), "logprob": score.logprob}


def _only_text(output: Sequence[Mapping[str, Any]]) -> bool:
    return bool(output) and all(item.get("type") == "message" for item in output)


def _tool(tool: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    members = ["type", "name", "description", "parameters", "strict"]
    if traits.has(Trait.RESPONSES_ENVELOPE):
        members += ["tools", "defer_loading", "format"]
    made = {name: tool.get(name) for name in members}
    made["strict"] = bool(tool.get("strict"))
    return made


def _sdk_response(body: Mapping[str, Any]) -> dict[str, Any]:
    """The response as the openai SDK's own type writes it, inside events up to 0.5.20."""
    text = None if body["text"] is None else {**body["text"], "verbosity": None}
    return {
        "id": body["id"],
        "created_at": float(body["created_at"]),
        "error": None,
        "incomplete_details": body["incomplete_details"],
        "instructions": body["instructions"],
        "metadata": body["metadata"],
        "model": body["model"],
        "object": "response",
        "output": body["output"],
        "parallel_tool_calls": body["parallel_tool_calls"],
        "temperature": body["temperature"],
        "tool_choice": body["tool_choice"],
        "tools": body["tools"],
        "top_p": body["top_p"],
        "background": None,
        "conversation": None,
        "max_output_tokens": body["max_output_tokens"],
        "max_tool_calls": None,
        "previous_response_id": body["previous_response_id"],
        "prompt": None,
        "prompt_cache_key": None,
        "prompt_cache_retention": None,
        "reasoning": {"effort": body["reasoning"]["effort"], "generate_summary": None, "summary": None},
        "safety_identifier": None,
        "service_tier": None,
        "status": body["status"],
        "text": text,
        "top_logprobs": None,
        "truncation": body["truncation"],
        "usage": _sdk_usage(body["usage"]),
        "user": body["user"],
        "store": body["store"],
    }


def _sdk_usage(usage: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Usage in the SDK's shape; the old chat-shaped zeros become zeros of it."""
    if usage is None or "input_tokens" in usage:
        return usage
    return {
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 0,
    }
