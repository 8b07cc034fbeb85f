"""Together's chat and completions: the prompt beside the choices, one number and one id a chunk, usage on the last.

A chunk says its text twice, in the choice and in the delta, names the role each time and tells the id of its token.
Sources: together 3.1.1, and chunks that others published (an SDK's tests, recordings of the service in 2025). Scores of
whole answers are legacy lists; the SDK's type has one dict of alternatives where we tell one a token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ....ask import Ask, Request
from ....message import Message, Rendering
from ....told import Score, Told, ToldChoice
from ...base import Accessor, AccessorTable, Context
from ..deltas import Delta, deltas_of
from ..errors import Refusal
from ..frame import EVENT_HEADERS, json_answer
from ..hear import hear_chat, hear_completions
from ..spelling import legacy
from ..station import CompatibleStation, Native

SEED = 4219063861475329000
"""What an answer without a seed was sampled with, as far as it says."""
_FAILED = "The server had an error while processing your request. Sorry about that!"


def _hear_chat(request: Request, station: CompatibleStation, context: Context) -> Ask:
    return hear_chat(request, station.traits, station.tokenizer, station.model)


def _hear_completions(request: Request, station: CompatibleStation, context: Context) -> Ask:
    return hear_completions(request, station.traits, station.tokenizer, station.model)


def _render(told: Told, ask: Ask, station: CompatibleStation, context: Context) -> Rendering:
    stamp = {"id": _id(context), "created": int(context.now())}
    if ask.stream:
        return _stream(told, ask, station, stamp, context)
    if any(choice.failure is not None for choice in told.choices):
        return station.refused(Refusal(_FAILED, status=500, kind="server_error"))
    kind = "chat.completion" if ask.api == "chat" else "text.completion"
    return json_answer(
        {
            "id": stamp["id"],
            "object": kind,
            "created": stamp["created"],
            "model": ask.model,
            "prompt": [{"text": prompt.text or "", "logprobs": None} for prompt in told.prompts if ask.wants.echo],
            "choices": [_choice(choice, ask, station, context) for choice in told.choices],
            "usage": _usage(told),
        }
    )


def _choice(choice: ToldChoice, ask: Ask, station: CompatibleStation, context: Context) -> dict[str, Any]:
    deltas = list(deltas_of(choice, station.traits, stream=False))
    text = "".join(delta.content for delta in deltas)
    row: dict[str, Any] = {
        "finish_reason": deltas[-1].end,
        "seed": _seed(ask),
        "logprobs": _lists(choice.scores or (), ask, station),
        "index": choice.index,
    }
    if ask.api != "chat":
        return {**row, "text": text}
    calls = _calls(deltas, context)
    message: dict[str, Any] = {"role": "assistant", "content": text if text or not calls else None, "tool_calls": calls}
    thought = "".join(delta.reasoning for delta in deltas)
    return {**row, "message": {**message, "reasoning": thought} if thought else message}


def _lists(scores: Sequence[Score | None], ask: Ask, station: CompatibleStation) -> Any:
    if not scores or not ask.wants.logprobs:
        return None
    return legacy(scores, station.traits, 0, top=ask.wants.top_logprobs > 0)


def _stream(told: Told, ask: Ask, station: CompatibleStation, stamp: Mapping[str, Any], context: Context) -> Rendering:
    messages: list[Message] = []
    for choice in told.choices:
        for delta in deltas_of(choice, station.traits, stream=True):
            messages += [_chunk(part, ask, stamp, context) for part in _parted(delta)]
    messages.sort(key=lambda message: message.due_ms)
    due = max((message.due_ms for message in messages), default=0.0)
    if any(choice.failure is not None for choice in told.choices):
        failure = station.traits.error(500, _FAILED, "server_error", None, None)
        messages.append(Message("error", failure, due_ms=due))
    else:
        messages[-1].body["usage"] = _usage(told)
    return Rendering(200, EVENT_HEADERS, (*messages, Message("done", "[DONE]", due_ms=due)), stream=True)


def _parted(delta: Delta) -> list[Delta]:
    """One chunk a token: the text comes with the last of those that were made together."""
    if len(delta.ids) < 2:
        return [delta]
    start, scores = delta.span[0], delta.scores or (None,) * len(delta.ids)
    alone = [
        Delta(delta.choice, ids=(one,), scores=(score,), span=(start + at, start + at + 1), due_ms=delta.due_ms)
        for at, (one, score) in enumerate(zip(delta.ids, scores, strict=False))
    ]
    last = replace(delta, ids=delta.ids[-1:], scores=scores[-1:], span=(alone[-1].span[0], delta.span[1]))
    return [*alone[:-1], last]


def _chunk(delta: Delta, ask: Ask, stamp: Mapping[str, Any], context: Context) -> Message:
    score = delta.scores[-1] if delta.scores and ask.wants.logprobs else None
    inside: dict[str, Any] = {
        "token_id": delta.ids[0] if delta.ids else None,
        "role": "assistant",
        "content": delta.content,
    }
    if ask.api == "chat":
        inside["tool_calls"] = _calls([delta], context) or None
        if delta.reasoning:
            inside["reasoning"] = delta.reasoning
    row = {
        "index": delta.choice,
        "text": delta.content,
        "logprobs": None if score is None else score.logprob,
        "finish_reason": delta.end,
        "seed": None if delta.end is None else _seed(ask),
        "delta": inside,
    }
    kind = "chat.completion.chunk" if ask.api == "chat" else "completion.chunk"
    body = {
        "id": stamp["id"],
        "object": kind,
        "created": stamp["created"],
        "choices": [row],
        "model": ask.model,
        "usage": None,
    }
    return Message("delta" if delta.end is None else "finish", body, delta.choice, delta.span, delta.due_ms)


def _calls(deltas: Sequence[Delta], context: Context) -> list[dict[str, Any]]:
    return [
        {
            "index": part.tool_index,
            "id": f"call_{context.hex(24)}",
            "type": "function",
            "function": {"name": part.name, "arguments": part.text},
        }
        for delta in deltas
        for part in delta.calls
    ]


def _seed(ask: Ask) -> int:
    given = ask.body.get("seed")
    return given if isinstance(given, int) else SEED


def _usage(told: Told) -> dict[str, Any]:
    prompt, made = told.usage.prompt_tokens or 0, told.usage.completion_tokens or 0
    cached = told.usage.cached_tokens or 0
    counts = {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made}
    return {**counts, "cached_tokens": cached}


def _id(context: Context) -> str:
    digits = context.hex(29)
    return f"o{digits[:6]}-{digits[6:12]}-{digits[12:28]}"


_SCORED: Mapping[str, Any] = {"logprobs": 1}


def _places(*, stream: bool, text: str) -> tuple[Accessor, ...]:
    if stream:
        chunks = ("delta", "finish")
        return (
            Accessor("logprobs", "choices[].logprobs", _SCORED, chunks),
            Accessor("completion_token_ids", "choices[].delta.token_id", _SCORED, chunks),
            Accessor("text", text, {}, chunks, False),
            Accessor("finish_reason", "choices[].finish_reason", {}, ("finish",)),
            Accessor("usage", "usage", {}, ("finish",)),
        )
    body = ("body",)
    return (
        Accessor("logprobs", "choices[].logprobs.token_logprobs", _SCORED, body),
        Accessor("top_logprobs", "choices[].logprobs.top_logprobs", _SCORED, body),
        Accessor("completion_token_ids", "choices[].logprobs.token_ids", _SCORED, body),
        Accessor("text", text, {}, body, False),
        Accessor("finish_reason", "choices[].finish_reason", {}, body),
        Accessor("usage", "usage", {}, body),
    )


ACCESSORS: AccessorTable = {
    ("chat", False): _places(stream=False, text="choices[].message.content"),
    ("chat", True): _places(stream=True, text="choices[].delta.content"),
    ("completions", False): _places(stream=False, text="choices[].text"),
    ("completions", True): _places(stream=True, text="choices[].text"),
}
NATIVES = (
    Native("chat", ("/v1/chat/completions",), _hear_chat, _render),
    Native("completions", ("/v1/completions",), _hear_completions, _render),
)
