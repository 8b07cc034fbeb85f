"""vLLM's layouts, 0.10.2 to 0.32.0: traits of one renderer. ``layouts()`` is what the registry asks for."""

from __future__ import annotations

from collections.abc import Sequence

from ..base import Launch, Layout, Station
from .accessors import table
from .bodies import error_value
from .station import SHAPES_BY_VERSION, start
from .traits import TRAITS, Version


def layouts() -> Sequence[Layout]:
    """One layout per captured version, oldest first."""
    return tuple(_layout(version) for version in sorted(TRAITS))


def _layout(version: Version) -> Layout:
    name = ".".join(map(str, version))

    def begin(launch: Launch) -> Station:
        return start(version, launch, str(launch.extra.get("version", name)))

    def error_body(status: int, message: str, kind: str) -> object:
        return error_value(message, kind, None, status)

    return Layout(
        name=f"vllm-{name}",
        vendor="vllm",
        version=version,
        evidence="captured",
        accessors=table(SHAPES_BY_VERSION[version]),
        start=begin,
        error_body=error_body,
    )
