"""SGLang's wire: native /generate, the OpenAI routes, messages, Ollama and the control routes, 0.5.3 to 0.5.23.

One renderer, versions are traits (``traits.py``). The layouts here were captured from the real server with a scripted
scheduler; those marked "source" stand between two captured ones and were read in their wheels.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..base import Launch, Layout
from .accessors import accessor_table
from .answers import error_object
from .routes import held, left_out
from .station import SglangStation
from .traits import Traits, Version

VERSIONS: tuple[tuple[Version, str], ...] = (
    ((0, 5, 3), "captured"),
    ((0, 5, 6), "captured"),
    ((0, 5, 9), "captured"),
    ((0, 5, 10), "source"),
    ((0, 5, 12), "captured"),
    ((0, 5, 13), "source"),
    ((0, 5, 17), "source"),
    ((0, 5, 18), "captured"),
    ((0, 5, 20), "source"),
    ((0, 5, 23), "captured"),
)
"""Each version with how it is known."""


def layouts() -> list[Layout]:
    """Every SGLang layout, oldest first."""
    return [_layout(version, evidence) for version, evidence in VERSIONS]


def _layout(version: Version, evidence: str) -> Layout:
    traits = Traits.of(version)
    return Layout(
        name=f"sglang-{traits.text}",
        vendor="sglang",
        version=version,
        evidence=evidence,
        accessors=accessor_table(traits),
        start=partial(_start, traits),
        error_body=_error_body,
        notes="read in source" if evidence == "source" else "",
        routes=held(traits),
        left_out=left_out(traits),
    )


def _start(traits: Traits, launch: Launch) -> SglangStation:
    return SglangStation(launch, traits.beside(launch.engine.get("transformers", 4)))


def _error_body(status: int, message: str, kind: str) -> Any:
    return error_object(message, kind, status)
