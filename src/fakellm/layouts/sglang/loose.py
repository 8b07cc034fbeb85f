"""JSON values of unknown shape, read without surprise: the members of an object, the elements of a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


def members(value: Any) -> Mapping[str, Any]:
    """The members of a JSON object; none for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def elements(value: Any) -> list[Any]:
    """The elements of a JSON list; none for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []
