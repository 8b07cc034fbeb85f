"""SGLang's way of reading JSON that is still being written (the reader is ``layouts/partial_json.py``).

Blanks at the end of the text belong to the value, an open string shows none of them, and a string is strict JSON.

>>> read_partial('{"name": "add", "arguments": {"x": 1')
({'name': 'add', 'arguments': {'x': 1}}, 36, False)
"""

from __future__ import annotations

import json
from typing import Any

from ...partial_json import BLANKS, NotJson, Reader

__all__ = ["NotJson", "read_partial"]


def read_partial(text: str, *, strings: bool = True) -> tuple[Any, int, bool]:
    """(value so far, where it ends, complete); raises NotJson when there is nothing to show."""
    value, end, complete = _Strict(text, strings).read()
    return value, len(text) if not text[end:].strip(BLANKS) else end, complete


class _Strict(Reader):
    def shown(self, begun: str) -> str:
        return self.unquoted(f'{_without_half_escape(begun.rstrip())}"')

    def unquoted(self, quoted: str) -> str:
        try:
            return json.loads(quoted)
        except json.JSONDecodeError:
            raise NotJson(self.text) from None


def _without_half_escape(begun: str) -> str:
    """A string that is still open, without an escape that is not all there."""
    place = begun.rfind("\\")
    if place < 0 or (len(begun[:place]) - len(begun[:place].rstrip("\\"))) % 2:
        return begun
    escape = begun[place:]
    whole = len(escape) > 1 and (escape[1] != "u" or len(escape) > 5)
    return begun if whole else begun[:place]
