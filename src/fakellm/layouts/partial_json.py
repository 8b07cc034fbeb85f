"""Reading JSON that is still being written: the value so far, and where it ends.

Tool calls arrive in pieces. What is open is closed as far as it goes, and then the whole is read as JSON: whatever was
wrong before the last comma is found there. vLLM and SGLang both have this done by ``partial-json-parser``; its answers
are reproduced here, those to broken text as well (20,000 random texts, cut and disturbed, were compared). With
``strings`` False an unfinished string (or key) is as good as not there. Knows no tools.

>>> read_partial('{"name": "add", "arguments": {"x": 1')
({'name': 'add', 'arguments': {'x': 1}}, 36, False)
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from .partial_piece import NotJson, escaped, finished, parts

BLANKS = " \t\n\r"
_MARKS = re.compile(r'["\[\]{}]')
_PARTNER = {"{": "}", "[": "]"}


class Unpaired(NotJson):
    """Something is closed that was never opened."""


def read_partial(text: str, *, strings: bool = True) -> tuple[Any, int, bool]:
    """(value so far, end, complete); raises NotJson when there is nothing to show."""
    try:
        whole = closed(text, strings)
        value = json.loads(whole)
    except json.JSONDecodeError as wrong:
        if wrong.msg == "Extra data":
            return first_value(text)
        raise NotJson(text) from None
    except (ValueError, RecursionError):
        raise NotJson(text) from None
    return value, len(text), whole.strip() == text.strip()


def first_value(text: str, start: int = 0) -> tuple[Any, int, bool]:
    """The value that a text begins with, whatever comes behind it; raises NotJson."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        raise NotJson(text) from None
    return value, end, True


def closed(text: str, strings: bool) -> str:
    """The text with its last piece finished or taken away, and with what is open closed; raises NotJson."""
    view = _View.of(text)
    if view is None:
        return finished(text, strings)
    if not view.open:
        return text
    if view.in_string:
        return _in_string(view, strings) if strings else _before_string(view)
    return _outside(view, strings)


@dataclass(frozen=True, slots=True)
class _View:
    """Where a text's brackets and strings are. ``open``: places of what is not closed; ``started``/``ended``: quotes of
    the last string (-1 = none); ``last``: place of the last mark."""

    text: str
    open: tuple[int, ...]
    in_string: bool
    started: int
    ended: int
    last: int

    @classmethod
    def of(cls, text: str) -> _View | None:
        """None for a text that is no list and no object; raises NotJson for brackets that do not fit."""
        places = [match.start() for match in _MARKS.finditer(text)]
        if not places or text[places[0]] == '"':
            return None
        stack: list[int] = []
        in_string, started, ended = False, -1, -1
        for place in places:
            mark = text[place]
            if mark == '"':
                if not in_string:
                    in_string, started = True, place
                elif not escaped(text, place):
                    in_string, ended = False, place
            elif in_string:
                continue
            elif mark in _PARTNER:
                stack.append(place)
            elif not stack:
                raise Unpaired(text)
            elif _PARTNER[text[stack.pop()]] != mark:
                raise NotJson(text)
        return cls(text, tuple(stack), in_string, started, ended, places[-1])

    @property
    def inner(self) -> str:
        """The mark of the innermost that is open."""
        return self.text[self.open[-1]]

    def closing(self, without: int = 0) -> str:
        """What closes all that is open but the innermost ``without``."""
        kept = self.open[: len(self.open) - without]
        return "".join(_PARTNER[self.text[place]] for place in reversed(kept))

    def cut(self, end: int) -> str:
        return self.text[:end] + self.closing()

    def rest_finished(self, comma: int, strings: bool) -> str:
        """What stands behind a comma of the innermost, finished as if it were alone in it. Where nothing of it is left
        the comma goes too."""
        head, tail = parts(self.inner + self.text[comma + 1 :], strings)
        left = bool((head[1:] + tail[:-1]).strip())
        return self.text[: comma + left] + head[1:] + tail + self.closing(1)


def _in_string(view: _View, strings: bool) -> str:
    """The text ends inside a string, which is shown as far as it goes; a key is not."""
    text = view.text
    if view.inner == "[":
        return text[: view.started] + finished(text[view.started :], strings) + view.closing()
    start = max(view.ended, view.open[-1])
    between = text[start + 1 : view.started]
    if "," in between:
        comma = text.rindex(",", start, view.started)
        head, tail = parts("{" + text[comma + 1 :], strings)
        return text[:comma] + head[1:] + tail + view.closing(1)
    if ":" in between:
        return text[: view.started] + finished(text[view.started :], strings) + view.closing()
    return view.cut(view.started)


def _before_string(view: _View) -> str:
    """The text ends inside a string that is as good as not there: its member or element goes with it."""
    text, opened = view.text, view.open[-1]
    if opened > view.ended and view.inner == "{":
        return view.cut(opened + 1)
    comma = text.rfind(",", max(opened, view.ended) + 1, view.started)
    if comma != -1:
        return view.cut(comma)
    key = view.ended
    while True:
        key = text.rfind('"', opened, key) if key != -1 else text.rfind('"', opened, len(text) - 1)
        if key == -1:
            return view.cut(opened + 1)
        if escaped(text, key):
            key -= 1
            continue
        comma = text.rfind(",", opened, key)
        return view.cut(opened + 1 if comma == -1 else comma)


def _outside(view: _View, strings: bool) -> str:
    """The text ends outside of any string."""
    text, last = view.text, view.last
    comma = text.rfind(",", max(view.ended, last) + 1)
    if comma != -1:
        if not text[comma + 1 :].strip():
            return view.cut(comma)
        if view.inner != "[":
            raise NotJson(text)
        return view.rest_finished(comma, strings)
    if text[last] in "]}":
        if text[last + 1 :].strip():
            raise NotJson(text)
        return view.cut(len(text))
    if text[last] != '"':
        return text[:last] + finished(text[last:], strings) + view.closing(1)
    return view.cut(len(text)) if view.inner == "[" else _behind_string(view, strings)


def _behind_string(view: _View, strings: bool) -> str:
    """The last thing in an object is a string: a key with or without its colon, or a value."""
    text, opened = view.text, view.open[-1]
    colon = text.rfind(":", view.ended)
    comma = text.rfind(",", opened + 1, view.started)
    if comma == -1:
        return text[:opened] + finished(text[opened:], strings) + view.closing(1)
    if colon == -1:
        if text.rfind(":", max(opened, comma) + 1, view.started) != -1:
            return view.cut(len(text))
        head, tail = parts("{" + text[comma + 1 :], strings)
        gone = not (head[1:] + tail[:-1]).strip()
        return text[: comma + (not gone)] + head[1:] + tail + view.closing(1 if gone else 0)
    if colon <= comma:
        raise NotJson(text)
    return view.rest_finished(comma, strings)
