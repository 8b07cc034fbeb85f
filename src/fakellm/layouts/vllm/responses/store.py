"""Responses that were kept (VLLM_ENABLE_RESPONSES_API_STORE=1): what they were, are and said, and the routes to them.

A response in the background is composed at once and shown when its time has come; the clock is the caller's. All of it
stands in ``Running.state["responses"]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ....ask import Request
from ....message import Message, Rendering
from ...base import Context
from ..api import Running
from ..bodies import EVENT_HEADERS, error_value, json_answer
from ..route import Route
from ..validate import Refusal, read_query, refusals


@dataclass(slots=True)
class Stored:
    """One response. ``queued``: its body while it is made in the background (None = it never was); ``final``: its body
    from ``ready`` (seconds since 1970) on; ``events``: of a background stream, due times counted from ``started``."""

    id: str
    messages: list[Any]
    queued: dict[str, Any] | None
    final: dict[str, Any]
    started: float
    ready: float
    events: Sequence[Message] | None = None
    cancelled: bool = False

    def at(self, now: float) -> dict[str, Any]:
        """The body at this moment."""
        if self.queued is None:
            return self.final
        if self.cancelled:
            return {**self.queued, "status": "cancelled"}
        return self.final if now >= self.ready else self.queued


def stored(running: Running, response_id: str) -> Stored | None:
    kept: dict[str, Stored] = running.state.get("responses", {})
    return kept.get(response_id)


def keep(running: Running, response: Stored) -> None:
    running.state.setdefault("responses", {})[response.id] = response


def retrieve(request: Request, running: Running, context: Context, parameters: Mapping[str, str]) -> Rendering:
    """GET /v1/responses/{id}; with ``stream`` the events of a background stream, from ``starting_after`` on."""
    asked = read_query("/v1/responses/{response_id}", request, running.traits)
    if isinstance(asked, Refusal):
        return asked.rendering()
    response = stored(running, parameters["response_id"])
    if response is None:
        return refusals.response_missing(parameters["response_id"], running.traits).rendering()
    if not asked.get("stream"):
        return json_answer(response.at(context.now()))
    if response.events is None:
        text = f"Unknown response_id: {response.id} (parameter=response_id, value={response.id})"
        return json_answer(error_value(text, "BadRequestError", "response_id", 400), status=400)
    after = asked.get("starting_after")
    passed = (context.now() - response.started) * 1000
    events = response.events[0 if after is None else int(after) + 1 :]
    waiting = tuple(replace(event, due_ms=max(event.due_ms - passed, 0.0)) for event in events)
    return Rendering(200, EVENT_HEADERS, waiting, stream=True)


def cancel(request: Request, running: Running, context: Context, parameters: Mapping[str, str]) -> Rendering:
    """POST /v1/responses/{id}/cancel: only what is still being made in the background."""
    response = stored(running, parameters["response_id"])
    if response is None:
        return refusals.response_missing(parameters["response_id"], running.traits).rendering()
    if response.at(context.now())["status"] not in ("queued", "in_progress"):
        return refusals.response_not_running(running.traits).rendering()
    response.cancelled = True
    return json_answer(response.at(context.now()))


RESPONSE_ROUTES = (
    Route(("GET",), "/v1/responses/{response_id}", retrieve),
    Route(("POST",), "/v1/responses/{response_id}/cancel", cancel),
)
