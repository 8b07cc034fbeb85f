"""What ``fakellm layouts`` and the admin API say of each layout, from the accessor tables themselves. Pure."""

from __future__ import annotations

from typing import Any

from .base import Layout
from .registry import all_layouts


def layout_rows() -> list[dict[str, Any]]:
    """Every layout as a JSON value: name, evidence, and per API and mode where values stand and which flags ask."""
    return [layout_row(layout) for layout in all_layouts()]


def layout_row(layout: Layout) -> dict[str, Any]:
    """One layout."""
    return {
        "name": layout.name,
        "vendor": layout.vendor,
        "evidence": layout.evidence,
        "notes": layout.notes,
        "apis": [
            {
                "api": api,
                "stream": stream,
                "values": [
                    {
                        "value": accessor.value,
                        "path": accessor.path,
                        "flags": dict(accessor.flags),
                        "messages": list(accessor.messages),
                        "eos": accessor.eos,
                        "loss": accessor.loss,
                    }
                    for accessor in accessors
                ],
            }
            for (api, stream), accessors in sorted(layout.accessors.items())
        ],
    }
