"""SGLang's way of reading JSON that is still being written (the reader is ``layouts/partial_json.py``).

Where something is closed that was never opened, the value before it is read.

>>> read_partial('{"name": "add", "arguments": {"x": 1')
({'name': 'add', 'arguments': {'x': 1}}, 36, False)
"""

from __future__ import annotations

from typing import Any

from ...partial_json import BLANKS, NotJson, Unpaired, first_value
from ...partial_json import read_partial as read_common

__all__ = ["NotJson", "read_partial"]


def read_partial(text: str, *, strings: bool = True) -> tuple[Any, int, bool]:
    """(value so far, where it ends, complete); raises NotJson when there is nothing to show."""
    try:
        return read_common(text, strings=strings)
    except Unpaired:
        return first_value(text, len(text) - len(text.lstrip(BLANKS)))
