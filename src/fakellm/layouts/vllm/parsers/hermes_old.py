"""The hermes tool parser up to 0.16: it counts marks, reads the call's JSON as far as it goes, and sends step texts.

What a step adds to the arguments is not computed but searched for, which loses and distorts pieces when steps and JSON
do not fall together: that is how these versions behave. Source: hermes_tool_parser.py of 0.10.2, 0.12 and 0.16.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from ....tokenizer import Tokenizer
from ...partial_json import NotJson, read_partial
from .deltas import Call, Delta
from .hermes import CLOSE, OPEN, whole_calls
from .stream import Step


class OldHermes:
    """One stream. ``exact``: arguments are first sent as they were written (from 0.12); before, as json.dumps spells
    them, without the last two characters."""

    def __init__(self, tokenizer: Tokenizer, *, exact: bool) -> None:
        self._exact = exact
        self._marks = [
            [tokenizer.piece(token_id).decode("utf-8", "replace") for token_id in tokenizer.encode(mark)]
            for mark in (OPEN, CLOSE)
        ]
        self._held = ""
        self._current = -1
        self._name_sent = False
        self._open = OpenString()
        self.read: list[dict[str, Any]] = []
        self.sent: list[str] = []

    @property
    def begun(self) -> bool:
        return bool(self.read)

    def whole(self, text: str) -> tuple[list[tuple[str, str]] | None, str | None]:
        return whole_calls(text)

    def step(self, step: Step) -> Delta | None:
        fresh = self._buffered(step.text)
        before, so_far, held = step.before, step.so_far, self._held
        if (before[-len(held) :] if held else before) == held:
            before = before[: -len(held)] if held else ""
            so_far = before + fresh
        if OPEN not in so_far:
            return {"content": fresh}
        try:
            return self._call_step(fresh, before, so_far, step.ids)
        except (ValueError, LookupError, TypeError, AttributeError):
            return None  # the server logs it and sends nothing

    def expected(self) -> tuple[int, str] | None:
        if not self.read:
            return None
        self._settle()
        return len(self.read) - 1, json.dumps(self.read[-1].get("arguments", {}), ensure_ascii=False)

    def _settle(self) -> None:
        """Read what was only known to go on."""
        if self._open.unread:
            self.read[-1] = read_partial(self._open.body)[0]
        self._open.begin("")

    def finish(self) -> Delta | None:
        return None

    def _buffered(self, text: str) -> str:
        """Pieces of a mark wait until its last piece, or something else, comes."""
        if any(text in pieces for pieces in self._marks) and not any(text == pieces[-1] for pieces in self._marks):
            self._held += text
            return ""
        held, self._held = self._held, ""
        return held + text

    def _call_step(self, fresh: str, before: str, so_far: str, ids: Sequence[int]) -> Delta | None:
        opened, closed = so_far.count(OPEN), so_far.count(CLOSE)
        opened_before, closed_before = before.count(OPEN), before.count(CLOSE)
        closes = CLOSE in fresh
        if opened == closed == closed_before and not closes:
            return {"content": fresh}
        body: str | None = None
        beside: str | None = None
        if closes:
            body = (so_far + fresh).split(OPEN)[-1].split(CLOSE)[0].rstrip()
            fresh = fresh.split(CLOSE)[0].rstrip()
            beside = fresh.lstrip()
        flags_strings = self._name_sent
        if opened > closed and opened > opened_before:
            body = so_far.split(OPEN)[-1] if len(ids) > 1 else None
            beside = None
            self._settle()
            self._current += 1
            self._name_sent = False
            self.sent.append("")
        elif opened > closed and opened == opened_before:
            body, beside = so_far.split(OPEN)[-1], None
        elif opened == closed and closed >= closed_before:
            if not self.read:
                return None
            if self.read[self._current].get("arguments"):
                return self._rest(fresh)
        else:
            return {"calls": [], "content": fresh.replace(OPEN, "").replace(CLOSE, "")}
        return self._parsed(body, beside, fresh, strings=flags_strings)

    def _rest(self, fresh: str) -> Delta | None:
        """The closing mark came: what stands before it, up to the last end of a string, is sent."""
        if '"}' not in fresh:
            return None
        return self._send(fresh[: fresh.rindex('"}')] + '"}')

    def _parsed(self, body: str | None, beside: str | None, fresh: str, *, strings: bool) -> Delta | None:
        told = self._name_sent and self._current == len(self.read) - 1 and self.read[-1].get("arguments")
        if body and told and self._open.goes_on(body):
            cut = not self._exact and fresh.rstrip().endswith("}")
            return self._send(fresh.rstrip()[:-1] if cut else fresh)
        call: Any = None
        if body:
            try:
                call, end, _ = read_partial(body, strings=strings)
            except NotJson:
                return None
            if body[end:].strip():
                return None
            self._open.begin(body if _has_arguments(call) else "")
        if not self._name_sent:
            name = call.get("name") if call is not None else None
            if not name:
                return None
            self._name_sent = True
            return {"calls": [Call(self._current, {"name": name})]}
        if body is None:
            return {"content": fresh} if beside is not None else None
        if len(self.read) <= self._current:
            self.read.append({})
        delta = self._arguments(cast("dict[str, Any]", call), body, fresh)
        if delta is _SKIPPED:
            return None
        if self._current == len(self.read) - 1:
            self.read[self._current] = call
        else:
            self.read.append(call)
        return delta

    def _arguments(self, call: dict[str, Any], body: str, fresh: str) -> Delta | None:
        earlier, now = self.read[self._current].get("arguments"), call.get("arguments")
        if not now:
            return None
        if not earlier:
            return self._first_arguments(call, body, fresh)
        if fresh.rstrip().endswith("}") and (not self._exact or _is_json(body)):
            fresh = fresh.rstrip()[:-1]
        return self._send(fresh)

    def _first_arguments(self, call: dict[str, Any], body: str, fresh: str) -> Delta | None:
        written = json.dumps(call["arguments"], ensure_ascii=False)
        if self._exact:
            pattern = r'\{"name":\s*"' + re.escape(call["name"]) + r'"\s*,\s*"arguments":\s*(.*)'
            found = re.search(pattern, body.strip(), re.DOTALL)
            written = found.group(1) if found else written
        else:
            written = written[:-2]
        if fresh not in written:
            return _SKIPPED
        return self._send(written[: written.rindex(fresh) + len(fresh)])

    def _send(self, arguments: str) -> Delta:
        self.sent[self._current] += arguments
        return {"calls": [Call(self._current, {"arguments": arguments})]}


class OpenString:
    """Whether a call's JSON only goes on with the string in which it ended when it was last read: to read it again
    would show nothing but more of that string, and a long text would be read once a token. ``unread``: it went on."""

    def __init__(self) -> None:
        self.body = ""
        self.unread = False
        self._checked = 0

    def begin(self, body: str) -> None:
        """The JSON as it was read; "" where it has no arguments yet."""
        start = 0
        for found in _QUOTE.finditer(body):
            if found.group() == '"':
                start = 0 if start else found.end()
        self.body, self.unread, self._checked = body if start else "", False, start

    def goes_on(self, body: str) -> bool:
        """Take the JSON as it is now; does it end in that string, or in the middle of an escape there?"""
        if not self.body or not body.startswith(self.body):
            return False
        found = _INSIDE.match(body, self._checked)
        if found is None or not _HALF.fullmatch(body, found.end()):
            return False
        self.body, self.unread, self._checked = body, True, found.end()
        return True


_QUOTE = re.compile(r'\\.|"', re.DOTALL)
_HALF = re.compile(r"(?:\\(?:u[0-9a-fA-F]{0,3})?)?")
_INSIDE = re.compile(r'(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')


def _has_arguments(call: Any) -> bool:
    """Whether a call has members or elements in its arguments, which more text in a string cannot take away."""
    arguments: Any = cast("dict[str, Any]", call).get("arguments") if isinstance(call, dict) else None
    return isinstance(arguments, dict | list) and bool(cast("Any", arguments))


_SKIPPED: Delta = {}
"""The step is left out before the state is saved."""


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
