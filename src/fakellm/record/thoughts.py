"""Reasoning that an answer shows apart from its text, where vendors have a place for it. Data and one walk; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from ..reading.paths import MISSING, find, steps

PLACES = tuple(
    steps(path)
    for path in (
        "choices[].message.reasoning_content",
        "choices[].message.reasoning",
        "choices[].delta.reasoning_content",
        "choices[].delta.reasoning",
        "output[type=reasoning].content[].text",
        "content[type=thinking].thinking",
        "delta.thinking",
        "message.thinking",
        "thinking",
    )
)
"""Where a body or an event shows it; of several places in one the first with text counts (vLLM has told it twice)."""
DELTAS = frozenset({"response.reasoning_text.delta", "response.reasoning_summary_text.delta"})
"""Responses' events whose ``delta`` it is."""


def thoughts(body: bytes, *, stream: bool) -> tuple[str, ...]:
    """The reasoning in the pieces in which it came; empty where none is shown."""
    found = (_thought(document, stream=stream) for document in _documents(body))
    return tuple(text for text in found if text)


def _documents(body: bytes) -> Iterator[Mapping[str, Any]]:
    text = body.decode("utf-8", "replace")
    for line in [text] if text.lstrip()[:1] == "{" and "\n{" not in text else text.splitlines():
        try:
            found: Any = json.loads(line.removeprefix("data:"))
        except ValueError:
            continue
        if isinstance(found, dict):
            yield cast("dict[str, Any]", found)


def _thought(document: Mapping[str, Any], *, stream: bool) -> str:
    kind = document.get("type")
    if isinstance(kind, str) and kind.startswith("response."):
        delta = document.get("delta")
        return delta if kind in DELTAS and isinstance(delta, str) else ""
    for way in PLACES:
        value = find(document, way)
        parts: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
        text = "".join(part for part in parts if isinstance(part, str)) if value is not MISSING else ""
        if text:
            return text
    return ""
