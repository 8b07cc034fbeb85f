"""The hermes tool parser from 0.20.2 on: <tool_call>{"name": ..., "arguments": ...}</tool_call>, found again in the
whole text at every step; what was sent before is not sent again.

Source: vllm/tool_parsers/hermes_tool_parser.py. Knows no ids, no reasoning and no choice of tools.
"""

from __future__ import annotations

import json
import re

from .deltas import Call, Delta
from .stream import Step

OPEN, CLOSE = "<tool_call>", "</tool_call>"
_CALLS = re.compile(r"<tool_call>(.*?)</tool_call>|<tool_call>(.*)", re.DOTALL)
_NAME = re.compile(r'"name"\s*:\s*"([^"]+)"')
_ARGUMENTS = re.compile(r'"arguments"\s*:\s*')


def whole_calls(text: str) -> tuple[list[tuple[str, str]] | None, str | None]:
    """The calls of a whole text (all versions): JSON that is broken or lacks a member leaves all of it as content."""
    if OPEN not in text:
        return None, text
    try:
        read = [json.loads(closed or unclosed) for closed, unclosed in _CALLS.findall(text)]
        calls = [(call["name"], json.dumps(call["arguments"], ensure_ascii=False)) for call in read]
        if not all(isinstance(name, str) for name, _ in calls):
            return None, text
    except (ValueError, KeyError, TypeError):
        return None, text
    return calls, text[: text.find(OPEN)] or None


class Hermes:
    """One stream."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self._parsed: list[str] = []
        self._named: list[bool] = []
        self._shown = 0

    @property
    def begun(self) -> bool:
        return bool(self.sent)

    def whole(self, text: str) -> tuple[list[tuple[str, str]] | None, str | None]:
        return whole_calls(text)

    def step(self, step: Step) -> Delta | None:
        content = self._content(step.so_far)
        calls: list[Call] = []
        for index, (body, complete) in enumerate(_bodies(step.so_far)):
            if index == len(self.sent):
                self.sent.append("")
                self._parsed.append("")
                self._named.append(False)
            if not self._named[index]:
                name = _NAME.search(body)
                if name is None:
                    break  # the next call waits until this one has its name
                self._named[index] = True
                calls.append(Call(index, {"name": name.group(1)}))
            fresh = self._fresh_arguments(index, body, complete)
            if fresh:
                calls.append(Call(index, {"arguments": fresh}))
        return {"content": content, "calls": calls} if content or calls else None

    def expected(self) -> tuple[int, str] | None:
        if not self.sent:
            return None
        sent, read = self.sent[-1], self._parsed[-1] or "{}"
        return len(self.sent) - 1, read if read.startswith(sent) else sent

    def finish(self) -> Delta | None:
        return None

    def _content(self, text: str) -> str | None:
        end = text.index(OPEN) if OPEN in text else len(text) - overlap(text, OPEN)
        if end <= self._shown:
            return None
        fresh, self._shown = text[self._shown : end], end
        return fresh

    def _fresh_arguments(self, index: int, body: str, complete: bool) -> str:
        found = _ARGUMENTS.search(body)
        if found is None:
            return ""
        arguments = body[found.end() :]
        if complete:
            arguments = arguments.rstrip()
            arguments = arguments[:-1].rstrip() if arguments.endswith("}") else arguments
        if len(arguments) <= len(self.sent[index]):
            return ""
        fresh = arguments[len(self.sent[index]) :]
        self.sent[index] = self._parsed[index] = arguments
        return fresh


def overlap(text: str, mark: str) -> int:
    """How many characters at the end of the text may be the beginning of the mark."""
    for length in range(min(len(mark) - 1, len(text)), 0, -1):
        if text.endswith(mark[:length]):
            return length
    return 0


def _bodies(text: str) -> list[tuple[str, bool]]:
    """The JSON of every call so far, and whether it is whole (closed by its mark, or valid as it stands)."""
    found: list[tuple[str, bool]] = []
    place = text.find(OPEN)
    while place >= 0:
        start = place + len(OPEN)
        end = text.find(CLOSE, start)
        if end < 0:
            rest = text[start:]
            held = overlap(rest, CLOSE)
            body = (rest[:-held] if held else rest).strip()
            found.append((body, bool(body) and _is_json(body)))
            break
        found.append((text[start:end].strip(), True))
        place = text.find(OPEN, end)
    return found


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
