"""OpenAI itself: chat, completions, Responses and models, strict in what it takes and in what it gives.

The layout that gateways are compared with. Answers validate against the official SDK's models with extras forbidden;
known from the SDK's types (3.57) and OpenAI's reference, not captured.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..base import Launch, Layout
from ..compatible.accessors import accessor_table
from ..compatible.station import CompatibleStation
from ..compatible.traits import Traits
from .accessors import RESPONSES
from .responses_api import NATIVES
from .traits import OPENAI


def layouts() -> list[Layout]:
    """The one OpenAI layout."""
    return [_layout(OPENAI)]


def _layout(traits: Traits) -> Layout:
    return Layout(
        name=traits.name,
        vendor=traits.vendor,
        version=(),
        evidence=traits.evidence,
        accessors={**accessor_table(traits), **RESPONSES},
        start=partial(_start, traits),
        error_body=partial(_error_body, traits),
        notes=traits.notes,
    )


def _start(traits: Traits, launch: Launch) -> CompatibleStation:
    return CompatibleStation(launch, traits, NATIVES)


def _error_body(traits: Traits, status: int, message: str, kind: str) -> Any:
    return traits.error(status, message, kind, None, None)
