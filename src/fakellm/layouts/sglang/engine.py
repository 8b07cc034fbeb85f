"""Where SGLang's engine ends an answer, and in which deliveries it leaves: the scheduler's side of a request.

``play`` takes the truth of one choice and the limits of a request and gives the deliveries: spans of ids and scores,
the newly visible text, the end. Stop strings are looked for in the decoded tail of the ids; a step whose tail may
begin a stop string is kept back and leaves with the next one. Never changes the truth; knows no request body and no
wire.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ...generation import Choice, EngineFailure
from ...pattern import Pattern
from ...tokenizer import Tokenizer
from .call import Limits
from .detokenize import Detokenizer
from .traits import Trait, Traits

ABORTED = EngineFailure("Aborted", None)
"""What an answer says that somebody aborted."""

_FAILED = EngineFailure("Internal server error", 500)


@dataclass(frozen=True, slots=True)
class End:
    """Why an answer ended. ``reason``: stop | length | abort; ``matched``: the stop id or string; ``kept``: how many
    ids belong to the answer; ``failure``: what an abort says."""

    reason: str
    kept: int
    matched: int | str | None = None
    failure: EngineFailure | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """What leaves together: half-open spans of ids and scores, the newly visible text, the end when it is the last."""

    ids: tuple[int, int]
    scores: tuple[int, int]
    text: str
    end: End | None = None
    due_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Played:
    """All deliveries of a choice; ``text`` is their texts joined."""

    deliveries: tuple[Delivery, ...]
    text: str
    end: End


def immediately(step: int) -> float:
    """Every step is due at once."""
    return 0.0


def play(
    choice: Choice,
    limits: Limits,
    prompt_ids: Sequence[int],
    tokenizer: Tokenizer,
    traits: Traits,
    *,
    stream: bool,
    room: int,
    interval: int = 1,
    due: Callable[[int], float] = immediately,
) -> Played:
    """Play a choice as the engine would for this request. ``room``: tokens left in the context; ``due``: step -> ms."""
    cap = room if limits.max_new_tokens is None else min(limits.max_new_tokens, room)
    judge = _Judge(choice, limits, tokenizer, traits, cap)
    writer = Detokenizer(
        tokenizer,
        prompt_ids,
        skip_special_tokens=limits.skip_special_tokens,
        no_stop_trim=limits.no_stop_trim,
        keeps_zero=traits.has(Trait.STOP_ID_ZERO_STAYS),
    )
    ids = [token.id for token in choice.tokens]
    deliveries: list[Delivery] = []
    sent = scored = position = 0
    end: End | None = None
    for number, size in enumerate(choice.steps or (0,)):
        position += size
        end = judge.after(position, size, last=number + 1 >= len(choice.steps))
        if end is None and (not stream or position == sent):
            continue
        kept = position if end is None else end.kept
        if end is None and _waits(kept - sent, sent, limits.stream_interval or interval):
            continue
        if end is None and traits.has(Trait.STOP_PREFIX_HELD) and judge.may_begin_stop(position):
            continue
        scores = max(kept, 1) if traits.has(Trait.SCORES_TRIMMED) else position
        scores = min(scores, len(choice.tokens))
        text = writer.push(ids[sent:kept], finished=end is not None, matched=None if end is None else end.matched)
        deliveries.append(Delivery((sent, kept), (scored, scores), text, end, due(number)))
        sent, scored = kept, scores
        if end is not None:
            break
    return Played(tuple(deliveries), writer.text, end or End("abort", sent, failure=ABORTED))


def _waits(unsent: int, sent: int, interval: int) -> bool:
    return interval > 1 and unsent < interval and not (sent == 0 and unsent > 0)


class _Judge:
    """Decides after every step whether the answer has ended."""

    def __init__(self, choice: Choice, limits: Limits, tokenizer: Tokenizer, traits: Traits, cap: int) -> None:
        self._choice = choice
        self._limits = limits
        self._tokenizer = tokenizer
        self._traits = traits
        self._cap = cap
        self._ids = [token.id if token.id is not None else 0 for token in choice.tokens]
        self._stop_length = max((len(tokenizer.encode(stop)) for stop in limits.stop), default=0)
        self._eos = frozenset(tokenizer.eos_ids)

    def after(self, position: int, size: int, *, last: bool) -> End | None:
        """The end that a step of ``size`` tokens brings, up to ``position``; ``last``: the truth has no more steps."""
        ended = self._reported(position, size)
        if ended is not None:
            return ended
        checks = (
            (self._by_string, self._by_token, self._by_length)
            if self._traits.has(Trait.STOP_FIRST)
            else (self._by_length, self._by_token, self._by_string)
        )
        for check in checks:
            ended = check(position, size)
            if ended is not None:
                return self._capped(ended)
        return self._exhausted(position) if last else None

    def may_begin_stop(self, position: int) -> bool:
        """Whether the decoded tail ends in the beginning of a stop string."""
        if not self._limits.stop:
            return False
        tail = self._tail(position, 1)
        for stop in self._limits.stop:
            if stop and (stop in tail or any(tail.endswith(stop[:length]) for length in range(1, len(stop) + 1))):
                return True
        return False

    def _reported(self, position: int, size: int) -> End | None:
        """An abort or a failure that the engine itself reports. A failure shows with the step after it."""
        choice = self._choice
        if choice.finish_reason == "abort":
            at = len(choice.tokens) if choice.finish_at is None else choice.finish_at
            return End("abort", at, failure=choice.failure or ABORTED) if position >= at else None
        if choice.finish_reason == "error":
            at = len(choice.tokens) if choice.finish_at is None else choice.finish_at
            if position - size >= at or position >= len(choice.tokens):
                return End("abort", position, failure=choice.failure or _FAILED)
        return None

    def _exhausted(self, position: int) -> End:
        """The truth has no more tokens: what the engine reported, or the context was full."""
        if self._choice.finish_reason == "stop":
            return End("stop", position, self._choice.stop_reason)
        return End("length", position)

    def _by_length(self, position: int, size: int) -> End | None:
        if position < self._cap:
            return None
        return End("length", min(self._cap, position) if self._traits.has(Trait.TRIMS_AT_LENGTH) else position)

    def _by_token(self, position: int, size: int) -> End | None:
        if self._limits.ignore_eos:
            return None
        stops = self._eos | self._limits.stop_token_ids
        fresh = range(position - size, position) if self._traits.has(Trait.TRIMS_AT_TOKEN) else (position - 1,)
        for place in fresh:
            if place >= 0 and self._ids[place] in stops:
                return End("stop", place + 1, self._ids[place])
        return None

    def _by_string(self, position: int, size: int) -> End | None:
        if not size:
            return None
        tail = self._tail(position, size)
        for stop in self._limits.stop:
            if stop in tail:
                return End("stop", self._completed_at(position, size, _contains(stop)), stop)
        for source in self._limits.stop_regex:
            found = pattern_of(source).found_in  # linear in the text: a client's pattern cannot hang the server
            if found(self._decode(0, position)):
                return End("stop", self._completed_at(position, size, found), source)
        return None

    def _completed_at(self, position: int, size: int, found: Callable[[str], bool]) -> int:
        """After which token of the step the stop was complete."""
        if self._traits.has(Trait.TRIMS_AT_STRING):
            start = 0 if self._limits.stop_regex else position - self._tail_length(position, size)
            for place in range(max(start + 1, position - size + 1), position):
                if found(self._decode(start, place)):
                    return place
        return position

    def _capped(self, end: End) -> End:
        return End("length", self._cap) if end.kept > self._cap and self._traits.has(Trait.TRIMS_AT_LENGTH) else end

    def _tail_length(self, position: int, size: int) -> int:
        extra = max(size - 1, 0) if self._traits.has(Trait.TRIMS_AT_STRING) else 0
        return min(self._stop_length + 1 + extra, position)

    def _tail(self, position: int, size: int) -> str:
        return self._decode(position - self._tail_length(position, size), position)

    def _decode(self, start: int, stop: int) -> str:
        return self._tokenizer.decode(self._ids[start:stop], skip_special_tokens=False)


def _contains(stop: str) -> Callable[[str], bool]:
    return lambda text: stop in text


@lru_cache(maxsize=256)
def pattern_of(source: str) -> Pattern:
    """A client's ``stop_regex``, compiled once."""
    return Pattern(source)
