"""Reading JSON that is still being written: the value so far, and where it ends.

Tool calls arrive in pieces; what is open is closed as far as it goes. With ``strings`` False an unfinished string (or
key) is as good as not there. Knows no tools.

>>> read_partial('{"name": "add", "arguments": {"x": 1')
({'name': 'add', 'arguments': {'x': 1}}, 36, False)
"""

from __future__ import annotations

import json
import re
from typing import Any

BLANKS = " \t\n\r"
_BLANK = re.compile(f"[{BLANKS}]*")
_NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d*)?)?")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}


class NotJson(Exception):
    """The text cannot become JSON, or there is no value yet."""


class _Open(Exception):
    """A value that has begun and cannot be shown yet."""


def read_partial(text: str, *, strings: bool = True) -> tuple[Any, int, bool]:
    """(value so far, end, complete); raises NotJson when there is nothing to show."""
    return Reader(text, strings).read()


class Reader:
    """One text being read. Vendors' ways with strings are its methods ``shown`` and ``unquoted``."""

    def __init__(self, text: str, strings: bool) -> None:
        self.text = text
        self.place = 0
        self.complete = True
        self._strings = strings

    def read(self) -> tuple[Any, int, bool]:
        """(value so far, end, complete); raises NotJson when there is nothing to show."""
        try:
            value = self.value()
        except _Open:
            raise NotJson(self.text) from None
        return value, self.place, self.complete

    def value(self) -> Any:
        self._skip()
        if self._ended():
            self.complete = False
            raise _Open
        first = self.text[self.place]
        if first == "{":
            return self._object()
        if first == "[":
            return self._array()
        if first == '"':
            return self._string()
        if first in "-0123456789":
            return self._number()
        return self._word()

    def _object(self) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self.place += 1
        while True:
            self._skip()
            if self._ended():
                return self._unfinished(members)
            if self.text[self.place] == "}":
                self.place += 1
                return members
            if self.text[self.place] == "," and members:
                self.place += 1
                continue
            try:
                key = self._key()
                members[key] = self.value()
            except _Open:
                return self._unfinished(members)
            if not self.complete:
                return members

    def _key(self) -> str:
        if self.text[self.place] != '"':
            raise NotJson(self.text)
        key = self._string()
        if not self.complete:
            raise _Open
        self._skip()
        if self._ended():
            self.complete = False
            raise _Open
        if self.text[self.place] != ":":
            raise NotJson(self.text)
        self.place += 1
        return key

    def _array(self) -> list[Any]:
        elements: list[Any] = []
        self.place += 1
        while True:
            self._skip()
            if self._ended():
                return self._unfinished(elements)
            if self.text[self.place] == "]":
                self.place += 1
                return elements
            if self.text[self.place] == "," and elements:
                self.place += 1
                continue
            try:
                elements.append(self.value())
            except _Open:
                return self._unfinished(elements)
            if not self.complete:
                return elements

    def _string(self) -> str:
        place = self.place + 1
        while place < len(self.text):
            if self.text[place] == "\\":
                place += 2
                continue
            if self.text[place] == '"':
                found = self.unquoted(self.text[self.place : place + 1])
                self.place = place + 1
                return found
            place += 1
        self.complete = False
        if not self._strings:
            raise _Open
        begun = self.text[self.place :]
        self.place = len(self.text)
        return self.shown(begun)

    def shown(self, begun: str) -> str:
        """What a string that is still open shows; ``begun`` starts with its quote."""
        while begun:
            try:
                return json.loads(begun + '"', strict=False)
            except json.JSONDecodeError:
                begun = begun[: begun.rfind("\\")]
        return ""

    def unquoted(self, quoted: str) -> str:
        """A whole string; raises NotJson."""
        try:
            return json.loads(quoted, strict=False)
        except json.JSONDecodeError:
            raise NotJson(self.text) from None

    def _number(self) -> Any:
        match = _NUMBER.match(self.text, self.place)
        written = match.group() if match else ""
        self.place += len(written)
        self.complete = self.complete and not self._ended()
        shown = written.rstrip("eE+-.") if self._ended() else written
        try:
            return json.loads(shown)
        except json.JSONDecodeError:
            if self._ended():
                raise _Open from None
            raise NotJson(self.text) from None

    def _word(self) -> Any:
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.place):
                self.place += len(word)
                return value
            rest = self.text[self.place :]
            if rest and word.startswith(rest):
                self.place = len(self.text)
                self.complete = False
                return value
        raise NotJson(self.text)

    def _unfinished(self, value: Any) -> Any:
        self.complete = False
        self.place = len(self.text)
        return value

    def _skip(self) -> None:
        match = _BLANK.match(self.text, self.place)
        self.place = match.end() if match else self.place

    def _ended(self) -> bool:
        return self.place >= len(self.text)
