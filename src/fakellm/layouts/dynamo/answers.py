"""Dynamo's whole answers and error bodies: flat on the OpenAI routes, nested on the native and Anthropic ones. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from ...message import Message, Rendering
from ...wire import dumps

JSON_HEADERS = (("content-type", "application/json"),)
EVENT_HEADERS = (("content-type", "text/event-stream"), ("cache-control", "no-cache"))
DONE = "[DONE]"


class Refusal(Exception):
    """A request that is not served, told by the OpenAI routes as it stands."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


def invalid(message: str, status: int = 400) -> Refusal:
    """What Dynamo's own validation says."""
    return Refusal(f"Validation: {message}", status)


def json_answer(body: Any, status: int = 200, *, spelling: str = "serde") -> Rendering:
    """A whole JSON answer."""
    return Rendering(status, JSON_HEADERS, (Message("body", body, spelling=spelling),))


def error_value(message: str, status: int) -> dict[str, Any]:
    """The flat error of the OpenAI routes."""
    return {"message": message, "type": HTTPStatus(status).phrase, "code": status}


def error(message: str, status: int = 400) -> Rendering:
    return json_answer(error_value(message, status), status)


def refused(refusal: Refusal) -> Rendering:
    return error(refusal.message, refusal.status)


def native_error(message: str, kind: str, status: int) -> Rendering:
    """The nested error of ``/inference/v1/generate``."""
    return json_answer({"error": {"message": message, "type": kind, "code": status}}, status)


def bare(status: int, headers: tuple[tuple[str, str], ...] = ()) -> Rendering:
    """An answer without a body: a method that a path does not have, a route that is switched off."""
    return Rendering(status, headers, (Message("body", ""),))


def engine_failed() -> Rendering:
    """A whole answer whose engine failed."""
    return error("Internal server error", 500)


def engine_failure(due_ms: float) -> Message:
    """The same inside a stream."""
    failure = {"message": "Internal server error", "type": "internal_server_error", "code": 500}
    return Message("error", {"error": failure}, due_ms=due_ms)


def events(messages: Sequence[Message], *, done: bool = True) -> Rendering:
    """A stream of server-sent events."""
    end = (Message("done", DONE, due_ms=messages[-1].due_ms if messages else 0.0),) if done else ()
    return Rendering(200, EVENT_HEADERS, (*messages, *end), stream=True)


def quoted(text: str) -> bytes:
    """A string as JSON writes it, for values that stand in comments."""
    return dumps(text, "serde")
