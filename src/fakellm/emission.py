"""What an engine does between sampling and serving: where the answer ends, and which text each step makes visible.

``decode`` takes the truth of one choice and the sampling part of a request and gives an :class:`EmittedChoice`: the
tokens that are kept, the steps that deliver them, the text that each step shows (incremental detokenisation, stop
strings with hold-back) and why it ended. Vendors differ in a few knobs (:class:`EngineRules`). This module knows no
request body, no wire and no clock; due times come in as a function of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .ask import Sampling
from .detokenizer import Detokenizer
from .generation import Choice, EngineFailure, Token
from .tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class EngineRules:
    """How one vendor's engine differs. ``trim_after_stop``: tokens of a step after the one that completed a stop string
    are dropped (vLLM 0.32) or kept (vLLM up to 0.28). ``interval``: steps are joined until so many tokens are there
    (vLLM ``stream_interval``; the first and the last leave at once). ``fails``: an engine error ends the answer as a
    failure (True) or is played on as if nothing had happened (vLLM up to 0.12). ``holds_prefix``: only characters that
    may begin a stop string are held back (Dynamo), not always as many as a stop string may still need (vLLM)."""

    trim_after_stop: bool = True
    interval: int = 1
    fails: bool = True
    holds_prefix: bool = False


@dataclass(frozen=True, slots=True)
class EmittedStep:
    """One delivery: the half-open span of tokens, the newly visible text, and the end when this step is the last."""

    tokens: tuple[int, int]
    text: str
    finish_reason: str | None = None
    stop_reason: int | str | None = None
    due_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class EmittedChoice:
    """What the server has to tell of one choice. ``finish_reason`` None only when the engine failed (``failure``)."""

    tokens: tuple[Token, ...]
    steps: tuple[EmittedStep, ...]
    text: str
    finish_reason: str | None
    stop_reason: int | str | None
    failure: EngineFailure | None = None


@dataclass(frozen=True, slots=True)
class _End:
    count: int
    finish_reason: str | None
    stop_reason: int | str | None
    hides_last: bool = False


def immediately(step: int) -> float:
    """Every step is due at once."""
    return 0.0


def decode(
    choice: Choice,
    sampling: Sampling,
    prompt_token_ids: Sequence[int],
    tokenizer: Tokenizer,
    *,
    rules: EngineRules = EngineRules(),
    token_limit: int | None = None,
    due: Callable[[int], float] = immediately,
) -> EmittedChoice:
    """Play a choice as the engine would for this request.

    ``token_limit``: room left in the context (tokens), beside ``sampling.max_tokens``. ``due``: step number -> ms.
    Never changes the truth: the result shares its Token objects.
    """
    end = _engine_end(choice, sampling, tokenizer, token_limit)
    writer = _Writer(sampling, prompt_token_ids, tokenizer, rules)
    steps: list[EmittedStep] = []
    pending = (0, "", 0.0)
    position = 0
    for number, size in enumerate(choice.steps or (0,)):
        if position >= end.count and steps and not (size == 0 and position == len(choice.tokens)):
            break
        first, position = position, min(position + size, end.count)
        last = position >= end.count and _is_last(choice, number, position, end.count)
        ids = [token.id for token in choice.tokens[first:position]]
        stopped = writer.push(ids, ended_by_id=last and end.hides_last)
        if stopped is not None:
            first_unsent = pending[0]
            position = first + stopped.kept
            text = pending[1] + writer.take(finished=True)
            steps.append(EmittedStep((first_unsent, position), text, "stop", stopped.text, due(number)))
            end = _End(position, "stop", stopped.text)
            break
        text = pending[1] + writer.take(finished=last)
        if last:
            steps.append(EmittedStep((pending[0], position), text, end.finish_reason, end.stop_reason, due(number)))
            break
        if rules.interval > 1 and steps and position - pending[0] < rules.interval:
            pending = (pending[0], text, 0.0)
            continue
        steps.append(EmittedStep((pending[0], position), text, due_ms=due(number)))
        pending = (position, "", 0.0)
    failed = choice.finish_reason == "error" and end.finish_reason == "error" and rules.fails
    if failed:
        told = [step for step in steps if step.finish_reason is None]  # the step that fails is not told
        shown = told[-1].tokens[1] if told else 0
        failure = choice.failure or EngineFailure("Internal server error", 500)
        return EmittedChoice(choice.tokens[:shown], tuple(told), writer.text, None, None, failure)
    return EmittedChoice(
        choice.tokens[: end.count], tuple(steps), writer.text, end.finish_reason, end.stop_reason, None
    )


def _is_last(choice: Choice, number: int, position: int, count: int) -> bool:
    """The step that reports the end: the one that reaches the last token, or a tokenless one that follows it."""
    if position < len(choice.tokens):
        return True
    return all(size != 0 for size in choice.steps[number + 1 :])


def _engine_end(choice: Choice, sampling: Sampling, tokenizer: Tokenizer, token_limit: int | None) -> _End:
    """Where ids alone end the answer: eos, stop ids, max_tokens, or what the engine itself reported."""
    eos = tokenizer.eos_ids[0] if tokenizer.eos_ids else None
    secondary = () if sampling.ignore_eos else tokenizer.eos_ids[1:]
    stop_ids = frozenset((*sampling.stop_token_ids, *secondary))
    limits = [limit for limit in (sampling.max_tokens, token_limit) if limit is not None]
    limit = min(limits) if limits else None
    for count, token in enumerate(choice.tokens, 1):
        if choice.finish_at is not None and count > choice.finish_at:
            return _End(count - 1, choice.finish_reason, choice.stop_reason)
        if count >= sampling.min_tokens:
            if token.id == eos and not sampling.ignore_eos:
                return _End(count, "stop", None, hides_last=not sampling.include_stop)
            if token.id in stop_ids:
                return _End(count, "stop", token.id, hides_last=not sampling.include_stop)
        if limit is not None and count >= limit:
            return _End(count, "length", None)
    return _End(len(choice.tokens), choice.finish_reason or "length", choice.stop_reason)


@dataclass(frozen=True, slots=True)
class _Stopped:
    text: str
    kept: int


class _Writer:
    """The detokenizer with its stop strings: text grows, the last characters are held back while a stop may begin.

    Only the end of the text is at hand (``_open``, from character ``_settled`` on): what was shown and is too old for a
    stop string to begin in is put away in pieces, so that a long answer costs no copy of itself per token.
    """

    def __init__(
        self, sampling: Sampling, prompt_token_ids: Sequence[int], tokenizer: Tokenizer, rules: EngineRules
    ) -> None:
        self._pieces: list[str] = []
        self._settled = 0
        self._open = ""
        self._detokenizer = Detokenizer(tokenizer, prompt_token_ids, skip_special_tokens=sampling.skip_special_tokens)
        self._stops = tuple(stop for stop in sampling.stop if stop)
        self._include = sampling.include_stop
        self._min_tokens = sampling.min_tokens
        self._trim = rules.trim_after_stop
        self._holds_prefix = rules.holds_prefix
        self._sent = 0
        self._tokens = 0
        self._longest = max((len(stop) for stop in self._stops), default=1)
        self._hold = 0 if sampling.include_stop else self._longest - 1

    @property
    def text(self) -> str:
        """The whole text so far."""
        return "".join(self._pieces) + self._open

    @property
    def _length(self) -> int:
        return self._settled + len(self._open)

    def push(self, ids: Sequence[int | None], *, ended_by_id: bool) -> _Stopped | None:
        """Take the ids of one step; a stop string that they complete ends the answer."""
        shown = len(ids) - 1 if ended_by_id and ids else len(ids)
        if not self._stops:
            self._open += self._detokenizer.push([token_id for token_id in ids[:shown] if token_id is not None])
            self._tokens += len(ids)
            return None
        if self._trim:
            for place in range(shown):
                stopped = self._search(ids[place : place + 1], place + 1)
                if stopped is not None:
                    return stopped
            self._tokens += len(ids) - shown
            return None
        stopped = self._search(ids[:shown], len(ids))
        self._tokens += len(ids) - shown
        return stopped

    def _search(self, ids: Sequence[int | None], kept: int) -> _Stopped | None:
        checked_from = self._length
        for token_id in ids:
            self._tokens += 1
            if token_id is not None:
                self._open += self._detokenizer.push([token_id])
            if self._tokens <= self._min_tokens:
                checked_from = self._length
        fresh = self._length - checked_from
        if not fresh or self._tokens <= self._min_tokens:
            return None
        for stop in self._stops:
            start = max(0, len(self._open) - fresh - len(stop) + 1)
            found = self._open.find(stop, start)
            if found >= 0:
                self._open = self._open[: found + len(stop)] if self._include else self._open[:found]
                return _Stopped(stop, kept)
        return None

    def take(self, *, finished: bool) -> str:
        """The text that may be shown now and was not shown before."""
        until = self._length if finished else self._length - self._held()
        if until <= self._sent:
            return ""
        fresh = self._open[self._sent - self._settled : until - self._settled]
        self._sent = until
        self._settle()
        return fresh

    def _settle(self) -> None:
        """Put away what was shown, but for the characters in which a stop string may have begun."""
        old = min(self._sent - self._settled, len(self._open) - self._longest)
        if old >= 256:
            self._pieces.append(self._open[:old])
            self._open = self._open[old:]
            self._settled += old

    def _held(self) -> int:
        """How many characters at the end wait for what comes."""
        if not self._holds_prefix or not self._hold:
            return self._hold
        if self._tokens < self._min_tokens:
            return 0
        lengths = range(min(self._hold, self._length - self._sent), 0, -1)
        return next(
            (length for length in lengths if any(stop.startswith(self._open[-length:]) for stop in self._stops)), 0
        )
