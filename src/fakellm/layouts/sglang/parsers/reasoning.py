"""SGLang's reasoning parsers: text between two markers is reasoning, what follows is content.

A marker that may just be beginning is waited for. Whether an answer starts inside the reasoning depends on the parser's
kind and on the request's chat_template_kwargs. Pure; knows no wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Manner:
    """One parser by name. ``starts``: always | never | the template variable that switches it off when false (or, with
    ``explicit``, on when true)."""

    begin: str = "<think>"
    end: str = "</think>"
    starts: str = "enable_thinking"
    explicit: bool = False


MANNERS: Mapping[str, Manner] = {
    "deepseek-r1": Manner(starts="always"),
    "step3": Manner(starts="always"),
    "step3p5": Manner(starts="always"),
    "gigachat35": Manner(starts="always"),
    "qwen3": Manner(),
    "qwen3-thinking": Manner(starts="always"),
    "minimax": Manner(starts="always"),
    "nanbeige": Manner(),
    "interns1": Manner(),
    "dots": Manner(),
    "glm45": Manner(),
    "nemotron_3": Manner(),
    "deepseek-v3": Manner(starts="thinking", explicit=True),
    "deepseek-v4": Manner(starts="thinking", explicit=True),
    "kimi": Manner(begin="◁think▷", end="◁/think▷", starts="never"),
    "kimi_k2": Manner(starts="thinking"),
}
"""The parsers that are imitated."""


def starts_inside(manner: Manner, variables: Mapping[str, Any] | None) -> bool:
    """Whether the answer begins as reasoning for a request with these chat_template_kwargs."""
    if manner.starts in ("always", "never"):
        return manner.starts == "always"
    value = (variables or {}).get(manner.starts)
    return value is True if manner.explicit else value is not False


class ReasoningParser:
    """Splits one answer. ``stream_reasoning`` False: reasoning is told in one piece, when it ends."""

    def __init__(self, manner: Manner, *, inside: bool, stream_reasoning: bool = True, flushes: bool = True) -> None:
        self._manner = manner
        self._inside = inside
        self._stream = stream_reasoning
        self._flushes = flushes
        self._begun = False
        self._buffer = ""

    def whole(self, text: str) -> tuple[str, str]:
        """(reasoning, content) of a whole answer."""
        begin, end = self._manner.begin, self._manner.end
        if not self._inside and begin not in text:
            return "", text
        while text.startswith(begin):
            text = text[len(begin) :]
        reasoning, found, content = text.partition(end)
        return (reasoning, content) if found else (text, "")

    def push(self, text: str) -> tuple[str, str]:
        """(reasoning, content) that these characters make certain."""
        begin, end = self._manner.begin, self._manner.end
        self._buffer += text
        current = self._buffer
        if any(marker.startswith(current) and marker != current for marker in (begin, end)):
            return "", ""
        if not self._begun and begin in current:
            current = self._buffer = current.replace(begin, "", 1)
            self._begun = self._inside = True
        if not self._inside:
            self._buffer = ""
            return "", current
        if end in current:
            reasoning, _, content = current.partition(end)
            self._buffer, self._inside = "", False
            return reasoning, content
        if not self._stream:
            return "", ""
        held = self._held(current) if self._flushes else 0
        shown = current[: len(current) - held]
        self._buffer = current[len(current) - held :]
        return shown, ""

    def finish(self) -> tuple[str, str]:
        """What was still held back when the answer ended."""
        left, self._buffer = self._buffer, ""
        if not self._flushes:
            return "", ""
        if not self._inside:
            return "", left
        return left.removeprefix(self._manner.begin), ""

    def _held(self, text: str) -> int:
        markers = [self._manner.end] if self._begun else [self._manner.end, self._manner.begin]
        return max(begun_at_end(text, marker) for marker in markers)


def begun_at_end(text: str, marker: str) -> int:
    """How many characters at the end of a text may be the beginning of a marker (never all of it)."""
    for length in range(min(len(text), len(marker) - 1), 0, -1):
        if marker.startswith(text[-length:]):
            return length
    return 0
