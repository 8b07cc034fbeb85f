"""``/v1/chat/completions`` as a stream, for every version (facts: research, vllm.md 1.5 and 1.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...message import Message, Rendering
from ...told import ToldChoice, ToldStep
from .bodies import ENGINE_FAILURE, EVENT_HEADERS, cached_details, error_events, metrics_value
from .chat import Answer, entries, ids_of
from .chat_delta import finished_delta, parsed_delta
from .failures import break_of, stream_failure
from .frame import chunk_usage, keep_alives, says_nothing_yet


@dataclass(frozen=True, slots=True)
class ChatStream(Answer):
    """One stream."""

    def render(self) -> Rendering:
        messages = sorted(self._events(), key=lambda message: message.due_ms)
        last = messages[-1].due_ms if messages else 0.0
        failure = self._failure()
        if failure is not None:
            messages.extend(error_events(failure, last))
        else:
            if self.ask.wants.usage:
                messages.append(Message("usage", self._usage_chunk(), due_ms=last))
            messages.append(Message("done", "[DONE]", due_ms=last))
        return Rendering(
            200,
            (*EVENT_HEADERS, *self.facts.headers),
            keep_alives(messages, self.facts.keep_alive_ms),
            stream=True,
        )

    def _failure(self) -> Any:
        """The error that ends the stream, None if it ends well."""
        crash = next((broken[1] for broken in map(break_of, self.told.choices) if broken is not None), None)
        if crash is not None:
            return stream_failure(crash, self.facts.traits)
        failed = any(choice.failure is not None for choice in self.told.choices)
        return ENGINE_FAILURE if failed else None

    def _events(self) -> list[Message]:
        rounds: list[tuple[float, int, int, Message]] = []
        ends: list[tuple[float, int, int]] = []
        for choice in self.told.choices:
            broken = break_of(choice)
            for number, step in enumerate(choice.steps):
                if broken is not None and number >= broken[0]:
                    ends.append((step.due_ms, number, choice.index))
                    break
                message = None if says_nothing_yet(step) else self._step(choice, step)
                if message is not None:
                    rounds.append((step.due_ms, number, choice.index, message))
        if ends:
            first = min(ends)
            rounds = [row for row in rounds if row[:3] < first]
        rounds.sort(key=lambda row: row[:3])
        first_due = min((choice.steps[0].due_ms for choice in self.told.choices if choice.steps), default=0.0)
        opening = [self._role_chunk(choice, first_due) for choice in self.told.choices]
        if self.ask.wants.echo and self.ask.options.get("echo_text"):
            opening.extend(self._echo_chunk(choice, first_due) for choice in self.told.choices)
        return [*opening, *(row[3] for row in rounds)]

    def _chunk(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> dict[str, Any]:
        chunk: dict[str, Any] = {
            "id": self.facts.id,
            "object": "chat.completion.chunk",
            "created": self.facts.created,
            "model": self.facts.model,
            "choices": choices,
        }
        if usage is not None:
            chunk["usage"] = usage
        return chunk

    def _delta(self, **members: Any) -> dict[str, Any]:
        return finished_delta(members, self.facts.shape)

    def _role_chunk(self, choice: ToldChoice, due_ms: float) -> Message:
        row = {
            "index": choice.index,
            "delta": self._delta(role=self.role, content=""),
            "logprobs": None,
            "finish_reason": None,
        }
        chunk = self._chunk([row], self._running_usage(0))
        prompt = self.told.prompt_of(choice)
        chunk["prompt_token_ids"] = (
            list(prompt.token_ids) if self.ask.wants.prompt_token_ids and prompt.token_ids is not None else None
        )
        if self.facts.shape.prompt_text:
            chunk["prompt_text"] = prompt.text if self.ask.options.get("return_prompt_text") else None
        return Message("role", chunk, choice.index, (0, 0), due_ms, spelling="serde")

    def _echo_chunk(self, choice: ToldChoice, due_ms: float) -> Message:
        row = {
            "index": choice.index,
            "delta": self._delta(content=self.ask.options["echo_text"]),
            "logprobs": None,
            "finish_reason": None,
        }
        return Message(
            "delta", self._chunk([row], self._running_usage(0)), choice.index, (0, 0), due_ms, spelling="serde"
        )

    def _step(self, choice: ToldChoice, step: ToldStep) -> Message | None:
        delta = self._step_delta(choice, step)
        finished = step is choice.steps[-1] and choice.failure is None
        if delta is None:
            if not finished and not self._keeps_textless():
                return None
            delta = self._delta()
        row: dict[str, Any] = {
            "index": choice.index,
            "delta": delta,
            "logprobs": self._step_scores(choice, step),
            "finish_reason": None,
        }
        if finished:
            row["finish_reason"] = self._stream_finish(choice)
            row["stop_reason"] = choice.stop_reason
        row["token_ids"] = ids_of(choice, step.ids) if self.shows_ids else None
        chunk = self._chunk([row], self._running_usage(step.tokens[1], step.reasoning_tokens or 0))
        if finished and not self.ask.wants.usage and self.facts.fingerprint is not None:
            chunk["system_fingerprint"] = self.facts.fingerprint
        kind = "finish" if finished else "delta"
        return Message(kind, chunk, choice.index, step.tokens, step.due_ms, spelling="serde")

    def _step_scores(self, choice: ToldChoice, step: ToldStep) -> dict[str, Any] | None:
        if not self.shows_scores or choice.scores is None:
            return None
        return entries(choice.scores[step.scores[0] : step.scores[1]])

    def _stream_finish(self, choice: ToldChoice) -> str | None:
        """A call that was streamed ends in tool_calls; a named one does not (in 0.10.2 it does too)."""
        shape = self.facts.shape
        streamed = any(
            part.kind == "tool" and "null" not in part.marks for step in choice.steps for part in step.parts or ()
        )
        called = streamed and (self.parsing.choice != "named" or shape.named_is_call)
        if shape.begun_is_call and choice.extras.get("calls_begun"):
            called = True
        if called and (choice.finish_reason == "stop" or not shape.calls_end_by_stop):
            return "tool_calls"
        return choice.finish_reason

    def _keeps_textless(self) -> bool:
        keeps = self.facts.shape.textless_chunks
        if self.hidden or keeps == "dropped":
            return False
        return self.shows_ids or (keeps == "kept" and self.shows_scores)

    def _step_delta(self, choice: ToldChoice, step: ToldStep) -> dict[str, Any] | None:
        """The delta of a step, or None when the parsers made nothing of it."""
        if step.parts is None:
            return self._delta(content=step.text)

        def tool_id(call: int, own: bool) -> str:
            return self.facts.tool_id(choice.index, call, own)

        return parsed_delta(step.parts, self.facts.shape, tool_id, one_call=self.one_call)

    def _running_usage(self, completion_tokens: int, reasoning_tokens: int = 0) -> dict[str, Any] | None:
        if not self.ask.wants.continuous_usage:
            return None
        usage = chunk_usage(self.told, completion_tokens, self.facts)
        if self.told.usage.reasoning_tokens is not None and self.facts.shape.completion_details:
            usage["completion_tokens_details"] = {"reasoning_tokens": reasoning_tokens}
        return usage

    def _usage_chunk(self) -> dict[str, Any]:
        usage = chunk_usage(self.told, self.told.usage.completion_tokens, self.facts)
        if self.told.usage.reasoning_tokens is not None and self.facts.shape.completion_details:
            usage["completion_tokens_details"] = {"reasoning_tokens": self.told.usage.reasoning_tokens}
        else:
            usage.pop("completion_tokens_details", None)
        if self.facts.prompt_details:
            members = (
                ("cached_tokens", "created_cache_tokens") if self.facts.shape.completion_details else ("cached_tokens",)
            )
            usage["prompt_tokens_details"] = cached_details(self.told, *members)
            if "completion_tokens_details" in usage:
                usage["completion_tokens_details"] = usage.pop("completion_tokens_details")
        chunk = self._chunk([], usage)
        if self.facts.fingerprint is not None:
            chunk["system_fingerprint"] = self.facts.fingerprint
        if self.facts.metrics and self.ask.n == 1:
            chunk["metrics"] = metrics_value(self.facts.engine, nulls=False)
        return chunk
