"""MLX-LM's server: its own checks, bodies as ``json.dumps`` writes them, comments that keep a stream alive.

Whole answers have one entry per token, the end token included: id and score, or with alternatives the first of these
(which need not be the sampled token). Streams have no scores; every delta names the role, a last one without text says
how it ended. ``n`` is not known: there is one choice. Source and captures: mlx_lm/server.py of 0.32.2, run on a CPU.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from ....ask import Ask, Prompt, Request, Wants
from ....message import Message, Rendering
from ....told import Part, Score, Told
from ...base import Accessor, AccessorTable, Context
from ...common.fields import as_object, as_objects
from ..deltas import Delta, deltas_of
from ..errors import Refusal
from ..station import CompatibleStation, Native
from .reading import conversation, count, prompt_of, sampling

VERSION = "0.32.2-0.32.4-Linux-6.8.0-x86_64-with-glibc2.36-x86_64"
"""MLX-LM, MLX, the platform and the processor: its system_fingerprint."""
DEFAULT_MODEL, DEFAULT_LIMIT = "default_model", 512
_CORS = tuple((f"access-control-allow-{name}", "*") for name in ("origin", "methods", "headers"))
JSON_HEADERS = (("content-type", "application/json"), *_CORS)
EVENT_HEADERS = (("content-type", "text/event-stream"), ("cache-control", "no-cache"), *_CORS)
_INSTEAD = "with alternatives, an entry is the first of them, which need not be the sampled token"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a member must be. ``kinds``: Python types, bool among int as there."""

    name: str
    kinds: tuple[type, ...]
    least: float | None = None
    most: float | None = None
    optional: bool = False


_NUMBER = (float, int)
RULES = (
    Rule("stream", (bool,)),
    Rule("max_tokens", (int,), 1),
    Rule("temperature", _NUMBER, 0),
    Rule("top_p", _NUMBER, 0, 1),
    Rule("top_k", (int,), 0),
    Rule("min_p", _NUMBER, 0, 1),
    Rule("num_draft_tokens", (int,), 0),
    Rule("repetition_penalty", _NUMBER, 0),
    Rule("repetition_context_size", (int,), 0),
    Rule("presence_penalty", _NUMBER),
    Rule("presence_context_size", (int,), 0),
    Rule("frequency_penalty", _NUMBER),
    Rule("frequency_context_size", (int,), 0),
    Rule("logprobs", (bool,)),
    Rule("top_logprobs", (int,), 0, 11),
    Rule("xtc_probability", (float,), 0, 1),
    Rule("xtc_threshold", (float,), 0, 1),
    Rule("model", (str,)),
    Rule("adapters", (str,), optional=True),
    Rule("seed", (int,), optional=True),
    Rule("logit_bias", (dict,), optional=True),
)
"""In the order in which they are looked at; the first that is broken is told."""
_CALLED = {"model": "requested_model", "adapters": "adapter"}


def _checked(data: bytes) -> Mapping[str, Any]:
    """The body's members; raises Refusal with this server's words."""
    try:
        body: Any = json.loads(data)
    except (ValueError, RecursionError) as wrong:
        raise Refusal(f"Invalid JSON in request body: {wrong}") from None
    if not isinstance(body, dict):
        raise Refusal("Request should be a JSON dictionary")
    members = cast("dict[str, Any]", body)
    limit = members.get("max_completion_tokens")
    known = {**members, "max_tokens": limit} if limit is not None else members
    for rule in RULES:
        if rule.name in known:
            _check(rule, known[rule.name])
    return known


def _check(rule: Rule, value: Any) -> None:
    name = _CALLED.get(rule.name, rule.name)
    if value is None and rule.optional:
        return
    if not isinstance(value, rule.kinds):
        kinds = [kind.__name__ for kind in rule.kinds]
        raise Refusal(f"{name} must be of type {tuple(kinds) if kinds[1:] else kinds[0]}")
    if rule.name == "top_logprobs" and value == -1:
        return
    number = cast("float", value)
    if rule.least is not None and number < rule.least:
        raise Refusal(f"{name} must be at least {rule.least}")
    if rule.most is not None and number > rule.most:
        raise Refusal(f"{name} must be at most {rule.most}")


def _ask(request: Request, api: str, body: Mapping[str, Any], prompt: Prompt, station: CompatibleStation) -> Ask:
    model = body.get("model", DEFAULT_MODEL)
    if station.model not in (None, model) and model != DEFAULT_MODEL:
        raise Refusal(f"Repository Not Found for model {model}", status=404)
    options, top = as_object(body.get("stream_options")), max(count(body.get("top_logprobs")), 0)
    stop = [body["stop"]] if isinstance(body.get("stop"), str) else body.get("stop")
    return Ask(
        api=api,
        request=request,
        body=body,
        prompts=(prompt,),
        model=model,
        stream=body.get("stream") is True,
        messages=as_objects(body.get("messages")),
        sampling=sampling({}, body.get("max_tokens", DEFAULT_LIMIT), stop),
        wants=Wants(
            completion_token_ids=True,
            logprobs=body.get("logprobs") is True or top > 0,
            top_logprobs=top,
            usage=options.get("include_usage") is True,
        ),
        tools=as_objects(body.get("tools")),
    )


def _hear_chat(request: Request, station: CompatibleStation, context: Context) -> Ask | Rendering:
    try:
        body = _checked(request.body)
        if "messages" not in body:
            raise Refusal("Request did not contain messages")
        prompt = conversation(body["messages"], station.tokenizer, body.get("tools"))
        return _ask(request, "chat", body, prompt, station)
    except Refusal as refusal:
        return _refused(refusal)


def _hear_completions(request: Request, station: CompatibleStation, context: Context) -> Ask | Rendering:
    try:
        body = _checked(request.body)
        if "prompt" not in body:
            raise Refusal("Request did not contain a prompt")
        return _ask(request, "completions", body, prompt_of(body["prompt"], station.tokenizer, "prompt"), station)
    except Refusal as refusal:
        return _refused(refusal)


def _refused(refusal: Refusal) -> Rendering:
    return _answer({"error": refusal.message}, refusal.status)


def _answer(body: Any, status: int = 200) -> Rendering:
    return Rendering(status, JSON_HEADERS, (Message("body", body, spelling="python"),))


def _models(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    row = {"id": station.model or "tiny", "object": "model", "created": int(context.now())}
    return _answer({"object": "list", "data": [row]})


def _health(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    return _answer({"status": "ok"})


def _nowhere(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    return _answer("Not Found", 404)


def _render(told: Told, ask: Ask, station: CompatibleStation, context: Context) -> Rendering:
    choice = told.choices[0]
    chat = ask.api == "chat"
    stamp = {
        "id": ("chatcmpl-" if chat else "cmpl-") + _uuid(context.hex(32)),
        "system_fingerprint": VERSION,
        "object": ("chat.completion.chunk" if ask.stream else "chat.completion") if chat else "text_completion",
        "model": ask.model,
        "created": int(context.now()),
    }
    if choice.failure is not None:  # the handler's thread ends, and with it the connection: what was said stays said
        deltas = _trimmed(list(deltas_of(choice, station.traits, stream=True))) if ask.stream else []
        sent = [_chunk(stamp, delta, ask, context) for delta in deltas]
        return Rendering(200, EVENT_HEADERS if ask.stream else JSON_HEADERS, tuple(sent), ask.stream, cut=True)
    deltas = _trimmed(list(deltas_of(choice, station.traits, stream=ask.stream)))
    if ask.stream:
        return _stream(told, deltas, stamp, ask, context)
    row: dict[str, Any] = {"index": 0, "finish_reason": deltas[-1].end}
    if choice.scores:
        top = ask.wants.top_logprobs > 0
        row["logprobs"] = {"content": [_entry(score, top=top) for score in choice.scores if score is not None]}
    said = _said(deltas, ask, context, whole=True)
    return _answer({**stamp, "choices": [{**row, **said}], "usage": _usage(told)})


def _trimmed(deltas: list[Delta]) -> list[Delta]:
    """A blank at the very beginning of what was generated is not shown: the detokenizer takes it for the prompt's."""
    for place, delta in enumerate(deltas):
        shown = "reasoning" if delta.reasoning else "content"
        text: str = getattr(delta, shown)
        if text:
            return [*deltas[:place], replace(delta, **{shown: text.removeprefix(" ")}), *deltas[place + 1 :]]
        if delta.calls:
            break
    return deltas


def _stream(told: Told, deltas: Sequence[Delta], stamp: Mapping[str, Any], ask: Ask, context: Context) -> Rendering:
    length = told.usage.prompt_tokens or 0
    alive = dict.fromkeys((0, max(length - 1, 0), length))
    messages = [Message("comment", f"keepalive {read}/{length}", due_ms=deltas[0].due_ms) for read in alive]
    messages += [_chunk(stamp, delta, ask, context) for delta in deltas]
    due = deltas[-1].due_ms
    if ask.wants.usage:
        usage: dict[str, Any] = {**stamp, "object": "chat.completion", "choices": [], "usage": _usage(told)}
        messages.append(Message("usage", usage, due_ms=due, spelling="python"))
    messages.append(Message("done", "[DONE]", due_ms=due))
    return Rendering(200, EVENT_HEADERS, tuple(messages), stream=True)


def _chunk(stamp: Mapping[str, Any], delta: Delta, ask: Ask, context: Context) -> Message:
    row = {"index": 0, "finish_reason": delta.end, **_said([delta], ask, context, whole=False)}
    kind = "delta" if delta.end is None else "finish"
    return Message(kind, {**stamp, "choices": [row]}, 0, delta.span, delta.due_ms, spelling="python")


def _said(deltas: Sequence[Delta], ask: Ask, context: Context, *, whole: bool) -> dict[str, Any]:
    text = "".join(delta.content for delta in deltas)
    if ask.api == "completions":
        return {"text": text}
    message: dict[str, Any] = {"role": "assistant"}
    if whole or text:
        message["content"] = text or None
    thought = "".join(delta.reasoning for delta in deltas)
    calls = [part for delta in deltas for part in delta.calls]
    if thought:
        message["reasoning"] = thought
    if calls:
        message["tool_calls"] = [_call(part, context, whole=whole) for part in calls]
    return {"message" if whole else "delta": message}


def _call(part: Part, context: Context, *, whole: bool) -> dict[str, Any]:
    function = {"name": part.name, "arguments": part.text}
    call = {"function": function, "type": "function", "id": _uuid(context.hex(32))}
    return call if whole else {**call, "index": part.tool_index}


def _entry(score: Score, *, top: bool) -> dict[str, Any]:
    if not top:
        return {"id": score.id, "logprob": score.logprob}
    listed = [_alternative(one) for one in score.top or ()]
    return {**(listed[0] if listed else {}), "top_logprobs": listed}


def _alternative(score: Score) -> dict[str, Any]:
    return {"id": score.id, "token": score.token, "logprob": score.logprob}


def _usage(told: Told) -> dict[str, Any]:
    prompt, made = told.usage.prompt_tokens or 0, told.usage.completion_tokens or 0
    details = {"cached_tokens": told.usage.cached_tokens or 0}
    return {
        "prompt_tokens": prompt,
        "completion_tokens": made,
        "total_tokens": prompt + made,
        "prompt_tokens_details": details,
    }


def _uuid(digits: str) -> str:
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _places(*, stream: bool, text: str) -> tuple[Accessor, ...]:
    scored: Mapping[str, Any] = {"logprobs": True}
    entry = "choices[].logprobs.content[]"
    values = (
        Accessor("logprobs", f"{entry}.logprob", scored, ("body",), loss=_INSTEAD),
        Accessor("top_logprobs", f"{entry}.top_logprobs", {**scored, "top_logprobs": 1}, ("body",), loss=_INSTEAD),
        Accessor("completion_token_ids", f"{entry}.id", scored, ("body",), loss=_INSTEAD),
    )
    usage = {"stream_options": {"include_usage": True}} if stream else {}
    return (
        *(() if stream else values),
        Accessor("text", text, {}, ("delta", "finish") if stream else ("body",), eos=False),
        Accessor("finish_reason", "choices[].finish_reason", {}, ("finish",) if stream else ("body",)),
        Accessor("usage", "usage", usage, ("usage",) if stream else ("body",)),
    )


ACCESSORS: AccessorTable = {
    ("chat", False): _places(stream=False, text="choices[].message.content"),
    ("chat", True): _places(stream=True, text="choices[].delta.content"),
    ("completions", False): _places(stream=False, text="choices[].text"),
    ("completions", True): _places(stream=True, text="choices[].text"),
}
NATIVES = (
    Native("chat", ("/v1/chat/completions", "/chat/completions"), _hear_chat, _render),
    Native("completions", ("/v1/completions",), _hear_completions, _render),
    Native("models", ("/v1/models", "/v1/models/{name}"), _models, methods=("GET",)),
    Native("health", ("/health",), _health, methods=("GET",)),
    Native("nowhere", ("/{name}", "/v1/{name}", "/v1/chat/{name}"), _nowhere, methods=("GET", "POST")),
)
