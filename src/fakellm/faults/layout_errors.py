"""Errors where an answer was due: statuses, HTML, error bodies under 200, error events before and after the finish.

Bodies are the layout's own unless a parameter says otherwise. All of them must come to light: a client refuses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from ..message import Message, Rendering
from .base import REFUSE, FaultContext, Parameters, on_rendering, out_of_range
from .bodies import choices, finishes
from .sequences import place
from .where import every, has_choices, streams

FAMILY = "errors"
JSON_TYPE = ("content-type", "application/json")
FRAMING = frozenset({"content-type", "content-length", "transfer-encoding", "cache-control"})

Shape = Literal["own", "openai", "flat", "text"]


def _error(context: FaultContext[Any], status: int, message: str, kind: str, shape: str = "own") -> Any:
    """An error's JSON value in the layout's spelling, in OpenAI's, in SGLang's flat one, or a bare string (Ollama)."""
    if shape == "openai":
        return {"error": {"message": message, "type": kind, "param": None, "code": status}}
    if shape == "flat":
        return {"object": "error", "message": message, "type": kind, "param": None, "code": status}
    if shape == "text":
        return {"error": message}
    return context.layout.error_body(status, message, kind)


def _answer(
    rendering: Rendering, status: int, body: Any, *headers: tuple[str, str], type: tuple[str, str] = JSON_TYPE
) -> Rendering:
    """A whole answer in place of the rendering, with its other headers."""
    kept = tuple(pair for pair in rendering.headers if pair[0] not in FRAMING)
    return Rendering(status, (*kept, type, *headers), (Message("body", body),))


class Retry(Parameters):
    retry_after: Annotated[
        int | None, Field(ge=0, description="seconds in the header Retry-After; null = no header")
    ] = 1


def _retry(context: FaultContext[Retry]) -> tuple[tuple[str, str], ...]:
    seconds = context.parameters.retry_after
    return () if seconds is None else (("retry-after", str(seconds)),)


@on_rendering("http-429", family=FAMILY, may=REFUSE, parameters=Retry)
def http_429(rendering: Rendering, context: FaultContext[Retry]) -> Rendering:
    """Too many requests, with Retry-After. With ``times`` the retry is answered well.

    Why: every hosted server; routers count them against a backend.
    Right: a typed refusal, or one retry no sooner than the header says.
    Breaks: clients that retry at once, or forever.
    """
    error = _error(context, 429, "Rate limit reached for requests", "rate_limit_error")
    return _answer(rendering, 429, error, *_retry(context))


@on_rendering("http-503", family=FAMILY, may=REFUSE, parameters=Retry)
def http_503(rendering: Rendering, context: FaultContext[Retry]) -> Rendering:
    """The server is overloaded or not ready, with Retry-After. With ``times`` the retry is answered well.

    Why: servers that start, sleep or drain; routers without a live worker answer it themselves (captured).
    Right: a typed refusal, or one retry no sooner than the header says.
    Breaks: clients that read the body as an answer.
    """
    error = _error(context, 503, "The server is currently overloaded", "service_unavailable_error")
    return _answer(rendering, 503, error, *_retry(context))


class Status(Parameters):
    status: Annotated[int, Field(ge=400, le=599, description="the HTTP status")] = 400
    message: Annotated[str, Field(description="what the error says")] = "Bad request"
    shape: Annotated[Shape, Field(description="whose error body: own, openai, flat (SGLang), text (Ollama)")] = "own"


@on_rendering("http-error", family=FAMILY, may=REFUSE, parameters=Status)
def http_error(rendering: Rendering, context: FaultContext[Status]) -> Rendering:
    """An error status with an error body.

    Why: context overflow is told in many words ( https://github.com/NVIDIA-NeMo/Gym/issues/1206 ,
    https://github.com/vllm-project/vllm/issues/33418 ), and clients search for some of them.
    Right: a typed refusal that keeps the status.
    Breaks: clients that decide by substrings of the message.
    """
    given = context.parameters
    kind = "BadRequestError" if given.status < 500 else "InternalServerError"
    return _answer(rendering, given.status, _error(context, given.status, given.message, kind, given.shape))


@on_rendering("http-500-html", family=FAMILY, may=REFUSE)
def http_500_html(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """A 500 whose body is an HTML page.

    Why: proxies answer for a server that does not.
    Right: a typed refusal that keeps the status.
    Breaks: clients that parse the body first and report a JSON error without the status.
    """
    page = "<html>\r\n<head><title>500 Internal Server Error</title></head>\r\n<body>\r\n<center><h1>500 Internal "
    page += "Server Error</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    return _answer(rendering, 500, page, type=("content-type", "text/html"))


class Body(Parameters):
    shape: Annotated[Shape, Field(description="whose error body: own, openai, flat (SGLang), text (Ollama)")] = "own"


@on_rendering("error-body-with-200", family=FAMILY, may=REFUSE, parameters=Body)
def error_body_with_200(rendering: Rendering, context: FaultContext[Body]) -> Rendering:
    """Status 200, and the body is an error; in a stream it is the first and only event.

    Why: https://github.com/BerriAI/litellm/issues/40578 , https://github.com/exo-explore/exo/pull/1758
    Right: a typed refusal: no choices means no answer.
    Breaks: clients that return an empty answer.
    """
    error = _error(context, 500, "Internal server error", "InternalServerError", context.parameters.shape)
    if not rendering.stream:
        return _answer(rendering, 200, error)
    return replace(rendering, messages=(Message("error", error, spelling="python"),), cut=False)


class Event(Parameters):
    at: Annotated[int, Field(description="in front of which event: 0 is the first, -1 the last")] = 2
    shape: Annotated[Shape, Field(description="whose error body: own, openai, flat (SGLang), text (Ollama)")] = "own"


def _broken_off(rendering: Rendering, context: FaultContext[Event], *, done: bool) -> Rendering:
    """The stream up to an event, then an error."""
    if not rendering.stream or any(message.kind == "error" for message in rendering.messages):
        return rendering
    given = context.parameters
    spoken = [number for number, message in enumerate(rendering.messages) if message.kind != "done"]
    reached = place(len(spoken), given.at)
    if reached is None:
        raise out_of_range("events", given.at, len(spoken))
    number = spoken[reached]
    due = rendering.messages[number].due_ms
    error = _error(context, 500, "Internal server error", "InternalServerError", given.shape)
    end = (Message("done", "[DONE]", due_ms=due),) if done else ()
    last = Message("error", error, due_ms=due, spelling="python")
    return replace(rendering, messages=(*rendering.messages[:number], last, *end))


@on_rendering("error-event", family=FAMILY, may=REFUSE, parameters=Event, applies=streams)
def error_event(rendering: Rendering, context: FaultContext[Event]) -> Rendering:
    """An error event in a stream that began with 200; nothing follows.

    Why: https://github.com/NousResearch/hermes-agent/pull/65643 , https://github.com/BerriAI/litellm/pull/25505
    Right: a typed refusal: what came so far is not the answer.
    Breaks: rllm-model-gateway 0.1.0 keeps a trace of two ids with status ok (measured).
    """
    return _broken_off(rendering, context, done=False)


@on_rendering("error-event-then-done", family=FAMILY, may=REFUSE, parameters=Event, applies=streams)
def error_event_then_done(rendering: Rendering, context: FaultContext[Event]) -> Rendering:
    """An error event in a stream that began with 200, then ``[DONE]`` as if all was well.

    Why: vLLM, SGLang and Dynamo all do it (captured).
    Right: a typed refusal; ``[DONE]`` does not heal it.
    Breaks: clients that skip events without choices and take [DONE] for success.
    """
    return _broken_off(rendering, context, done=True)


@on_rendering("error-after-finish", family=FAMILY, may=REFUSE, parameters=Body, applies=every(streams, has_choices))
def error_after_finish(rendering: Rendering, context: FaultContext[Body]) -> Rendering:
    """An error event behind the chunk with the finish_reason.

    Why: accounting, guards and n > 1 fail after a choice has ended: https://github.com/BerriAI/litellm/pull/22793
    Right: a typed refusal: the server says that the answer is not to be trusted.
    Breaks: clients that stop at the finish_reason.
    """
    last = max((n for n, message in enumerate(rendering.messages) if finishes(message)), default=None)
    if last is None:
        return rendering
    due = rendering.messages[last].due_ms
    error = _error(context, 500, "Internal server error", "InternalServerError", context.parameters.shape)
    event = Message("error", error, due_ms=due, spelling="python")
    return replace(rendering, messages=(*rendering.messages[: last + 1], event, *rendering.messages[last + 1 :]))


@on_rendering(
    "error-with-choices-null", family=FAMILY, may=REFUSE, parameters=Event, applies=every(streams, has_choices)
)
def error_with_choices_null(rendering: Rendering, context: FaultContext[Event]) -> Rendering:
    """An ordinary chunk whose choices are null says in a side field that there was an error; then ``[DONE]``.

    Why: https://github.com/exo-explore/exo/pull/1758 , https://github.com/diegosouzapw/OmniRoute/pull/8210
    Right: a typed refusal: the answer never finished.
    Breaks: clients that skip chunks without choices.
    """
    broken = _broken_off(rendering, context, done=True)
    envelope = next((message for message in rendering.messages if choices(message)), None)
    if envelope is None or broken is rendering:
        return rendering
    members: dict[str, Any] = {**envelope.body, "choices": None, "error": {"message": "upstream failed", "code": None}}
    chunk = replace(envelope, kind="error", body=members, choice=None, tokens=None)
    messages = tuple(
        replace(chunk, due_ms=message.due_ms) if message.kind == "error" else message for message in broken.messages
    )
    return replace(broken, messages=messages)
