"""SGLang's reasoning parsers: text between two markers is reasoning, what follows is content.

A marker that may just be beginning is waited for. Whether an answer starts inside the reasoning depends on the parser's
kind and on the request's template variables; with some parsers the marker of a tool call ends it too. Pure; knows no
wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..traits import Span, Trait, Traits

_ALWAYS = Span(None, None, "")


_SINCE_17 = Span((0, 5, 17), None, "")


def _from(last: int) -> Span:
    return Span((0, 5, last), None, "")


@dataclass(frozen=True, slots=True)
class Manner:
    """One parser by name. ``starts``: always | never | the template variable that switches it off when false (or, with
    ``explicit``, on when true). ``call``: the marker of a tool call that ends the reasoning, in the versions of
    ``called``. ``span``: the versions that have the parser as it is here."""

    begin: str = "<think>"
    end: str = "</think>"
    starts: str = "enable_thinking"
    explicit: bool = False
    call: str = "<tool_call>"
    called: Span = _SINCE_17
    span: Span = _ALWAYS


def _plain(span: Span = _ALWAYS) -> Manner:
    return Manner(starts="always", call="", span=span)


MANNERS: Mapping[str, Manner] = MappingProxyType(
    {
        "deepseek-r1": _plain(),
        "step3": _plain(),
        "step3p5": _plain(_from(9)),
        "gigachat35": _plain(_from(23)),
        "qwen3": Manner(),
        "qwen3-thinking": Manner(starts="always"),
        "minimax": Manner(starts="always", span=_from(6)),
        "nanbeige": Manner(span=_from(20)),
        "interns1": Manner(span=_from(9)),
        "dots": Manner(span=_from(20)),
        "glm45": Manner(called=_from(10)),
        "nemotron_3": Manner(span=_from(17)),
        "deepseek-v3": Manner(starts="thinking", explicit=True),
        "deepseek-v4": Manner(
            starts="thinking",
            explicit=True,
            call="<｜DSML｜",
            called=Span((0, 5, 18), (0, 5, 23), ""),
            span=Span((0, 5, 12), (0, 5, 23), ""),
        ),
        "kimi": Manner(begin="◁think▷", end="◁/think▷", starts="never", call=""),
        "kimi_k2": Manner(starts="thinking", call="<|tool_calls_section_begin|>", called=_from(10), span=_from(6)),
    }
)
"""The parsers that are imitated."""


def starts_inside(manner: Manner, variables: Mapping[str, Any] | None, traits: Traits) -> bool:
    """Whether the answer begins as reasoning for a request with these template variables."""
    if manner.starts in ("always", "never"):
        return manner.starts == "always"
    value = (variables or {}).get(manner.starts)
    if not traits.has(Trait.REASONING_BY_DEFAULT):
        return manner is MANNERS["kimi_k2"] or bool(value)
    return value is True if manner.explicit else value is not False


class ReasoningParser:
    """Splits one answer. ``stream_reasoning`` False: reasoning is told in one piece, when it ends. ``previous``: the
    text that the answer continues. ``nonempty``: an answer that never leaves its reasoning is content."""

    def __init__(
        self,
        manner: Manner,
        traits: Traits,
        *,
        inside: bool,
        stream_reasoning: bool = True,
        previous: str = "",
        nonempty: bool = False,
    ) -> None:
        self._manner = manner
        self._traits = traits
        self._call = manner.call if manner.called.holds(traits.version) else ""
        self._ended = manner.end in previous
        self._inside = (inside or manner.begin in previous) and not self._ended
        self._stream = stream_reasoning
        self._nonempty = nonempty
        self._reasoned = ""
        self._begun = False
        self._buffer = ""

    def whole(self, text: str) -> tuple[str, str]:
        """(reasoning, content) of a whole answer."""
        reasoning, content = self._split(text)
        return (content, reasoning) if self._nonempty and not content else (reasoning, content)

    def _split(self, text: str) -> tuple[str, str]:
        begin, end = self._manner.begin, self._manner.end
        if not self._inside and begin not in text:
            return "", text
        stripped = self._traits.has(Trait.REASONING_STRIPPED)
        if stripped:
            text = text.replace(begin, "").strip()
        else:
            while text.startswith(begin):
                text = text[len(begin) :]
        reasoning, ended, content = text.partition(end)
        if ended:
            return reasoning, content.strip() if stripped else content
        if self._ended:
            return "", text
        place = text.find(self._call) if self._call else -1
        if place < 0:
            return text, ""
        return text[:place].strip() if stripped else text[:place], text[place:]

    def push(self, text: str) -> tuple[str, str]:
        """(reasoning, content) that these characters make certain."""
        reasoning, content = self._grow(text)
        self._reasoned = self._reasoned + reasoning if self._inside else ""
        return reasoning, content

    def _grow(self, text: str) -> tuple[str, str]:
        self._buffer += text
        current = self._buffer
        marks = (self._manner.begin, self._manner.end, self._call)
        if any(mark.startswith(current) and mark != current for mark in marks if mark):
            return "", ""
        if not self._begun and self._manner.begin in current:
            current = self._without_begin(current)
        if not self._inside:
            self._buffer = ""
            return "", current
        reasoning, ended, content = current.partition(self._manner.end)
        if ended:
            self._buffer, self._inside = "", False
            return reasoning.rstrip() if self._traits.has(Trait.REASONING_STRIPPED) else reasoning, content
        place = current.find(self._call) if self._call else -1
        if place >= 0:
            self._buffer, self._inside = "", False
            return current[:place], current[place:]
        if not self._stream:
            return "", ""
        place = len(current) - self._held(current)
        self._buffer = current[place:]
        return current[:place], ""

    def finish(self) -> tuple[str, str]:
        """What was still held back when the answer ended."""
        if self._nonempty and self._inside:
            left, self._buffer = self._buffer.removeprefix(self._manner.begin), ""
            return "", self._reasoned + left
        held = self._traits.has(Trait.REASONING_HELD)
        if not self._traits.has(Trait.REASONING_FLUSH) or not (held or (self._inside and not self._stream)):
            return "", ""
        left, self._buffer = self._buffer, ""
        return (left.removeprefix(self._manner.begin), "") if self._inside else ("", left)

    def _without_begin(self, current: str) -> str:
        """The text without the marker that opened the reasoning."""
        times = 1 if self._traits.has(Trait.REASONING_BEGINS_ONCE) else -1
        current = current.replace(self._manner.begin, "", times)
        if self._traits.has(Trait.REASONING_HELD):
            self._buffer = current
        self._begun = self._inside = True
        return current

    def _held(self, text: str) -> int:
        """How many characters at the end may be the beginning of a marker."""
        if not self._traits.has(Trait.REASONING_HELD):
            return 0
        marks = [self._manner.end, self._call] if self._begun else [self._manner.end, self._call, self._manner.begin]
        return max(begun_at_end(text, mark) for mark in marks if mark)


def begun_at_end(text: str, marker: str) -> int:
    """How many characters at the end of a text may be the beginning of a marker (never all of it)."""
    for length in range(min(len(text), len(marker) - 1), 0, -1):
        if marker.startswith(text[-length:]):
            return length
    return 0
