"""The routes that run the engine by their own bodies: /generate, chat and completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from ...ask import Ask, Request
from ...message import Message, Rendering
from ..base import Context
from . import answers, chat_request, completions, messages, native, ollama, responses
from .answers import Refusal
from .bodies import read_body
from .chat_body import chat_model
from .completions_body import completion_model
from .contract import contract_error, crashes
from .native_body import generate_model
from .orders import input_of
from .route import Route, openai_ask
from .schema import read
from .traits import Trait

if TYPE_CHECKING:
    from .station import SglangStation


def generate(request: Request, station: SglangStation, context: Context) -> Ask | Rendering:
    """/generate."""
    body = read_body(request, generate_model(station.traits.version), station.traits, json_only=False)
    if isinstance(body, Rendering):
        return body
    parameters = body.sent.get("sampling_params")
    if station.traits.has(Trait.NATIVE_CONTRACT):
        against = contract_error(body.sent)
        if against is not None:
            return answers.json_answer({"error": against}, 400)
    elif crashes(parameters, station.traits):
        return answers.crash()
    try:
        if native.is_empty_batch(body.values):
            return answers.events(()) if body.values["stream"] else answers.json_answer([])
        return native.read_ask(body.sent, body.values, request, station.engine)
    except Refusal as refused:
        if refused.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return answers.broken_stream() if body.values["stream"] else answers.crash()
        if not body.values["stream"]:
            return answers.native_error(refused.message)
        value: dict[str, Any] = {"message": refused.message}
        if station.traits.has(Trait.STREAM_ERROR_TYPED):
            value |= {"type": "invalid_request_error", "code": 400, "retryable": False}
        return answers.events((Message("error", {"error": value}, spelling="serde"),))


def chat(request: Request, station: SglangStation, context: Context) -> Ask | Rendering:
    """/v1/chat/completions."""
    body = read_body(request, chat_model(station.traits.version), station.traits, json_only=True)
    return body if isinstance(body, Rendering) else openai_ask(chat_request.read_ask, body, request, station)


def invocations(request: Request, station: SglangStation, context: Context) -> Ask | Rendering:
    """/invocations: chat as a hosting service asks for it, whatever the content type."""
    body = read_body(request, chat_model(station.traits.version), station.traits, json_only=False)
    return body if isinstance(body, Rendering) else openai_ask(chat_request.read_ask, body, request, station)


def vertex(request: Request, station: SglangStation, context: Context) -> Ask | Rendering:
    """/vertex_generate: a batch for /generate, whose members no schema has looked at."""
    outer = input_of(request, "VertexGenerateReqInput", station)
    if isinstance(outer, Rendering):
        return outer
    instances: Sequence[Mapping[str, Any]] = outer.values["instances"]
    if not instances:
        return answers.json_answer([])
    member = next((name for name in ("text", "input_ids", "input_embeds") if instances[0].get(name)), None)
    body: dict[str, Any] = {} if member is None else {member: [one.get(member) for one in instances]}
    body.update(outer.values["parameters"] or {})
    model = generate_model(station.traits.version)
    reading = read(model, body)
    if reading.errors or any(name not in {field.name for field in model.fields} for name in body):
        return answers.crash()
    try:
        asked = native.read_ask(body, reading.values, request, station.engine)
    except Refusal as refused:
        return answers.native_error(refused.message)
    told = not station.traits.has(Trait.VERTEX_BARE)
    return replace(asked, options={**asked.options, "predictions": told})


def completion(request: Request, station: SglangStation, context: Context) -> Ask | Rendering:
    """/v1/completions."""
    body = read_body(request, completion_model(station.traits.version), station.traits, json_only=True)
    return body if isinstance(body, Rendering) else openai_ask(completions.read_ask, body, request, station)


ENGINE: Mapping[str, Route] = {
    "/generate": Route(("POST", "PUT"), generate),
    "/v1/chat/completions": Route(("POST",), chat),
    "/v1/completions": Route(("POST",), completion),
    "/invocations": Route(("POST",), invocations),
    "/vertex_generate": Route(("POST",), vertex),
    "/v1/responses": Route(("POST",), responses.create, Trait.RESPONSES),
    "/v1/messages": Route(("POST",), messages.create, Trait.MESSAGES),
    "/v1/messages/count_tokens": Route(("POST",), messages.count_tokens, Trait.MESSAGES),
    "/api/chat": Route(("POST",), ollama.chat, Trait.OLLAMA),
    "/api/generate": Route(("POST",), ollama.generate, Trait.OLLAMA),
    "/api/tags": Route(("GET",), ollama.tags, Trait.OLLAMA),
    "/api/show": Route(("POST",), ollama.show, Trait.OLLAMA),
    "/v1/responses/*": Route(("GET", "POST"), responses.retrieve, Trait.RESPONSES),
}
