"""Reading JSON fields of a request that was validated: the small conversions that every layout needs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from ...ask import Prompt
from ...tokenizer import Tokenizer

NOTHING: Mapping[str, Any] = MappingProxyType({})


def as_tuple(value: Any) -> tuple[Any, ...]:
    """None -> (), a string or number -> one element, a list -> its elements."""
    if value is None:
        return ()
    return tuple(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) else (value,)


def as_object(value: Any) -> Mapping[str, Any]:
    """The object itself, or an empty one for everything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else NOTHING


def as_objects(value: Any) -> tuple[Mapping[str, Any], ...]:
    """The objects among the elements of a list."""
    return tuple(cast("Mapping[str, Any]", row) for row in as_tuple(value) if isinstance(row, Mapping))


def completion_prompts(tokenizer: Tokenizer, prompt: Any) -> tuple[Prompt, ...]:
    """The prompts of a completions request: text, ids, or a list of either."""
    rows: list[Any] = cast("list[Any]", prompt) if isinstance(prompt, list) else [prompt]
    if rows and isinstance(rows[0], int):
        rows = [rows]
    return tuple(
        Prompt(tokenizer.encode(row), row) if isinstance(row, str) else Prompt(tuple(cast("list[int]", row)))
        for row in rows
    )
