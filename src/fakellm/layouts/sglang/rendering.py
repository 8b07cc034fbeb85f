"""Which renderer answers which api: the one table between a told ask and its words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...ask import Ask
from ...message import Rendering
from ...told import Told
from ..base import Context
from . import ollama
from .call import call_of
from .chat_render import ChatRenderer
from .completions_render import CompletionsRenderer
from .messages_render import MessagesRenderer
from .openai_parts import Facts
from .responses_render import ResponsesRenderer

if TYPE_CHECKING:
    from .station import SglangStation

Render = Callable[[Told, Ask, "SglangStation", Context], Rendering]


def facts_of(ask: Ask, station: SglangStation, context: Context) -> Facts:
    """What every chunk of the answer says."""
    model = "default" if ask.model is None else ask.model
    return Facts(int(context.now()), model, station.traits, station.settings, call_of(ask))


def _native(told: Told, ask: Ask, station: SglangStation, context: Context) -> Rendering:
    if ask.stream:
        return station.native.stream(told, call_of(ask), context.now())
    answer = station.native.whole(told, call_of(ask), context.now())
    if not ask.options.get("predictions") or answer.status != HTTPStatus.OK:
        return answer
    first = answer.messages[0]
    return replace(answer, messages=(replace(first, body={"predictions": first.body}),))


def chat_renderer(ask: Ask, station: SglangStation, context: Context) -> ChatRenderer:
    """The chat renderer of an ask; other routes that run a chat use it too."""
    route: Any = ask.options["route"]
    return ChatRenderer(facts_of(ask, station, context), route, station.native, context.hex)


def _chat(told: Told, ask: Ask, station: SglangStation, context: Context) -> Rendering:
    renderer = chat_renderer(ask, station, context)
    return renderer.stream(told) if ask.stream else renderer.whole(told, context.now())


def _completions(told: Told, ask: Ask, station: SglangStation, context: Context) -> Rendering:
    route: Any = ask.options["route"]
    renderer = CompletionsRenderer(facts_of(ask, station, context), route, station.speller)
    return renderer.stream(told) if ask.stream else renderer.whole(told)


def _responses(told: Told, ask: Ask, station: SglangStation, context: Context) -> Rendering:
    route: Any = ask.options["route"]
    renderer = ResponsesRenderer(route, station.traits, int(context.now()), context.hex)
    if ask.stream:
        return renderer.stream(told)
    answer = renderer.whole(told)
    if answer.status == 200 and route.values["store"]:
        kept = {"body": answer.messages[0].body, "history": _history(route.history, told)}
        if told.choices[0].finish_reason == "abort":  # told anew: the first telling did not know of it
            station.state.responses[route.id] = kept
        station.state.responses.setdefault(route.id, kept)
    return answer


def _history(before: tuple[Mapping[str, Any], ...], told: Told) -> list[Mapping[str, Any]]:
    """The conversation with this answer at its end."""
    choice = told.choices[0]
    parts = choice.parts
    said = choice.text if parts is None else "".join(part.text for part in parts if part.kind == "content")
    return [*before, {"role": "assistant", "content": said}]


def _messages(told: Told, ask: Ask, station: SglangStation, context: Context) -> Rendering:
    route: Any = ask.options["route"]
    renderer = MessagesRenderer(facts_of(ask, station, context), context.hex, route.parsers)
    return renderer.stream(told) if ask.stream else renderer.whole(told)


RENDERERS: Mapping[str, Render] = MappingProxyType(
    {
        "generate": _native,
        "chat": _chat,
        "completions": _completions,
        "responses": _responses,
        "messages": _messages,
        "ollama": ollama.render,
    }
)
"""api -> renderer."""
