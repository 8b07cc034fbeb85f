"""A layout and a fault of one's own: Acme serves vLLM's chat, but keeps completion ids under ``choices[].acme.ids``.

A layout is a name card (:class:`~fakellm.layouts.base.Layout`) and a station with three steps. This one leaves request
and truth to vLLM's station and changes what is rendered; its accessor table tells reader, faults and suite where the
ids stand now. A fault is a function with a decorator that says what it works on and what a client may do about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from fakellm.ask import Ask, Request
from fakellm.faults.base import RECOVER, FaultContext, Parameters, on_rendering
from fakellm.generation import Generation
from fakellm.layouts.base import Context, Launch, Layout, Station
from fakellm.layouts.registry import find
from fakellm.message import Message, Rendering
from fakellm.told import Told

BASE = find("vllm-0.32.0").layout
Body = dict[str, Any]


class AcmeStation:
    """vLLM's server behind Acme's front."""

    def __init__(self, base: Station) -> None:
        self._base = base

    def receive(self, request: Request, context: Context) -> Ask | Rendering:
        return self._base.receive(request, context)

    def tell(self, ask: Ask, generations: Sequence[Generation], context: Context) -> Told:
        return self._base.tell(ask, generations, context)

    def render(self, told: Told, ask: Ask, context: Context) -> Rendering:
        rendering = self._base.render(told, ask, context)
        return replace(rendering, messages=tuple(map(_moved, rendering.messages)))


def _moved(message: Message) -> Message:
    """The message with every choice's ``token_ids`` under ``acme``."""
    body: Any = message.body
    if not isinstance(body, dict) or "choices" not in body:
        return message
    members = cast("Body", body)
    return replace(message, body={**members, "choices": [_choice(choice) for choice in members["choices"]]})


def _choice(choice: Body) -> Body:
    rest = {name: value for name, value in choice.items() if name != "token_ids"}
    return {**rest, "acme": {"ids": choice["token_ids"]}} if "token_ids" in choice else rest


def layouts() -> list[Layout]:
    """What the entry point ``fakellm.layouts`` names; the entry's own name is the vendor."""
    chat = {key: rows for key, rows in BASE.accessors.items() if key[0] == "chat"}
    moved = {
        key: tuple(
            replace(row, path="choices[].acme.ids") if row.value == "completion_token_ids" else row for row in rows
        )
        for key, rows in chat.items()
    }
    return [
        Layout(
            name="acme-1.0",
            vendor="acme",
            version=(1, 0),
            evidence="documents",
            accessors=moved,
            start=_start,
            error_body=BASE.error_body,
            notes="https://acme.example/docs/api",
        )
    ]


def _start(launch: Launch) -> Station:
    return AcmeStation(BASE.start(launch))


@on_rendering("acme-ids-twice", family="ids", may=RECOVER, values=("completion_token_ids",))
def acme_ids_twice(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """The completion ids stand in their old place too.

    Why: Acme's front kept both for a release.
    Right: they agree, so one of them is as good as the other.
    Breaks: clients that add both lists up.
    """
    return replace(rendering, messages=tuple(map(_doubled, rendering.messages)))


def _doubled(message: Message) -> Message:
    body: Any = message.body
    if not isinstance(body, dict) or "choices" not in body:
        return message
    members = cast("Body", body)
    choices = [{**choice, "token_ids": choice["acme"]["ids"]} for choice in members["choices"] if "acme" in choice]
    return replace(message, body={**members, "choices": choices}) if choices else message
