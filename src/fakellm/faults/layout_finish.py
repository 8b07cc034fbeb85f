"""Faults on how the answer says that it ended, and on the usage that comes with the end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..ask import Ask
from ..layouts.base import Layout
from ..message import Message, Rendering
from ..reading.paths import steps
from .base import AS_SENT, NULL, RECOVER, FaultContext, OnChoice, Parameters, on_rendering
from .bodies import DROP, Json, body, change_at, choices, finishes, has_body, map_bodies, with_numbers
from .where import every, has_choices, has_place, shows_usage, streams

FINISH = ("finish_reason",)
USAGE = ("usage",)


def _set_reason(rendering: Rendering, context: FaultContext[OnChoice], instead: Any) -> Rendering:
    for accessor in context.accessors("finish_reason"):
        rendering = change_at(rendering, accessor, steps(accessor.path), lambda _: instead, context.parameters.choice)
    return rendering


@on_rendering(
    "finish-reason-null",
    family="finish",
    may=NULL,
    values=FINISH,
    parameters=OnChoice,
    applies=has_place("finish_reason"),
)
def finish_reason_null(rendering: Rendering, context: FaultContext[OnChoice]) -> Rendering:
    """finish_reason stays null to the end.

    Why: https://github.com/sgl-project/sglang/issues/4550 ; an abort whose last chunk was dropped:
    https://github.com/vllm-project/vllm/pull/47933
    Right: null, or a refusal: nobody said why it ended.
    Breaks: litellm 1.110.2 makes "stop" up for hosted_vllm (measured); OpenPipe ART 0.5.18 does too (read).
    """
    return _set_reason(rendering, context, None)


@on_rendering(
    "finish-reason-empty",
    family="finish",
    may=NULL,
    values=FINISH,
    parameters=OnChoice,
    applies=has_place("finish_reason"),
)
def finish_reason_empty(rendering: Rendering, context: FaultContext[OnChoice]) -> Rendering:
    """finish_reason is an empty string, on every chunk.

    Why: https://github.com/ollama/ollama/issues/4357
    Right: null, or a refusal: an empty word is no reason, and no end either.
    Breaks: clients that take any string for the end stop after the first chunk.
    """
    return _set_reason(rendering, context, "")


@on_rendering(
    "finish-reason-missing",
    family="finish",
    may=NULL,
    values=FINISH,
    parameters=OnChoice,
    applies=every(has_choices, has_place("finish_reason")),
)
def finish_reason_missing(rendering: Rendering, context: FaultContext[OnChoice]) -> Rendering:
    """The key finish_reason is not there.

    Why: https://github.com/InternLM/xtuner/pull/1755 (an abort without one).
    Right: null, or a refusal.
    Breaks: clients that index the key.
    """
    return _set_reason(rendering, context, DROP)


@on_rendering(
    "finish-reason-early",
    family="finish",
    may=AS_SENT,
    values=FINISH,
    applies=every(streams, has_choices, has_place("finish_reason")),
)
def finish_reason_early(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """finish_reason stands on the first chunk with text already; text, ids and scores go on after it.

    Why: gateways that know the end before they have sent the rest.
    Right: read until the stream ends; what was sent is kept.
    Breaks: clients that stop reading at the first finish_reason lose nearly everything.
    """
    reasons = {
        row.get("index"): row["finish_reason"]
        for message in rendering.messages
        for row in choices(message)
        if row.get("finish_reason")
    }
    seen: set[Any] = set()

    def early(message: Message) -> Message:
        rows = choices(message)
        if message.kind != "delta" or not rows:
            return message
        fresh = [
            {**row, "finish_reason": reasons[row.get("index")]}
            if row.get("index") in reasons and row.get("index") not in seen
            else row
            for row in rows
        ]
        seen.update(row.get("index") for row in rows)
        return replace(message, body={**body(message), "choices": fresh})

    return replace(rendering, messages=tuple(early(message) for message in rendering.messages))


def _shows(ask: Ask, layout: Layout) -> str | None:
    return None if shows_usage(ask) else "the answer has no usage (send stream_options.include_usage)"


@on_rendering("usage-absent", family="usage", may=RECOVER, values=USAGE, applies=every(has_choices, _shows))
def usage_absent(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """There is no usage though it was asked for.

    Why: several servers send none in streams; gateways drop the chunk (Portkey for Fireworks, captured).
    Right: everything else is captured; usage is null, nobody needs it for a pass.
    Breaks: litellm 1.110.2 makes counts up (measured).
    """
    kept = tuple(message for message in rendering.messages if message.kind != "usage")

    def drop(members: Json) -> Json:
        return {key: value for key, value in members.items() if key != "usage"}

    return map_bodies(replace(rendering, messages=kept), drop)


def _usage_chunk(rendering: Rendering) -> tuple[int, Message] | None:
    """The chunk with the usage and its place; None when another fault has taken it away."""
    for number, message in enumerate(rendering.messages):
        if message.kind == "usage" and isinstance(body(message).get("usage"), dict):
            return number, message
    return None


def _asks_usage(ask: Ask, layout: Layout) -> str | None:
    return None if ask.wants.usage else "the request does not ask for stream_options.include_usage"


_STREAM_USAGE = every(streams, has_choices, _asks_usage)


@on_rendering("usage-early", family="usage", may=RECOVER, values=USAGE, applies=_STREAM_USAGE)
def usage_early(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """The usage chunk comes before the last text.

    Why: gateways that count tokens themselves send it when they please.
    Right: read until the stream ends.
    Breaks: clients that take the usage chunk for the end.
    """
    found = _usage_chunk(rendering)
    if found is None:
        return rendering
    number, chunk = found
    rest = [message for place, message in enumerate(rendering.messages) if place != number]
    place = next((place for place, message in enumerate(rest) if finishes(message)), len(rest))
    due = rest[place].due_ms if place < len(rest) else chunk.due_ms
    rest.insert(place, replace(chunk, due_ms=due))
    return replace(rendering, messages=tuple(rest))


@on_rendering("usage-on-every-chunk", family="usage", may=RECOVER, values=USAGE, applies=_STREAM_USAGE)
def usage_on_every_chunk(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """Every chunk carries a usage, growing to the final one.

    Why: vLLM's continuous_usage_stats, Together and others unasked.
    Right: the last one counts.
    Breaks: clients that add them up.
    """
    found = _usage_chunk(rendering)
    if found is None:
        return rendering
    final: Json = body(found[1])["usage"]
    total = final.get("completion_tokens")
    count = sum(1 for message in rendering.messages if has_body(message) and choices(message))
    told = 0

    def add(members: Json) -> Json:
        nonlocal told
        if not members.get("choices") or members.get("usage"):
            return members
        told += 1
        running = total if not isinstance(total, int) else total * told // max(count, 1)
        prompt = final.get("prompt_tokens")
        both = prompt + running if isinstance(prompt, int) and isinstance(running, int) else None
        return {**members, "usage": {**final, "completion_tokens": running, "total_tokens": both}}

    return map_bodies(rendering, add)


@on_rendering("usage-choices-null", family="usage", may=RECOVER, values=USAGE, applies=_STREAM_USAGE)
def usage_choices_null(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """The usage chunk has ``choices: null`` instead of an empty list.

    Why: gateways in Go write null for an empty slice.
    Right: null and [] are the same here.
    Breaks: clients that iterate over choices.
    """
    found = _usage_chunk(rendering)
    if found is None:
        return rendering
    number, chunk = found
    messages = list(rendering.messages)
    messages[number] = replace(chunk, body={**body(chunk), "choices": None})
    return with_numbers(replace(rendering, messages=tuple(messages)))
