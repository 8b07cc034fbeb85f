"""``/v1/chat/completions``: the whole answer and the stream, for every version (facts: research, vllm.md section 1).

Reads only Told, the Ask and the launch facts; a fault that dropped ids or bent scores simply shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...ask import Ask
from ...message import Message, Rendering
from ...told import Part, Score, Told, ToldChoice, ToldStep
from .bodies import (
    ENGINE_FAILURE,
    EVENT_HEADERS,
    cached_details,
    error_events,
    json_answer,
    metrics_value,
    usage_value,
)
from .frame import AnswerFacts, chunk_usage, keep_alives


def entry(score: Score | None) -> dict[str, Any] | None:
    """One element of ``logprobs.content``."""
    if score is None:
        return None
    return {
        "token": score.token,
        "logprob": score.logprob,
        "bytes": None if score.bytes is None else list(score.bytes),
        "top_logprobs": None
        if score.top is None
        else [
            {"token": top.token, "logprob": top.logprob, "bytes": None if top.bytes is None else list(top.bytes)}
            for top in score.top
        ],
    }


def entries(scores: Sequence[Score | None]) -> dict[str, Any]:
    return {"content": [entry(score) for score in scores]}


def ids_of(choice: ToldChoice, span: tuple[int, int] | None = None) -> list[Any] | None:
    """The ids of a span (None = all), or None when there are none to tell."""
    if choice.ids is None:
        return None
    return list(choice.ids if span is None else choice.ids[span[0] : span[1]])


@dataclass(frozen=True, slots=True)
class _Chat:
    """One answer being written: everything that its chunks share."""

    told: Told
    ask: Ask
    facts: AnswerFacts

    @property
    def shows_ids(self) -> bool:
        return self.ask.wants.completion_token_ids and not self.hidden

    @property
    def shows_scores(self) -> bool:
        return self.ask.wants.logprobs and not self.hidden

    @property
    def hidden(self) -> bool:
        """include_reasoning:false with a reasoning parser: no ids and scores at all (from 0.28)."""
        return self.facts.shape.include_reasoning_nulls and bool(self.ask.options.get("reasoning_hidden"))

    def role(self) -> str:
        return str(self.ask.options.get("role", "assistant"))

    # ------------------------------------------------------------------ whole

    def whole(self) -> Rendering:
        shape = self.facts.shape
        if any(choice.failure is not None for choice in self.told.choices):
            return json_answer(ENGINE_FAILURE, status=500)
        details = None
        if self.facts.prompt_details:
            details = cached_details(self.told, "cached_tokens", "created_cache_tokens", "multimodal_tokens")
        usage = usage_value(self.told, details=details, completion_details=shape.completion_details)
        prompt = self.told.prompts[0]
        body: dict[str, Any] = {
            "id": self.facts.id,
            "object": "chat.completion",
            "created": self.facts.created,
            "model": self.facts.model,
            "choices": [self._choice(choice) for choice in self.told.choices],
            "service_tier": None,
            "system_fingerprint": self.facts.fingerprint,
            "usage": usage,
            "prompt_logprobs": prompt_rows(prompt.scores),
            "prompt_token_ids": list(prompt.token_ids)
            if self.ask.wants.prompt_token_ids and prompt.token_ids is not None
            else None,
        }
        if shape.prompt_text:
            body["prompt_text"] = prompt.text if self.ask.options.get("return_prompt_text") else None
        body["kv_transfer_params"] = self.told.extras.get("kv_transfer_params")
        if shape.completion_details:
            body["ec_transfer_params"] = self.told.extras.get("ec_transfer_params")
        if shape.metrics_object:
            body["metrics"] = (
                metrics_value(self.facts.engine, nulls=True) if self.facts.metrics and self.ask.n == 1 else None
            )
        return json_answer(body, headers=self.facts.headers)

    def _choice(self, choice: ToldChoice) -> dict[str, Any]:
        shape = self.facts.shape
        row: dict[str, Any] = {
            "index": choice.index,
            "message": self._message(choice),
            "logprobs": entries(choice.scores) if self.shows_scores and choice.scores is not None else None,
            "finish_reason": self._finish_reason(choice),
            "stop_reason": choice.stop_reason,
            "token_ids": ids_of(choice) if self.shows_ids else None,
        }
        if shape.routed_experts:
            row["routed_experts"] = choice.extras.get("routed_experts")
        return row

    def _finish_reason(self, choice: ToldChoice) -> str | None:
        override = self.ask.options.get("tool_finish")
        if choice.finish_reason == "stop" and override is not None:
            return str(override)
        if choice.finish_reason == "stop" and any(part.kind == "tool" for part in choice.parts or ()):
            return "tool_calls"
        return choice.finish_reason

    def _message(self, choice: ToldChoice) -> dict[str, Any]:
        shape = self.facts.shape
        echo = str(self.ask.options.get("echo_text", "")) if self.ask.wants.echo else ""
        reasoning, content, calls = None, choice.text, []
        if choice.parts is not None:
            reasoning, content, calls = joined(choice.parts)
        if self.ask.wants.echo:
            content = echo + (content or "")
        message: dict[str, Any] = {
            "role": self.role(),
            "content": content,
            "refusal": None,
            "annotations": None,
            "audio": None,
            "function_call": None,
        }
        if calls or shape.tool_calls_always:
            message["tool_calls"] = [
                {
                    "id": self.facts.tool_id(choice.index, place),
                    "type": "function",
                    "function": {"name": name, "arguments": arguments},
                }
                for place, (name, arguments) in enumerate(calls)
            ]
        hidden = bool(self.ask.options.get("reasoning_hidden"))
        for key in shape.reasoning_keys:
            message[key] = None if hidden else reasoning
        return message

    # ----------------------------------------------------------------- stream

    def stream(self) -> Rendering:
        messages = sorted(self._events(), key=lambda message: message.due_ms)
        last = messages[-1].due_ms if messages else 0.0
        failed = any(choice.failure is not None for choice in self.told.choices)
        if failed:
            messages.extend(error_events(ENGINE_FAILURE, last))
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

    def _events(self) -> list[Message]:
        rounds: list[tuple[float, int, int, Message]] = []
        for choice in self.told.choices:
            for number, step in enumerate(choice.steps):
                message = self._step(choice, step, number)
                if message is not None:
                    rounds.append((step.due_ms, number, choice.index, message))
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
        if self.facts.shape.delta_reasoning_null and "reasoning_content" not in members:
            members["reasoning_content"] = members.get("reasoning")
        return members

    def _role_chunk(self, choice: ToldChoice, due_ms: float) -> Message:
        row = {
            "index": choice.index,
            "delta": self._delta(role=self.role(), content=""),
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

    def _step(self, choice: ToldChoice, step: ToldStep, number: int) -> Message | None:
        delta = self._step_delta(choice, step, number)
        finished = step is choice.steps[-1] and choice.failure is None
        if delta is None:
            if not finished and not self._keeps_textless():
                return None
            delta = {} if self.facts.shape.parser_finish_empty or not finished else self._delta(content="")
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
        chunk = self._chunk([row], self._running_usage(step.tokens[1]))
        if finished and not self.ask.wants.usage and self.facts.fingerprint is not None:
            chunk["system_fingerprint"] = self.facts.fingerprint
        if finished and self.facts.metrics and self.ask.n == 1 and not self.ask.wants.usage:
            chunk["metrics"] = metrics_value(self.facts.engine, nulls=False)
        kind = "finish" if finished else "delta"
        return Message(kind, chunk, choice.index, step.tokens, step.due_ms, spelling="serde")

    def _step_scores(self, choice: ToldChoice, step: ToldStep) -> dict[str, Any] | None:
        if not self.shows_scores or choice.scores is None:
            return None
        return entries(choice.scores[step.scores[0] : step.scores[1]])

    def _stream_finish(self, choice: ToldChoice) -> str | None:
        override = self.ask.options.get("tool_finish_stream")
        if choice.finish_reason == "stop" and override is not None:
            return str(override)
        tools = any(part.kind == "tool" for step in choice.steps for part in step.parts or ())
        return "tool_calls" if choice.finish_reason == "stop" and tools else choice.finish_reason

    def _keeps_textless(self) -> bool:
        keeps = self.facts.shape.textless_chunks
        if self.hidden or keeps == "dropped":
            return False
        return self.shows_ids or (keeps == "kept" and self.shows_scores)

    def _step_delta(self, choice: ToldChoice, step: ToldStep, number: int) -> dict[str, Any] | None:
        """The delta of a step, or None when the parsers made nothing of it."""
        if step.parts is None:
            return self._delta(content=step.text)
        return parsed_delta(self, choice, step.parts, number)

    def _running_usage(self, completion_tokens: int) -> dict[str, Any] | None:
        if not self.ask.wants.continuous_usage:
            return None
        return chunk_usage(self.told, completion_tokens, self.facts)

    def _usage_chunk(self) -> dict[str, Any]:
        usage = chunk_usage(self.told, self.told.usage.completion_tokens, self.facts)
        if self.told.usage.reasoning_tokens is not None and self.facts.shape.completion_details:
            usage["completion_tokens_details"] = {"reasoning_tokens": self.told.usage.reasoning_tokens}
        else:
            usage.pop("completion_tokens_details", None)
        if self.facts.prompt_details:
            members = ("cached_tokens", "created_cache_tokens") if self.facts.shape.completion_details else (
                "cached_tokens",
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


def joined(parts: Sequence[Part]) -> tuple[str | None, str | None, list[tuple[str, str]]]:
    """(reasoning, content, [(name, arguments)]) of a parser's whole view; None = that part never appeared."""
    reasoning: str | None = None
    content: str | None = None
    calls: dict[int, list[str]] = {}
    for part in parts:
        if part.kind == "reasoning":
            reasoning = (reasoning or "") + part.text
        elif part.kind == "content":
            content = (content or "") + part.text
        else:
            call = calls.setdefault(part.tool_index or 0, ["", ""])
            call[0] = part.name or call[0]
            call[1] += part.text
    return reasoning, content, [(call[0], call[1]) for _, call in sorted(calls.items())]


def parsed_delta(chat: _Chat, choice: ToldChoice, parts: Sequence[Part], number: int) -> dict[str, Any] | None:
    """A delta made of a parser's parts; None when there are none."""
    if not parts:
        return None
    delta: dict[str, Any] = {}
    for part in parts:
        if part.kind == "content":
            delta["content"] = delta.get("content", "") + part.text
        elif part.kind == "reasoning":
            for key in chat.facts.shape.reasoning_keys:
                delta[key] = delta.get(key, "") + part.text
        else:
            delta.setdefault("tool_calls", []).append(tool_piece(chat, choice, part))
    return chat._delta(**delta)  # noqa: SLF001


def tool_piece(chat: _Chat, choice: ToldChoice, part: Part) -> dict[str, Any]:
    """One element of ``delta.tool_calls``: id and type stand on the piece that names the function."""
    place = part.tool_index or 0
    if part.name is None:
        return {"index": place, "function": {"arguments": part.text}}
    function: dict[str, Any] = {"name": part.name}
    if part.text:
        function["arguments"] = part.text
    return {"id": chat.facts.tool_id(choice.index, place), "type": "function", "index": place, "function": function}


def prompt_rows(scores: Sequence[Score | None] | None) -> list[dict[str, Any] | None] | None:
    """``prompt_logprobs``: first null, then ``{id: {logprob, rank, decoded_token}}``, the prompt token first."""
    if scores is None:
        return None
    return [
        None
        if row is None
        else {
            str(top.id): {"logprob": top.logprob, "rank": top.rank, "decoded_token": top.token}
            for top in (row.top or ())
        }
        for row in scores
    ]


def render(told: Told, ask: Ask, facts: AnswerFacts) -> Rendering:
    """The answer to a chat request, whole or as a stream."""
    chat = _Chat(told, ask, facts)
    return chat.stream() if ask.stream else chat.whole()
