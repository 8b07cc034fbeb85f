"""What is about to be told, before any layout puts it into words: the copy on which meaning faults work.

A :class:`Told` is made from a Generation by ``emission`` and the layout's own token spelling, without losses. Ids and
scores are kept in sequences of their own, so that a fault can drop, shift or double one and leave the other; every
step says which span of each it delivers. Types are loose where faults must be able to lie (an id may become a
string). Renderers read only this, never the Generation. This module knows no vendor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

EMPTY: Mapping[str, Any] = MappingProxyType({})
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Score:
    """One logprob entry. ``token``: its text as the vendor spells it; ``bytes``: as given (None = null);
    ``top``: the alternatives in the vendor's own order (None = null); ``asked``: ids asked for by number."""

    id: Any
    token: str
    bytes: tuple[int, ...] | None
    logprob: float | None
    rank: int | None = None
    top: tuple[Score, ...] | None = ()
    asked: tuple[Score, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of parsed output: kind reasoning | content | tool. For tools: ``tool_index``, ``name`` (on the first
    piece of a call), ``text`` (a piece of the arguments). ``marks``: what a vendor's parser writes beyond the values:
    ``null`` = the key of this kind stands there with nothing in it; ``arguments``, ``name``, ``id`` = this key of a
    call is written although it is empty or null; ``own-id`` = the parser makes the call's id itself."""

    kind: str
    text: str = ""
    tool_index: int | None = None
    name: str | None = None
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToldStep:
    """What one engine step delivers: ``ids`` and ``scores`` are half-open spans into the choice's sequences; ``text``
    is the newly visible raw text; ``parts`` the parser's view of it (None = no parser). ``tokens``: the span of the
    truth's tokens it stems from. ``due_ms``: when it leaves, counted from the request. ``reasoning_tokens``: how many
    there were up to and with this step (None = nobody counts)."""

    tokens: Span
    ids: Span
    scores: Span
    text: str = ""
    parts: tuple[Part, ...] | None = None
    finish_reason: str | None = None
    stop_reason: int | str | None = None
    due_ms: float = 0.0
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ToldChoice:
    """One choice. ``ids`` / ``scores`` None = not there at all. ``text``: the whole visible raw text; ``parts``: the
    whole of the parser's view. ``failure``: the engine failed after the last step."""

    index: int
    ids: tuple[Any, ...] | None
    scores: tuple[Score | None, ...] | None
    text: str
    steps: tuple[ToldStep, ...]
    finish_reason: str | None
    stop_reason: int | str | None = None
    parts: tuple[Part, ...] | None = None
    failure: Any = None
    extras: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class ToldPrompt:
    """One prompt: its ids, its scores (first None), its text."""

    token_ids: tuple[Any, ...] | None
    scores: tuple[Score | None, ...] | None = None
    text: str | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as they will be told; None = absent."""

    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """Everything an answer may show. Choice ``index`` belongs to prompt ``index // n``."""

    prompts: tuple[ToldPrompt, ...]
    choices: tuple[ToldChoice, ...]
    usage: Usage
    n: int = 1
    weight_version: str | None = None
    extras: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    def with_choices(self, choices: tuple[ToldChoice, ...]) -> Told:
        return replace(self, choices=choices)

    def prompt_of(self, choice: ToldChoice) -> ToldPrompt:
        return self.prompts[min(choice.index // max(self.n, 1), len(self.prompts) - 1)]
