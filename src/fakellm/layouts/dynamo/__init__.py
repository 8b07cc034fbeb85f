"""NVIDIA Dynamo's wire: the frontend's OpenAI routes with nvext, its native ones, and the Responses that may come.

One renderer, versions are traits (``traits.py``). 1.6.1 and 1.7 were captured from the real frontend in front of a
scripted worker; the ``dynamo-responses-logprobs`` layouts stand on the description of a change that is not released.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..base import Launch, Layout
from .accessors import accessor_table
from .answers import error_value
from .station import DynamoStation
from .traits import ALL, VARIANTS, Traits


def layouts() -> list[Layout]:
    """Every Dynamo layout, oldest first; variants have no version."""
    return [_layout(traits) for traits in (*VARIANTS, *ALL)]


def _layout(traits: Traits) -> Layout:
    return Layout(
        name=traits.name,
        vendor="dynamo",
        version=traits.version,
        evidence=traits.evidence,
        accessors=accessor_table(traits),
        start=partial(_start, traits),
        error_body=_error_body,
        notes=traits.notes,
    )


def _start(traits: Traits, launch: Launch) -> DynamoStation:
    return DynamoStation(launch, traits)


def _error_body(status: int, message: str, kind: str) -> Any:
    return error_value(message, status) | ({"type": kind} if kind else {})
