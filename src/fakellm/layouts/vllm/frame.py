"""What every vLLM answer is built around: its id, time, model, fingerprint, and the launch options that shape it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ...message import Message
from ...told import Told, ToldStep
from .shape import Shape
from .traits import Traits

EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """Facts of one answer that do not come from the engine. ``tool_id(choice, call, own)``: the id of a tool call, the
    same each time it is asked for (``own``: of a parser's own kind); ``keep_alive_ms`` 0 = no comments."""

    id: str
    created: int
    model: str
    shape: Shape
    traits: Traits
    fingerprint: str | None
    tool_id: Callable[[int, int, bool], str]
    prompt_details: bool = False
    metrics: bool = False
    keep_alive_ms: float = 0.0
    headers: tuple[tuple[str, str], ...] = ()
    engine: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


def chunk_usage(told: Told, completion_tokens: int | None, facts: AnswerFacts) -> dict[str, Any]:
    """Usage as continuous usage shows it on every chunk (exclude_unset: details only where the server set them)."""
    prompt = told.usage.prompt_tokens
    value: dict[str, Any] = {
        "prompt_tokens": prompt,
        "total_tokens": (prompt or 0) + (completion_tokens or 0),
        "completion_tokens": completion_tokens,
    }
    if facts.shape.completion_details:
        value["completion_tokens_details"] = None
    return value


def says_nothing_yet(step: ToldStep) -> bool:
    """A step without text before the first token: streams of chat and completions take it for a part of the prefill
    and send nothing, not even its finish_reason (an abort in the queue)."""
    return step.tokens == (0, 0) and not step.text


def keep_alives(messages: Sequence[Message], interval_ms: float) -> tuple[Message, ...]:
    """Comments while nothing is due for an interval (--sse-keep-alive-interval), before the first chunk too."""
    if interval_ms <= 0:
        return tuple(messages)
    out: list[Message] = []
    previous = 0.0
    for message in messages:
        due = previous + interval_ms
        while due < message.due_ms:
            out.append(Message("comment", "keep-alive", due_ms=due))
            due += interval_ms
        out.append(message)
        previous = message.due_ms
    return tuple(out)
