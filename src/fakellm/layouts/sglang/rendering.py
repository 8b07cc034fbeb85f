"""Which renderer answers which api: the one table between a told ask and its words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...ask import Ask
from ...message import Rendering
from ...told import Told
from ..base import Context
from .call import call_of
from .chat_render import ChatRenderer
from .completions import CompletionsRenderer
from .openai_parts import Facts

if TYPE_CHECKING:
    from .station import SglangStation

Render = Callable[[Told, Ask, "SglangStation", Context], Rendering]


def facts_of(ask: Ask, station: SglangStation, context: Context) -> Facts:
    """What every chunk of the answer says."""
    return Facts(int(context.now()), ask.model or "default", station.traits, station.settings, call_of(ask))


def _native(told: Told, ask: Ask, station: SglangStation, context: Context) -> Rendering:
    render = station.native.stream if ask.stream else station.native.whole
    return render(told, call_of(ask), context.now())


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


RENDERERS: Mapping[str, Render] = MappingProxyType(
    {"generate": _native, "chat": _chat, "completions": _completions}
)
"""api -> renderer."""
