"""What a scenario is, once read: frozen values that matching and composing work on.

A :class:`Scenario` is a row of :class:`Reply` values; the first whose :class:`When` holds answers. What a reply says
stands in :class:`Say` values, one for each kind of ``say:``; what the engine does with one choice in
:class:`ChoiceOptions`. Everything has been checked by the time it stands here. This module reads no file and knows no
layout; faults are names with parameters to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..generation import EngineFailure, Generation
from ..timing import Timing
from .rules import When

EMPTY: Mapping[str, Any] = MappingProxyType({})
ALWAYS = When()


@dataclass(frozen=True, slots=True)
class Score:
    """An explicit score: ``logprob`` None = withheld by the engine. ``rank`` None = drawn in keeping with it. ``top``:
    the alternatives as (id or piece, logprob) in rank order, None = drawn."""

    logprob: float | None
    rank: int | None = None
    top: tuple[tuple[int | str, float], ...] | None = None


Scores = tuple[Score, ...] | None
"""Explicit scores, one a token; None = auto (or recorded, where the tokens are)."""


@dataclass(frozen=True, slots=True)
class ChoiceOptions:
    """What the engine does with one choice.

    ``eos``: append the end token (None = when the finish reason is stop and the tokens do not end in one already).
    ``steps``: tokens per engine step, one number for all or a list. ``finish_at``: the engine reports its end after
    that many tokens; ``failure``: it fails there.
    """

    finish_reason: str | None = "stop"
    stop_reason: int | str | None = None
    finish_at: int | None = None
    eos: bool | None = None
    steps: int | tuple[int, ...] = 1
    scores: Scores = None
    failure: EngineFailure | None = None


@dataclass(frozen=True, slots=True)
class SayText:
    """Text, tokenised as the server's tokenizer does it. ``raw``: exactly this; otherwise it is content, and a server
    that expects reasoning first gets empty reasoning before it."""

    text: str
    options: ChoiceOptions = ChoiceOptions()
    raw: bool = True


@dataclass(frozen=True, slots=True)
class SayTokens:
    """A tokenisation of one's own: an int is an id, a str the piece of exactly one token."""

    tokens: tuple[int | str, ...]
    options: ChoiceOptions = ChoiceOptions()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model calls. ``arguments`` is a JSON value, or text that is written as it stands."""

    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class SayStructure:
    """Reasoning, content and tool calls; a :class:`~.voice.Voice` spells them as the model behind the server would."""

    reasoning: str | None
    content: str | None
    tool_calls: tuple[ToolCall, ...]
    options: ChoiceOptions = ChoiceOptions()


@dataclass(frozen=True, slots=True)
class SayAuto:
    """Plausible text. ``tokens``: how many, the end token included (None = a sentence or two). ``from_request``: the
    text takes up words of the request and differs from request to request."""

    tokens: int | None = None
    from_request: bool = False
    options: ChoiceOptions = ChoiceOptions()


@dataclass(frozen=True, slots=True)
class SayRecorded:
    """Recorded truth, one Generation per prompt of the recorded request. ``prompt``: answer with the recorded prompt
    ids instead of those of the request. ``rescore``: keep the tokens and give them auto scores."""

    generations: tuple[Generation, ...]
    prompt: bool = True
    rescore: bool = False


@dataclass(frozen=True, slots=True)
class SayChoices:
    """What each choice of n > 1 says; more choices than entries begin again and vary."""

    choices: tuple[SayText | SayTokens | SayStructure | SayAuto, ...]


SayOne = SayText | SayTokens | SayStructure | SayAuto
Say = SayOne | SayRecorded | SayChoices


@dataclass(frozen=True, slots=True)
class FaultUse:
    """A fault that a reply asks for. ``call``: what the fault registry made of it, None when none was given."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    call: Any = None

    def to_entry(self) -> str | dict[str, Any]:
        """The entry of ``faults:`` that asks for the same."""
        return {self.name: dict(self.parameters)} if self.parameters else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer and when it is given.

    ``times``: how often (the whole row, where there is a ``then``), None = without limit. ``then``: what follows, one a
    matching request, after ``say``. ``where``: file and line. ``top``: alternatives that the truth holds at least,
    also when a request asks for fewer.
    """

    say: Say
    when: When = ALWAYS
    faults: tuple[FaultUse, ...] = ()
    times: int | None = None
    then: tuple[Reply, ...] = ()
    timing: Timing | None = None
    top: int = 0
    prompt_token_ids: tuple[int, ...] | None = None
    prompt_scores: Scores = None
    weight_version: str | None = None
    cached_tokens: int | None = None
    extras: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    where: str = ""

    @property
    def limit(self) -> int | None:
        """How many requests this reply answers in all, None = any number."""
        if self.times is None:
            return None
        return self.times * (1 + len(self.then))

    def at(self, turn: int) -> Reply:
        """The reply that is given at place ``turn`` of the row: 0 is ``say``, 1 the first of ``then``."""
        return self if turn == 0 else self.then[turn - 1]


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The ``server:`` section. ``options``: the vendor's own command line, as words. ``env``: environment variables
    that change the wire. Whatever the real command line says wins over it."""

    layout: str | None = None
    model: str | None = None
    options: tuple[str, ...] = ()
    tokenizer: str | None = None
    env: Mapping[str, str] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A named script. ``folder``: where ``from:`` paths start, None for a scenario that came from no file."""

    name: str
    replies: tuple[Reply, ...]
    title: str | None = None
    why: str | None = None
    server: ServerSettings = ServerSettings()
    file: str | None = None
    folder: Path | None = None

    @property
    def counts_calls(self) -> bool:
        """Whether a reply depends on the number of the call, so that every request must be matched anew."""
        return any(condition.field == "call" for reply in self.replies for condition in reply.when.conditions)
