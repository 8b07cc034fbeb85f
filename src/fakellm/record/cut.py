"""Taking members out of JSON text without touching the rest of it: every other byte stays as the server wrote it.

A path is a tuple of keys with ``"[]"`` for any element of a list. Numbers keep their spelling, strings their escapes,
objects their order and their duplicates. Pure; text that is no JSON raises ValueError.

>>> cut('{"a": 1e-05, "b":[{"c":2,"d":3}]}', {("b", "[]", "c")}, set())
'{"a": 1e-05, "b":[{"d":3}]}'
"""

from __future__ import annotations

import json
import re
from collections.abc import Set as AbstractSet
from typing import Any, cast

EACH = "[]"
Path = tuple[str, ...]
Paths = AbstractSet[Path]
_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def cut(text: str, removed: Paths, nulled: Paths) -> str:
    """The text without the members at ``removed``, and with null for those at ``nulled``."""
    if not removed and not nulled:
        return text
    value, end = _Cutter(text, removed, nulled).value(_skip(text, 0), ())
    return text[: _skip(text, 0)] + value + text[end:]


def paths_of(value: Any, at: Path = ()) -> dict[Path, bool]:
    """Every member's path in a JSON value -> whether it is null wherever it stands."""
    found: dict[Path, bool] = {}
    if isinstance(value, dict):
        inner = [((*at, key), one) for key, one in cast("dict[str, Any]", value).items()]
    elif isinstance(value, list):
        inner = [((*at, EACH), one) for one in cast("list[Any]", value)]
    else:
        return found
    for path, one in inner:
        for deeper, is_null in ((path, one is None), *paths_of(one, path).items()):
            found[deeper] = found.get(deeper, True) and is_null
    return found


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return at if match is None else match.end()


class _Cutter:
    """Walks one text. ``value`` gives the new text of a value and where the old one ends."""

    def __init__(self, text: str, removed: Paths, nulled: Paths) -> None:
        self._text = text
        self._removed = removed
        self._nulled = nulled

    def value(self, at: int, path: Path) -> tuple[str, int]:
        opening = self._text[at : at + 1]
        if opening == "{":
            return self._row(at, path, "}", keyed=True)
        if opening == "[":
            return self._row(at, path, "]", keyed=False)
        _, end = _DECODER.raw_decode(self._text, at)
        return self._text[at:end], end

    def _row(self, at: int, path: Path, closing: str, *, keyed: bool) -> tuple[str, int]:
        """An object or a list: each entry with the blanks around it, joined by the commas that are left."""
        text, start = self._text, at + 1
        kept: list[str] = []
        at = _skip(text, start)
        if text[at : at + 1] == closing:
            return text[start - 1 : at + 1], at + 1
        while True:
            head, inner, at = text[start : _skip(text, start)], (*path, EACH), _skip(text, start)
            if keyed:
                key, after = _DECODER.raw_decode(text, at)
                colon = _skip(text, after)
                if text[colon : colon + 1] != ":":
                    raise ValueError(f"no colon at character {colon}")
                begins = _skip(text, colon + 1)
                head, inner, at = text[start:begins], (*path, str(key)), begins
            new, at = self.value(at, inner)
            end = _skip(text, at)
            if inner in self._nulled:
                new = "null"
            if inner not in self._removed:
                kept.append(head + new + text[at:end])
            mark = text[end : end + 1]
            if mark == closing:
                opening = "{" if keyed else "["
                return opening + ",".join(kept) + closing, end + 1
            if mark != ",":
                raise ValueError(f"no comma at character {end}")
            start = end + 1
