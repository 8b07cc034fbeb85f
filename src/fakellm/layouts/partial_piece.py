"""Finishing one piece of JSON that stops somewhere: a number, a word, a string, or a list or object that ends in such.

The grammar's half of ``partial_json.py``, which finds the piece in a longer text. A piece keeps what can stand and says
what must follow it; places are those that ``partial-json-parser`` finds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_NUMBER = re.compile(r"[-0-9][-+.eE0-9]*")
_WORDS = ("null", "true", "false", "Infinity", "-Infinity", "NaN")
_HALF_ESCAPES = (("\\u", 5), ("\\U", 9), ("\\x", 3))
"""Beginning of an escape, and how many characters of it are too few."""


class NotJson(Exception):
    """The text cannot become JSON, or there is no value yet."""


class _End(Exception):
    """The text ends where more is needed."""


def finished(piece: str, strings: bool) -> str:
    """The piece with what finishes it; raises NotJson when nothing of it can be shown."""
    return "".join(parts(piece, strings))


def parts(piece: str, strings: bool) -> tuple[str, str]:
    """(what is kept of a piece, what finishes it). Places are counted without the blanks around it, and cut with them:
    a lone string behind blanks loses as many of its last characters."""
    try:
        found = _Piece(strings).value(piece.strip(), top=True)
    except _End:
        raise NotJson(piece) from None
    if found is None:
        raise NotJson(piece)
    return piece[: found.length], found.missing or ""


@dataclass(frozen=True, slots=True)
class _Found:
    """``length``: characters that can stay; ``missing``: what must follow them, None when it is complete."""

    length: int
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class _Piece:
    """Finishes one piece by the grammar. Each method gives None when nothing of it can be shown."""

    strings: bool

    def value(self, text: str, *, top: bool = False) -> _Found | None:
        start = _skipped(text, 0)
        if start >= len(text):
            raise _End
        first = text[start]
        readers: dict[str, Callable[[str], _Found | None]] = {'"': self.string, "[": self.array, "{": self.object}
        if first in readers:
            if start:
                raise NotJson(text)
            return readers[first](text)
        if first in "0123456789":
            return _number(text, top=top)
        for word in _WORDS:
            if first == "-" and word == "-Infinity" and text[1:2] != "I":
                return None if text == "-" else _number(text, top=top)
            if text.startswith(word):
                return _Found(len(word))
            if word.startswith(text):
                return _Found(0, word)
        raise NotJson(text)

    def string(self, text: str) -> _Found | None:
        if text[:1] != '"':
            raise NotJson(text) if text else _End
        place = 1
        while place < len(text) and text[place] != '"':
            if text[place] == "\\" and place + 1 == len(text):
                break
            place += 2 if text[place] == "\\" else 1
        if place < len(text) and text[place] == '"':
            return _Found(place + 1)
        if not self.strings:
            return None
        for begun, length in _HALF_ESCAPES:
            half = text.rfind(begun, max(0, place - length), place)
            if half != -1 and not escaped(text, half):
                return _Found(half, '"')
        return _Found(place, '"')

    def array(self, text: str) -> _Found:
        kept = place = 1
        try:
            while True:
                place = _at(text, _skipped(text, place))
                if text[place] == "]":
                    return _Found(place + 1)
                found = self.value(text[place:])
                if found is None:
                    return _Found(kept, "]")
                if found.missing is not None:
                    return _Found(place + found.length, found.missing + "]")
                kept = place + found.length
                place = _at(text, _skipped(text, kept))
                if text[place] == "]":
                    return _Found(place + 1)
                place = _behind(text, place, ",")
        except _End:
            return _Found(kept, "]")

    def object(self, text: str) -> _Found:
        kept = place = 1
        try:
            while True:
                place = _at(text, _skipped(text, place))
                if text[place] == "}":
                    return _Found(place + 1)
                key = self.string(text[place:])
                if key is None or key.missing is not None:
                    return _Found(kept, "}")
                place = _behind(text, _at(text, _skipped(text, place + key.length)), ":")
                place = _skipped(text, place)
                found = self.value(text[place:])
                if found is None:
                    return _Found(kept, "}")
                if found.missing is not None:
                    return _Found(place + found.length, found.missing + "}")
                kept = place + found.length
                place = _at(text, _skipped(text, kept))
                if text[place] == "}":
                    return _Found(place + 1)
                place = _behind(text, place, ",")
        except _End:
            return _Found(kept, "}")


def _number(text: str, *, top: bool) -> _Found:
    """Digits so far; what may not end a number goes, and one at the very end of an inner text may go on."""
    match = _NUMBER.match(text)
    written = match.group() if match else ""
    kept = len(written.rstrip(".-+eE"))
    if not kept:
        raise _End
    return _Found(kept, "" if kept < len(written) or (len(written) == len(text) and not top) else None)


def escaped(text: str, place: int) -> bool:
    """Whether an odd number of backslashes stands before a place."""
    before = text[:place]
    return (place - len(before.rstrip("\\"))) % 2 == 1


def _skipped(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _at(text: str, place: int) -> int:
    if place >= len(text):
        raise _End
    return place


def _behind(text: str, place: int, wanted: str) -> int:
    if text[place] != wanted:
        raise NotJson(text)
    return place + 1
