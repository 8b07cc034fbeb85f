"""Whole answers and error bodies in SGLang's several spellings of one thing.

Which one a route uses is the route's choice: the legacy error object, a bare string, a nested object, FastAPI's detail.
Pure builders of Renderings; no request is read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from ...message import Message, Rendering
from .schema import Error, spelled
from .source_lines import line_of
from .traits import Traits

SERVER = ("server", "uvicorn")
VARY = ("vary", "Origin")
"""Of the CORS middleware: on every answer that comes from within it."""

JSON_HEADERS = (SERVER, ("content-type", "application/json"), VARY)
TEXT_HEADERS = (SERVER, ("content-type", "text/plain; charset=utf-8"))
EVENT_HEADERS = (SERVER, ("content-type", "text/event-stream; charset=utf-8"), VARY)
UNCACHED_HEADERS = (SERVER, ("cache-control", "no-cache"), *EVENT_HEADERS[1:])
"""Of /v1/responses' streams."""

LINE_HEADERS = (SERVER, ("content-type", "application/x-ndjson"), VARY)
DONE = "[DONE]"


class Refusal(Exception):
    """Raised while a request is read: the message of Python's ValueError in SGLang, told by each route in its way."""

    def __init__(self, message: str, *, kind: str = "BadRequestError", status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.status = status


class EngineRefusal(Refusal):
    """A refusal by the tokenizer manager: in a stream of an old version it comes as an event, not as a status."""


def json_answer(body: Any, status: int = 200, *, spelling: str = "serde") -> Rendering:
    """A whole JSON answer."""
    return Rendering(status, JSON_HEADERS, (Message("body", body, spelling=spelling),))


def json_text(text: str) -> Rendering:
    """A JSON answer that is already written (a bare string)."""
    return Rendering(200, JSON_HEADERS, (Message("body", text),))


def empty_answer(status: int = 200) -> Rendering:
    """An answer without body and content type (/health, /abort_request)."""
    return Rendering(status, (SERVER, VARY), (Message("body", ""),))


def plain_answer(text: str, status: int = 200) -> Rendering:
    """Text without a content type (/flush_cache)."""
    return Rendering(status, (SERVER, VARY), (Message("body", text),))


def text_answer(text: str, content_type: str, status: int = 200) -> Rendering:
    """Text of some type."""
    return Rendering(status, (SERVER, ("content-type", content_type), VARY), (Message("body", text),))


def crash() -> Rendering:
    """What the web server says when a route raises: the fate of bad sampling parameters up to 0.5.21."""
    return Rendering(500, TEXT_HEADERS, (Message("body", "Internal Server Error"),))


def broken_stream(headers: Sequence[tuple[str, str]] = EVENT_HEADERS) -> Rendering:
    """The same when its stream had begun: it is cut before the first event."""
    return Rendering(200, tuple(headers), (), stream=True, cut=True)


def detail(status: int, text: str) -> Rendering:
    """FastAPI's own 404."""
    return json_answer({"detail": text}, status)


def not_allowed(methods: Sequence[str]) -> Rendering:
    """FastAPI's own 405. The methods stand in no order there (a set); here they are sorted."""
    allowed = ("allow", ", ".join(sorted(methods)))
    headers = (SERVER, allowed, ("content-type", "application/json"), VARY)
    return Rendering(405, headers, (Message("body", {"detail": "Method Not Allowed"}, spelling="serde"),))


def error_object(message: str, kind: str, status: int, param: str | None = None) -> dict[str, Any]:
    """The legacy error object of the OpenAI routes."""
    return {"object": "error", "message": message, "type": kind, "param": param, "code": status}


def error(message: str, kind: str = "BadRequestError", status: int = 400, param: str | None = None) -> Rendering:
    """A refusal of an OpenAI route."""
    return json_answer(error_object(message, kind, status, param), status)


def native_error(message: str, status: int = 400) -> Rendering:
    """A refusal of /generate and of the control routes."""
    return json_answer({"error": {"message": message}}, status)


def nested(message: str, kind: str, param: str | None, code: int | str | None, status: int) -> Rendering:
    """The nested error of /v1/responses and /v1/models/x."""
    return json_answer({"error": {"message": message, "type": kind, "param": param, "code": code}}, status)


def failure(message: str, status: int) -> Rendering:
    """A failed engine in a whole answer: 400 is a ValueError, everything else an HTTPException."""
    return error(message, str(status), status)


def stream_error(message: str, kind: str, status: int, due_ms: float = 0.0) -> Message:
    """An error inside an OpenAI stream: json.dumps with its blanks."""
    body = {"error": error_object(message, kind, status)}
    return Message("error", body, due_ms=due_ms, spelling="python")


def status_name(status: int) -> str:
    """The enum name of a status, as errors in streams call their kind."""
    try:
        return HTTPStatus(status).name
    except ValueError:
        return "INTERNAL_SERVER_ERROR"


def events(
    messages: Sequence[Message], *, done: bool = True, headers: Sequence[tuple[str, str]] = EVENT_HEADERS
) -> Rendering:
    """A stream of server-sent events, with ``[DONE]`` at its end."""
    end = (Message("done", DONE, due_ms=messages[-1].due_ms if messages else 0.0),) if done else ()
    return Rendering(200, tuple(headers), (*messages, *end), stream=True)


def invalid(errors: Sequence[Error], method: str, path: str, traits: Traits) -> Rendering:
    """A body that does not fit its schema: FastAPI's text with the server's file, in a legacy error object."""
    message = invalid_message(errors, method, path, traits)
    if path.startswith("/v1/responses"):
        return nested(message, "Bad Request", None, 400, 400)
    return error(message, "Bad Request", 400)


def invalid_message(errors: Sequence[Error], method: str, path: str, traits: Traits) -> str:
    """The text of a schema refusal."""
    function, line = line_of(path, traits.version)
    place = f'File "/site-packages/sglang/srt/entrypoints/http_server.py", line {line}, in {function}'
    return spelled(errors, f"\n\n  {place}\n    {method} {path}")
