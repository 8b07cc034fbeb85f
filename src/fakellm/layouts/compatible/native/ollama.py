"""Ollama's native ``/api/chat`` and ``/api/generate``: JSON lines, scores at the top of each, no ids but ``context``.

Where reasoning and content come in one step, all of its scores stand with the reasoning. Source: ollama at fb307609.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ask import Ask, Request, Wants
from ....message import Message, Rendering
from ....told import Score, Told
from ...base import Accessor, AccessorTable, Context
from ...common.fields import as_object, as_objects
from ...common.parsing import raw_members
from ..deltas import Delta, deltas_of
from ..errors import Refusal
from ..frame import json_answer
from ..hear import read
from ..station import CompatibleStation, Native
from .reading import conversation, count, limit, prompt_of, sampling

CHAT, GENERATE = "ollama", "ollama-generate"
LINE_HEADERS = (("content-type", "application/x-ndjson"),)


def _ask(request: Request, body: Any, api: str, prompt: Any, station: CompatibleStation) -> Ask:
    top = count(body.get("top_logprobs"))
    if top > 20:
        raise Refusal("top_logprobs must be between 0 and 20")
    options = as_object(body.get("options"))
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise Refusal("model is required")
    if station.model not in (None, body["model"]):
        raise Refusal(f"model '{body['model']}' not found", status=404)
    return Ask(
        api=api,
        request=request,
        body=body,
        prompts=(prompt,),
        model=body["model"],
        stream=body.get("stream") is not False,
        messages=as_objects(body.get("messages")),
        sampling=sampling(options, limit(options.get("num_predict")), options.get("stop")),
        wants=Wants(logprobs=body.get("logprobs") is True, top_logprobs=top, usage=True),
        tools=as_objects(body.get("tools")),
    )


def _hear_chat(request: Request, station: CompatibleStation, context: Context) -> Ask:
    body = read(request.body)
    prompt = conversation(body.get("messages"), station.tokenizer, body.get("tools"))
    return _ask(request, body, CHAT, prompt, station)


def _hear_generate(request: Request, station: CompatibleStation, context: Context) -> Ask:
    body = read(request.body)
    prompt = prompt_of(body.get("prompt"), station.tokenizer, "prompt")
    return _ask(request, body, GENERATE, prompt, station)


def _render(told: Told, ask: Ask, station: CompatibleStation, context: Context) -> Rendering:
    choice = told.choices[0]
    if choice.failure is not None:
        return station.refused(Refusal("an error was encountered while running the model", status=500))
    deltas = list(deltas_of(choice, station.traits, stream=ask.stream))
    stamp = {"model": ask.model, "created_at": _time(context.now())}
    if not ask.stream:
        return json_answer({**stamp, **_said(deltas, ask), **_end(told, ask)})
    lines = [
        Message("delta", {**stamp, **_said([delta], ask), "done": False}, 0, delta.span, delta.due_ms)
        for delta in deltas[:-1]
    ]
    last = {**stamp, **_said(deltas[-1:], ask), **_end(told, ask)}
    end = Message("finish", last, 0, deltas[-1].span, deltas[-1].due_ms)
    return Rendering(200, LINE_HEADERS, (*lines, end), stream=True)


def _said(deltas: Sequence[Delta], ask: Ask) -> dict[str, Any]:
    text = "".join(delta.content for delta in deltas)
    thought = "".join(delta.reasoning for delta in deltas)
    scores = [score for delta in deltas for score in delta.scores]
    told: dict[str, Any] = {}
    if ask.api == GENERATE:
        told["response"] = text
    else:
        message: dict[str, Any] = {"role": "assistant", "content": text}
        calls = [part for delta in deltas for part in delta.calls]
        if thought:
            message["thinking"] = thought
        if calls:
            message["tool_calls"] = [
                {"function": {"name": part.name, "arguments": _arguments(part.text)}} for part in calls
            ]
        told["message"] = message
    if scores:
        top = ask.wants.top_logprobs > 0
        told["logprobs"] = [None if score is None else _entry(score, top=top) for score in scores]
    return told


def _arguments(text: str) -> Any:
    from json import loads

    try:
        raw_members(text)
        return loads(text)
    except (ValueError, IndexError):
        return {}


def _entry(score: Score, *, top: bool) -> dict[str, Any]:
    value = _short(score)
    if top:
        value["top_logprobs"] = [_short(one) for one in score.top or ()]
    return value


def _short(score: Score) -> dict[str, Any]:
    value: dict[str, Any] = {"token": score.token, "logprob": score.logprob}
    return value | ({"bytes": list(score.bytes)} if score.bytes else {})


def _end(told: Told, ask: Ask) -> dict[str, Any]:
    choice = told.choices[0]
    ending: dict[str, Any] = {"done": True, "done_reason": "length" if choice.finish_reason == "length" else "stop"}
    if ask.api == GENERATE:
        ending["context"] = [*(told.prompts[0].token_ids or ()), *(choice.ids or ())]
    return {
        **ending,
        "total_duration": 1_000_000,
        "load_duration": 100_000,
        "prompt_eval_count": told.usage.prompt_tokens,
        "prompt_eval_duration": 100_000,
        "eval_count": told.usage.completion_tokens,
        "eval_duration": 800_000,
    }


def _time(now: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(now, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _tags(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    name = station.model or "tiny"
    model = {"name": name, "model": name, "modified_at": _time(context.now()), "size": 0, "digest": "0" * 64}
    return json_answer({"models": [model]})


def _version(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    return json_answer({"version": "0.13.0"})


NATIVES = (
    Native(CHAT, ("/api/chat",), _hear_chat, _render),
    Native(GENERATE, ("/api/generate",), _hear_generate, _render),
    Native("ollama-tags", ("/api/tags",), _tags, methods=("GET",)),
    Native("ollama-version", ("/api/version",), _version, methods=("GET",)),
)
_SCORED = {"logprobs": True}
_TOP = {"logprobs": True, "top_logprobs": 1}


def _places(text: str, *, stream: bool) -> tuple[Accessor, ...]:
    chunks = ("delta", "finish") if stream else ("body",)
    return (
        Accessor("logprobs", "logprobs[].logprob", _SCORED, chunks, False),
        Accessor("top_logprobs", "logprobs[].top_logprobs", _TOP, chunks, False),
        Accessor("text", text, {}, chunks, False),
        Accessor("finish_reason", "done_reason", {}, ("finish",) if stream else chunks),
    )


ACCESSORS: AccessorTable = {
    (api, stream): _places(text, stream=stream)
    for api, text in ((CHAT, "message.content"), (GENERATE, "response"))
    for stream in (False, True)
}
