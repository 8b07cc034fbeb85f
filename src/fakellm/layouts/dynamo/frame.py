"""What every Dynamo answer is built around: its id, time, model, and what nvext tells besides tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...ask import Ask
from ...told import Told
from ..base import Context, Launch
from .nvext import Extension, Facts
from .options import Settings
from .traits import Traits


@dataclass(frozen=True, slots=True)
class Frame:
    """Facts of one answer. ``uuid``: its bare id (prefixes differ by route); ``fresh``: another one, when asked."""

    uuid: str
    created: int
    ask: Ask
    extension: Extension
    facts: Facts
    settings: Settings
    traits: Traits
    fresh: Callable[[], str]


def dashed(digits: str) -> str:
    """32 hex digits as a uuid is written."""
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def frame_of(told: Told, ask: Ask, launch: Launch, settings: Settings, traits: Traits, context: Context) -> Frame:
    """The frame of an answer; the client may choose its id by ``x-dynamo-request-id``."""
    extension: Any = ask.options.get("extension") or Extension()
    chosen = ask.request.headers.get("x-dynamo-request-id")
    return Frame(
        uuid=chosen or dashed(context.hex(32)),
        created=int(context.now()),
        ask=ask,
        extension=extension,
        facts=Facts(
            worker=int(context.hex(16), 16) if extension.names_worker else 0,
            timing=_timing(told, context.now()) if extension.asks("timing") else {},
            engine_data=launch.engine.get("engine_data"),
            routed_experts=told.choices[0].extras.get("routed_experts") if told.choices else None,
        ),
        settings=settings,
        traits=traits,
        fresh=lambda: context.hex(32),
    )


def _timing(told: Told, now: float) -> Mapping[str, Any]:
    """Latencies in milliseconds, of which only the schedule's share is real."""
    due = [step.due_ms for choice in told.choices for step in choice.steps] or [0.0]
    return {
        "request_received_ms": int(now * 1000),
        "prefill_wait_time_ms": 0.25,
        "prefill_time_ms": 1.25 + min(due),
        "ttft_ms": 1.5 + min(due),
        "total_time_ms": 2.5 + max(due),
    }


def usage_value(told: Told, completion: int | None, reasoning: int | None) -> dict[str, Any]:
    """Usage of completions; with ``reasoning`` of chat."""
    prompt = told.usage.prompt_tokens
    value: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": None if prompt is None and completion is None else (prompt or 0) + (completion or 0),
    }
    if reasoning is not None:
        value["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return value
