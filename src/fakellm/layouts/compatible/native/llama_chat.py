"""llama.cpp's chat and completions: the choices first, one entry per whole character, timings at the end.

``logprobs`` alone asks for 20 alternatives. The end token is in whole answers, as an empty token without bytes; streams
lose the scores of a token without a delta. Source and captures: tools/server, run on a CPU (build of October 2026).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ....ask import Ask, Request
from ....message import Message, Rendering
from ....told import Part, Score, Told, ToldChoice
from ...base import Accessor, AccessorTable, Context
from ..deltas import Delta, deltas_of
from ..errors import Refusal
from ..hear import hear_chat, hear_completions, read
from ..station import CompatibleStation, Native
from .llama_cpp import EVENT_HEADERS, NOWHERE, answer, complete, entry, timings

BUILD = "b1-0c1e570"
DEFAULT_ALTERNATIVES = 20


def _hear_chat(request: Request, station: CompatibleStation, context: Context) -> Ask | Rendering:
    try:
        body = read(request.body)
        if "messages" not in body:
            raise Refusal("'messages' is required")
        if body.get("top_logprobs") is not None and body.get("logprobs") is not True:
            raise Refusal("top_logprobs requires logprobs to be set to true")
        ask = hear_chat(request, station.traits, station.tokenizer, None)
    except Refusal as refusal:
        return answer(_error(refusal), refusal.status)
    if ask.wants.logprobs and body.get("top_logprobs") is None:
        ask = replace(ask, wants=replace(ask.wants, top_logprobs=DEFAULT_ALTERNATIVES))
    return replace(ask, model=station.model or ask.model or "tiny")


def _hear_completions(request: Request, station: CompatibleStation, context: Context) -> Ask | Rendering:
    try:
        if "prompt" not in read(request.body):
            raise Refusal("[json.exception.out_of_range.403] key 'prompt' not found")
        ask = hear_completions(request, station.traits, station.tokenizer, None)
    except Refusal as refusal:
        return answer(_error(refusal), refusal.status)
    return replace(ask, model=station.model or ask.model or "tiny")


def _error(refusal: Refusal) -> dict[str, Any]:
    return {"error": {"code": refusal.status, "message": refusal.message, "type": refusal.kind}}


def _render(told: Told, ask: Ask, station: CompatibleStation, context: Context) -> Rendering:
    stamp = {"created": int(context.now()), "model": ask.model, "system_fingerprint": BUILD}
    name = f"chatcmpl-{context.hex(32)}"
    if ask.stream:
        return _stream(told, ask, station, stamp, name, context)
    if any(choice.failure is not None for choice in told.choices):
        return answer(_error(Refusal("Compute error.", status=500, kind="server_error")), 500)
    rows = [_choice(choice, ask, station, context) for choice in told.choices]
    kind = "chat.completion" if ask.api == "chat" else "text_completion"
    last = {"usage": _usage(told), "id": name, "timings": timings(told)}
    return answer({"choices": rows, **stamp, "object": kind, **last})


def _choice(choice: ToldChoice, ask: Ask, station: CompatibleStation, context: Context) -> dict[str, Any]:
    deltas = list(deltas_of(choice, station.traits, stream=False))
    text = "".join(delta.content for delta in deltas)
    scores = _scores(choice.scores or (), ask, station)
    if ask.api != "chat":
        return {"text": text, "index": choice.index, "logprobs": scores, "finish_reason": deltas[-1].end}
    calls = [part for delta in deltas for part in delta.calls]
    thought = "".join(delta.reasoning for delta in deltas)
    message: dict[str, Any] = {"role": "assistant", "content": text if text or not calls else None}
    if thought:
        message["reasoning_content"] = thought
    if calls:
        message["tool_calls"] = [_call(part, context) for part in calls]
    row = {"finish_reason": deltas[-1].end, "index": choice.index, "message": message}
    return {**row, "logprobs": scores} if scores is not None else row


def _call(part: Part, context: Context) -> dict[str, Any]:
    return {"type": "function", "function": {"name": part.name, "arguments": part.text}, "id": context.hex(32)}


def _scores(scores: Sequence[Score | None], ask: Ask, station: CompatibleStation) -> dict[str, Any] | None:
    told = [score for score in scores if score is not None and complete(score)]
    if not told or not ask.wants.logprobs:
        return None
    return {"content": [entry(score, station.tokenizer.special_ids) for score in told]}


def _stream(
    told: Told, ask: Ask, station: CompatibleStation, stamp: Mapping[str, Any], name: str, context: Context
) -> Rendering:
    messages: list[Message] = []
    for choice in told.choices:
        deltas = list(deltas_of(choice, station.traits, stream=True))
        if ask.api == "chat" and deltas:
            row = {"finish_reason": None, "index": choice.index, "delta": {"role": "assistant", "content": None}}
            body = _chat_body([row], stamp, name)
            messages.append(Message("role", body, choice.index, (0, 0), deltas[0].due_ms))
        messages += [_chunk(told, delta, ask, station, stamp, name, context) for delta in deltas]
    messages.sort(key=lambda message: message.due_ms)
    due = max((message.due_ms for message in messages), default=0.0)
    if any(choice.failure is not None for choice in told.choices):
        failure = _error(Refusal("Compute error.", status=500, kind="server_error"))
        messages.append(Message("error", failure, due_ms=due))
    elif ask.api == "chat" and ask.wants.usage:
        last = {"usage": _usage(told), "timings": timings(told)}
        messages.append(Message("usage", {**_chat_body([], stamp, name), **last}, due_ms=due))
    elif ask.api == "chat":
        messages[-1].body["timings"] = timings(told)
    return Rendering(200, EVENT_HEADERS, (*messages, Message("done", "[DONE]", due_ms=due)), stream=True)


def _chunk(
    told: Told,
    delta: Delta,
    ask: Ask,
    station: CompatibleStation,
    stamp: Mapping[str, Any],
    name: str,
    context: Context,
) -> Message:
    scores = _scores(delta.scores, ask, station) if delta.end is None else None
    if ask.api == "chat":
        row: dict[str, Any] = {"finish_reason": delta.end, "index": delta.choice, "delta": _said(delta, context)}
        body = _chat_body([{**row, "logprobs": scores} if scores is not None else row], stamp, name)
    else:
        row = {"text": delta.content, "index": delta.choice, "logprobs": scores, "finish_reason": delta.end}
        body = {"choices": [row], **stamp, "object": "text_completion", "id": name}
        if delta.end is not None:
            last = {"usage": _usage(told), "id": name, "timings": timings(told)}
            body = {"choices": [row], **stamp, "object": "text_completion", **last}
    return Message("delta" if delta.end is None else "finish", body, delta.choice, delta.span, delta.due_ms)


def _said(delta: Delta, context: Context) -> dict[str, Any]:
    inside: dict[str, Any] = {}
    if delta.reasoning:
        inside["reasoning_content"] = delta.reasoning
    if delta.content:
        inside["content"] = delta.content
    if delta.calls:
        inside["tool_calls"] = [{"index": part.tool_index, **_call(part, context)} for part in delta.calls]
    return inside


def _chat_body(rows: list[dict[str, Any]], stamp: Mapping[str, Any], name: str) -> dict[str, Any]:
    created = {"created": stamp["created"], "id": name, "model": stamp["model"]}
    return {
        "choices": rows,
        **created,
        "system_fingerprint": stamp["system_fingerprint"],
        "object": "chat.completion.chunk",
    }


def _usage(told: Told) -> dict[str, Any]:
    prompt, made = told.usage.prompt_tokens or 0, told.usage.completion_tokens or 0
    details = {"cached_tokens": told.usage.cached_tokens or 0}
    counts = {"completion_tokens": made, "prompt_tokens": prompt, "total_tokens": prompt + made}
    return {**counts, "prompt_tokens_details": details}


_LOSS = "a token that leaves a character unfinished has no entry; in streams an end token that comes alone has none"


def _places(text: str, *, stream: bool, asked: Any) -> tuple[Accessor, ...]:
    body = ("delta",) if stream else ("body",)
    entries, scored = "choices[].logprobs.content[]", {"logprobs": asked}
    top = {**scored, "top_logprobs": 1} if asked is True else scored
    usage = {"stream_options": {"include_usage": True}} if stream and asked is True else {}
    counted = ("body",) if not stream else ("usage",) if asked is True else ("finish",)
    return (
        Accessor("logprobs", f"{entries}.logprob", scored, body, True, _LOSS),
        Accessor("top_logprobs", f"{entries}.top_logprobs", top, body, True, _LOSS),
        Accessor("completion_token_ids", f"{entries}.id", scored, body, True, _LOSS),
        Accessor("text", text, {}, body, False),
        Accessor("finish_reason", "choices[].finish_reason", {}, ("finish",) if stream else body),
        Accessor("usage", "usage", usage, counted, loss=_LOSS if stream else None),
    )


ACCESSORS: AccessorTable = {
    (api, stream): _places(text, stream=stream, asked=asked)
    for api, stream, text, asked in (
        ("chat", False, "choices[].message.content", True),
        ("chat", True, "choices[].delta.content", True),
        ("completions", False, "choices[].text", 1),
        ("completions", True, "choices[].text", 1),
    )
}
NATIVES = (
    Native("chat", ("/v1/chat/completions", "/chat/completions"), _hear_chat, _render),
    Native("completions", ("/v1/completions",), _hear_completions, _render),
    NOWHERE,
)
