"""``/v1/chat/completions``, whole and streamed. Reads only what is told; the chunks come ready from ``chunks``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...message import Message, Rendering
from ...told import Part, Told, ToldChoice
from . import answers, nvext
from .chunks import Chunk, chunks_of
from .frame import Frame, dashed, usage_value
from .spelling import entries, narrowed, prompt_rows


def render(told: Told, frame: Frame) -> Rendering:
    """The answer to a chat request."""
    return _stream(told, frame) if frame.ask.stream else _whole(told, frame)


def _whole(told: Told, frame: Frame) -> Rendering:
    if any(choice.failure is not None for choice in told.choices):
        return answers.engine_failed()
    listed = [(choice, list(chunks_of(choice, told, frame.extension, frame.facts))) for choice in told.choices]
    body: dict[str, Any] = {
        "id": f"chatcmpl-{frame.uuid}",
        "choices": [_choice(choice, chunks, frame) for choice, chunks in listed],
        "created": frame.created,
        "model": frame.ask.model,
        "object": "chat.completion",
        "usage": usage_value(told, told.usage.completion_tokens, told.usage.reasoning_tokens or 0),
    }
    scores = told.prompts[0].scores
    if scores is not None:
        body["prompt_logprobs"] = prompt_rows(scores, narrowed)
    extension = nvext.merged([chunk.nvext for _, chunks in listed for chunk in chunks])
    return answers.json_answer(body | ({"nvext": extension} if extension else {}))


def _choice(choice: ToldChoice, chunks: Sequence[Chunk], frame: Frame) -> dict[str, Any]:
    content = "".join(chunk.content or "" for chunk in chunks)
    calls = [part for chunk in chunks for part in chunk.calls]
    reasoning = "".join(chunk.reasoning for chunk in chunks)
    message: dict[str, Any] = {"content": content or None, "refusal": None}
    if calls:
        message["tool_calls"] = [call_value(part, frame) for part in calls]
    message["role"] = "assistant"
    if reasoning:
        message[frame.settings.reasoning_field] = reasoning
    scores = [entry for chunk in chunks for entry in entries(chunk.scores or ())]
    return {
        "index": choice.index,
        "message": message,
        "finish_reason": chunks[-1].finish_reason if chunks else None,
        "logprobs": {"content": scores, "refusal": None} if scores else None,
    }


def call_value(part: Part, frame: Frame) -> dict[str, Any]:
    """One whole tool call."""
    return {
        "id": f"call-{dashed(frame.fresh())}",
        "type": "function",
        "function": {"name": part.name, "arguments": part.text},
    }


def _stream(told: Told, frame: Frame) -> Rendering:
    messages = [*annotated(told, frame)]
    failed = False
    for choice in told.choices:
        first = True
        for chunk in chunks_of(choice, told, frame.extension, frame.facts):
            if first or chunk.says_something:
                messages.append(_event(told, chunk, frame, first=first))
                first = False
        failed = failed or choice.failure is not None
    due = max((message.due_ms for message in messages), default=0.0)
    if failed:
        messages.append(answers.engine_failure(due))
    elif frame.ask.wants.usage:
        usage = usage_value(told, told.usage.completion_tokens, told.usage.reasoning_tokens or 0)
        messages.append(Message("usage", _envelope([], frame) | {"usage": usage}, due_ms=due))
    return answers.events(messages)


def _event(told: Told, chunk: Chunk, frame: Frame, *, first: bool) -> Message:
    delta: dict[str, Any] = {}
    if chunk.content is not None:
        delta["content"] = chunk.content
    if chunk.calls:
        delta["tool_calls"] = [{"index": part.tool_index, **call_value(part, frame)} for part in chunk.calls]
    if first:
        delta["role"] = "assistant"
    if chunk.reasoning:
        delta[frame.settings.reasoning_field] = chunk.reasoning
    scores = entries(chunk.scores or ())
    choice = {
        "index": chunk.choice,
        "delta": delta,
        "finish_reason": chunk.finish_reason,
        "logprobs": {"content": scores, "refusal": None} if scores else None,
    }
    body = _envelope([choice], frame)
    if frame.ask.wants.continuous_usage:
        body["usage"] = usage_value(told, *chunk.so_far)
    if chunk.nvext:
        body["nvext"] = chunk.nvext
    kind = "delta" if chunk.finish_reason is None else "finish"
    return Message(kind, body, chunk.choice, chunk.span, chunk.due_ms, spelling="serde")


def _envelope(choices: list[dict[str, Any]], frame: Frame) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{frame.uuid}",
        "choices": choices,
        "created": frame.created,
        "model": frame.ask.model,
        "object": "chat.completion.chunk",
    }


def annotated(told: Told, frame: Frame) -> list[Message]:
    """The events that ``nvext.annotations`` asks for: their values stand in comments, which most parsers drop."""
    prompt = told.prompts[0]
    ids = prompt.token_ids or ()
    values = {
        "request_id": frame.uuid,
        "formatted_prompt": prompt.text if frame.ask.api == "chat" else None,
        "token_ids": f"[{','.join(str(one) for one in ids)}]",
    }
    asked = frame.extension.annotations
    return [_annotation(name, value) for name, value in values.items() if name in asked and value is not None]


def _annotation(name: str, value: str) -> Message:
    data = answers.quoted(value)
    return Message("comment", b"event: " + name.encode() + b"\n: " + data + b"\n\n")
