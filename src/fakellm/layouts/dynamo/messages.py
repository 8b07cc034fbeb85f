"""``/v1/messages``, Anthropic's wire on Dynamo: thinking, text and tool blocks, no ids and no scores at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...ask import Ask, Request, Wants
from ...message import Message, Rendering
from ...tokenizer import Tokenizer
from ...told import Part, Told
from ..common.fields import as_object, as_objects, as_tuple
from . import answers, fields, serde
from .answers import Refusal
from .chunks import Chunk, chunks_of
from .frame import Frame
from .hear import prompt_of_chat, sampling
from .nvext import Extension
from .options import Settings
from .traits import Traits

_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


def error(message: str, kind: str, status: int) -> Rendering:
    """Anthropic's error."""
    return answers.json_answer({"type": "error", "error": {"type": kind, "message": message}}, status)


def hear_messages(request: Request, settings: Settings, traits: Traits, tokenizer: Tokenizer) -> Ask | Rendering:
    """An Ask, or the refusal in Anthropic's words."""
    try:
        body = serde.read(request.body, fields.MESSAGES)
        if settings.model is not None and body["model"] != settings.model:
            return error(f"Model '{body['model']}' not found", "not_found_error", 404)
        prompt = prompt_of_chat(_conversation(body), Extension(), settings, tokenizer)
    except (serde.Misfit, Refusal) as refused:
        return error(str(refused), "invalid_request_error", 400)
    return Ask(
        api="messages",
        request=request,
        body=body,
        prompts=(prompt,),
        model=body["model"],
        stream=bool(body.get("stream")),
        messages=as_objects(body["messages"]),
        sampling=sampling({**body, "stop": body.get("stop_sequences")}, body["max_tokens"]),
        wants=Wants(usage=True),
        tools=as_objects(body.get("tools")),
    )


def _conversation(body: Mapping[str, Any]) -> dict[str, Any]:
    messages: list[Mapping[str, Any]] = []
    system = _text(body.get("system"), "\n")
    if system:
        messages.append({"role": "system", "content": system})
    for row in as_objects(body["messages"]):
        messages += _messages(row)
    tools = [
        {
            "type": "function",
            "function": {
                "name": tool.get("name"),
                "parameters": tool.get("input_schema"),
                "description": tool.get("description"),
            },
        }
        for tool in as_objects(body.get("tools"))
    ]
    return {"messages": messages, "tools": tools}


def _messages(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """One message with its blocks: results of tools become messages of their own."""
    blocks = as_objects(row.get("content"))
    results = [
        {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": _text(block.get("content"))}
        for block in blocks
        if block.get("type") == "tool_result"
    ]
    calls = [
        {
            "id": block.get("id"),
            "type": "function",
            "function": {"name": block.get("name"), "arguments": json.dumps(block.get("input") or {})},
        }
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    text = _text(row.get("content"))
    if results and not text:
        return [*results]
    message: dict[str, Any] = {"role": row.get("role"), "content": text}
    return [*results, message | ({"tool_calls": calls} if calls else {})]


def _text(content: Any, separator: str = "") -> str:
    if isinstance(content, str):
        return content
    texts = [block.get("text") for block in as_objects(as_tuple(content)) if block.get("type") == "text"]
    return separator.join(text for text in texts if isinstance(text, str))


def estimated(body: Mapping[str, Any]) -> int:
    """What the frontend takes the prompt's length for before the engine has counted: a third of its characters."""
    words = [_text(body.get("system"), "\n")]
    for row in as_objects(body["messages"]):
        words += [str(row.get("role")), _text(row.get("content"))]
    for tool in as_objects(body.get("tools")):
        words += [str(tool.get("name")), str(tool.get("description") or ""), json_text(tool.get("input_schema"))]
    return max(1, sum(map(len, words)) // 3)


def json_text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def render(told: Told, frame: Frame) -> Rendering:
    """The answer to a messages request."""
    choice = told.choices[0]
    chunks = list(chunks_of(choice, told, Extension(), frame.facts))
    if frame.ask.stream:
        return answers.events(_Stream(told, frame).play(chunks))
    if choice.failure is not None:
        return error("Internal server error", "api_error", 500)
    calls = [part for chunk in chunks for part in chunk.calls]
    reasoning = "".join(chunk.reasoning for chunk in chunks)
    text = "".join(chunk.content or "" for chunk in chunks)
    content: list[dict[str, Any]] = []
    if reasoning:
        content.append({"type": "thinking", "thinking": reasoning, "signature": ""})
    content += [
        {"type": "tool_use", "id": f"toolu_{frame.fresh()}", "name": part.name, "input": _input(part)} for part in calls
    ]
    if text or not content:
        content.append({"type": "text", "text": text})
    stopped = choice.stop_reason if isinstance(choice.stop_reason, str) else None
    reason = _STOPS.get(chunks[-1].finish_reason or "", "end_turn") if chunks else "end_turn"
    body = {
        "id": f"msg_{frame.fresh()}",
        "type": "message",
        "role": "assistant",
        "content": content,
        "model": frame.ask.model,
        "stop_reason": "stop_sequence" if stopped else reason,
        "stop_sequence": stopped,
        "usage": _usage(told.usage.prompt_tokens, told.usage.completion_tokens),
    }
    return answers.json_answer(body)


def _input(part: Part) -> Any:
    try:
        return as_object(json.loads(part.text))
    except ValueError:
        return {}


def _usage(prompt: int | None, completion: int | None, *, total: bool = False) -> dict[str, Any]:
    usage: dict[str, Any] = {
        "input_tokens": prompt,
        "output_tokens": completion,
        "cache_creation_input_tokens": 0,
    }
    return usage | ({"total_tokens": (prompt or 0) + (completion or 0)} if total else {})


class _Stream:
    """Writes one stream: blocks begin and end as the kind of text changes."""

    def __init__(self, told: Told, frame: Frame) -> None:
        self._told = told
        self._frame = frame
        self._events: list[Message] = []
        self._kind: str | None = None
        self._index = -1
        self._due = 0.0
        self._count = 0

    def play(self, chunks: list[Chunk]) -> list[Message]:
        """Every event of the answer."""
        start: dict[str, Any] = {
            "id": f"msg_{self._frame.fresh()}",
            "type": "message",
            "role": "assistant",
            "content": [],
            "model": self._frame.ask.model,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(estimated(self._frame.ask.body), 0),
        }
        self._due = chunks[0].due_ms if chunks else 0.0
        self._say("message_start", {"message": start}, kind="role")
        for chunk in chunks:
            self._due, self._count = chunk.due_ms, chunk.so_far[0]
            self._chunk(chunk)
        if self._told.choices[0].failure is not None:
            failure = {"type": "api_error", "message": "Internal server error"}
            self._say("error", {"error": failure}, kind="error")
            return self._events
        self._close()
        self._end(chunks[-1].finish_reason if chunks else "stop")
        return self._events

    def _chunk(self, chunk: Chunk) -> None:
        if chunk.reasoning:
            self._open("thinking", {"type": "thinking", "thinking": "", "signature": ""})
            self._delta({"type": "thinking_delta", "thinking": chunk.reasoning})
        if chunk.content:
            self._open("text", {"type": "text", "text": ""})
            self._delta({"type": "text_delta", "text": chunk.content})
        for part in chunk.calls:
            self._close()
            toolu = f"toolu_{self._frame.fresh()}"
            self._open("tool", {"type": "tool_use", "id": toolu, "name": part.name, "input": {}})
            self._delta({"type": "input_json_delta", "partial_json": part.text})
            self._close()

    def _open(self, kind: str, block: Mapping[str, Any]) -> None:
        if self._kind == kind:
            return
        self._close()
        self._kind = kind
        self._index += 1
        self._say("content_block_start", {"index": self._index, "content_block": block})

    def _close(self) -> None:
        if self._kind == "thinking":
            self._delta({"type": "signature_delta", "signature": "erased"})
        if self._kind is not None:
            self._say("content_block_stop", {"index": self._index})
        self._kind = None

    def _delta(self, delta: Mapping[str, Any]) -> None:
        usage = _usage(self._told.usage.prompt_tokens, self._count, total=True)
        self._say("content_block_delta", {"index": self._index, "delta": delta, "usage": usage}, kind="delta")

    def _end(self, reason: str | None) -> None:
        stopped = isinstance(self._told.choices[0].stop_reason, str)
        delta = {"stop_reason": "stop_sequence" if stopped else _STOPS.get(reason or "stop", "end_turn")}
        usage = _usage(self._told.usage.prompt_tokens, self._told.usage.completion_tokens)
        self._say("message_delta", {"delta": delta, "usage": usage}, kind="finish")
        self._say("message_stop", {})

    def _say(self, name: str, members: Mapping[str, Any], *, kind: str = "event") -> None:
        body = {"type": name, **members}
        self._events.append(Message(kind, body, 0, None, self._due, event=name, spelling="serde"))
