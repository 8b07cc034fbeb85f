"""Small pieces of vLLM bodies that several APIs share: headers, errors, usage, fingerprint, metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...message import Message, Rendering
from ...told import Told

JSON_HEADERS = (("server", "uvicorn"), ("content-type", "application/json"), ("vary", "Origin"))
EVENT_HEADERS = (("server", "uvicorn"), ("content-type", "text/event-stream; charset=utf-8"), ("vary", "Origin"))
EMPTY_HEADERS = (("server", "uvicorn"), ("vary", "Origin"))

TIMINGS = ("time_to_first_token_ms", "generation_time_ms", "queue_time_ms", "mean_itl_ms", "tokens_per_second")


def json_answer(body: Any, *, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Rendering:
    """A whole JSON answer."""
    return Rendering(status, (*JSON_HEADERS, *headers), (Message("body", body),))


def empty_answer(status: int = 200) -> Rendering:
    """An answer without a body (``/health``)."""
    return Rendering(status, EMPTY_HEADERS, (Message("body", ""),))


def error_value(message: str, kind: str, param: str | None, code: int) -> dict[str, Any]:
    """The body of an error: ``{"error": {...}}``, the same in all versions."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def detail_answer(status: int, detail: str, headers: tuple[tuple[str, str], ...] = ()) -> Rendering:
    """404 and 405 of the web framework, which have a shape of their own."""
    return Rendering(
        status,
        (("server", "uvicorn"), *headers, ("content-type", "application/json"), ("vary", "Origin")),
        (Message("body", {"detail": detail}),),
    )


def error_events(value: Any, due_ms: float = 0.0, *, done: bool = True) -> tuple[Message, ...]:
    """An error inside a stream: ``json.dumps`` spelling with blanks, then ``[DONE]`` (chat, completions, generate)."""
    error = Message("error", value, due_ms=due_ms, spelling="python")
    return (error, Message("done", "[DONE]", due_ms=due_ms)) if done else (error,)


ENGINE_FAILURE = error_value("Internal server error", "InternalServerError", None, 500)


def usage_value(told: Told, *, details: dict[str, Any] | None, completion_details: bool) -> dict[str, Any]:
    """Whole-answer usage; ``details`` is prompt_tokens_details as the launch options have it."""
    usage = told.usage
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    value: dict[str, Any] = {
        "prompt_tokens": prompt,
        "total_tokens": _sum(prompt, completion),
        "completion_tokens": completion,
        "prompt_tokens_details": details,
    }
    if completion_details:
        reasoning = usage.reasoning_tokens
        value["completion_tokens_details"] = None if reasoning is None else {"reasoning_tokens": reasoning}
    return value


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None and second is None else (first or 0) + (second or 0)


def cached_details(told: Told, *members: str) -> dict[str, Any]:
    """prompt_tokens_details: ``cached_tokens`` counts, what vLLM leaves unset is null (``multimodal_tokens``)."""
    cached = told.usage.cached_tokens or 0
    known = {"cached_tokens": cached, "created_cache_tokens": 0}
    return {member: known.get(member) for member in members}


def metrics_value(engine: Mapping[str, Any], *, nulls: bool) -> dict[str, Any]:
    """The metrics object of --enable-per-request-metrics: members the engine timed; others null in whole answers and
    absent in streams."""
    timed = engine.get("timings", "all")
    value: dict[str, Any] = {}
    for name in TIMINGS:
        if timed == "all" or name in timed:
            value[name] = 1.0
        elif nulls:
            value[name] = None
    if nulls:
        value["speculative_decoding"] = None
    return value
