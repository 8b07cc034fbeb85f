"""From a matched reply to the truth: one Generation per prompt of the request, with all its choices.

``compose`` is a pure function of (reply, request, tokenizer, seed, voice). The choices of a reply that takes nothing
from the request are kept (bounded), so that the second request costs microseconds: scores depend on seed, scenario,
reply, choice and position, never on the prompt. The truth holds as many alternatives per token as the request or the
reply asks for. This module knows no layout, no fault and no clock.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..ask import Ask
from ..errors import ScenarioError
from ..generation import Candidate, Choice, Generation, Token
from ..tokenizer import Tokenizer
from .auto import Place, Pool, Row, float32, pool_of, position_digest, score_of, token_at
from .draft import Draft, Draughtsman
from .match import Matched
from .model import Reply, SayAuto, SayChoices, SayOne, SayRecorded, Score, Scores
from .voice import Voice, forced_by

KEPT_CHOICES = 1_024
KEPT_SCORES = 300_000
"""Bounds of what is kept: a score, of a token or an alternative, takes some 150 bytes, so 45 MB at most."""
ASKED_IDS = "asked_token_ids"
"""``Ask.options`` key: ids whose scores the request wants at every position (SGLang ``token_ids_logprob``)."""


@dataclass(frozen=True, slots=True)
class _Scribe:
    """Gives scores to the tokens of one reply."""

    key: tuple[object, ...]
    tokenizer: Tokenizer
    pool: Pool
    top: int
    asked: tuple[int, ...] = ()
    where: str = ""

    def choice(self, draft: Draft, index: int) -> Choice:
        """The draft with scores, as choice ``index`` of the request."""
        options = draft.options
        scores = options.scores if draft.explicit else None
        tokens = self.tokens(draft.pieces, Row.of_choice(self.key, index), scores)
        if options.finish_at is not None and options.finish_at > len(tokens):
            raise self._wrong(f"the engine cannot end after {options.finish_at} tokens: there are {len(tokens)}")
        return Choice(
            tokens=tokens,
            steps=draft.steps,
            finish_reason=options.finish_reason,
            stop_reason=options.stop_reason,
            finish_at=options.finish_at,
            failure=options.failure,
        )

    def tokens(
        self, pieces: tuple[tuple[int | None, bytes], ...], row: Row, scores: Scores = None, first: int = 0
    ) -> tuple[Token, ...]:
        """Tokens of one row; ``first``: the position at which they begin."""
        if scores is not None and len(scores) != len(pieces):
            raise self._wrong(f"there are {len(scores)} scores for {len(pieces)} tokens (the end token included)")
        values = row.logprobs(first + len(pieces))[first:]
        key = row.digest_key()
        found: list[Token] = []
        for at, (token_id, piece) in enumerate(pieces):
            score = scores[at] if scores is not None else Score(values[at])
            place = Place(token_id, piece, score.logprob, score.rank)
            found.append(self._token(place, score, position_digest(key, first + at)))
        return tuple(found)

    def _token(self, place: Place, score: Score, digest: tuple[int, int, int, int, bytes]) -> Token:
        size = self.tokenizer.vocab_size
        token = token_at(place, digest, self.top, self.pool, size)
        if score.top is not None:
            token = replace(token, top=self._written(score))
        if self.asked:
            scored = [score_of(token_id, place, digest, self.pool, size) for token_id in self.asked]
            piece = self.tokenizer.piece
            token = replace(
                token,
                asked=tuple(
                    Candidate(token_id, piece(token_id), logprob, rank)
                    for token_id, (logprob, rank) in zip(self.asked, scored, strict=True)
                ),
            )
        return token

    def _written(self, score: Score) -> tuple[Candidate, ...]:
        rows: list[Candidate] = []
        for rank, (token, logprob) in enumerate(score.top or (), start=1):
            token_id = token if isinstance(token, int) else self.tokenizer.id_of(token.encode())
            if token_id is None:
                raise self._wrong(f"{token!r} is not one token of {self.tokenizer.name}")
            rows.append(Candidate(token_id, self.tokenizer.piece(token_id), logprob, rank))
        return tuple(rows)

    def _wrong(self, message: str) -> ScenarioError:
        return ScenarioError(message, where=self.where or None)


class Kept:
    """Choices composed before, those used last at the end; bounded by number and by scores."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, tuple[SayOne, Pool, Choice]] = OrderedDict()
        self.scores = 0

    def get(self, key: Hashable, say: SayOne, pool: Pool) -> Choice | None:
        """The choice kept under this key, when it was made of these very objects."""
        entry = self._entries.get(key)
        if entry is None or entry[0] is not say or entry[1] is not pool:
            return None
        self._entries.move_to_end(key)
        return entry[2]

    def put(self, key: Hashable, say: SayOne, pool: Pool, choice: Choice) -> None:
        replaced = self._entries.pop(key, None)
        self._entries[key] = (say, pool, choice)
        self.scores += _scores_of(choice) - (0 if replaced is None else _scores_of(replaced[2]))
        while self._entries and (len(self._entries) > KEPT_CHOICES or self.scores > KEPT_SCORES):
            _, (_, _, dropped) = self._entries.popitem(last=False)
            self.scores -= _scores_of(dropped)


def _scores_of(choice: Choice) -> int:
    """How many scores a choice holds; every token has about as many alternatives as the first."""
    first = choice.tokens[0] if choice.tokens else None
    return len(choice.tokens) * (1 if first is None else 1 + len(first.top) + len(first.asked))


kept = Kept()
DEFAULT_VOICE = Voice()


def compose(
    matched: Matched, ask: Ask, tokenizer: Tokenizer, *, seed: int = 0, voice: Voice | None = None
) -> tuple[Generation, ...]:
    """One Generation per prompt, each with ``ask.n`` choices; raises ScenarioError for a reply that this tokenizer
    cannot say (``validate`` finds those beforehand)."""
    reply = matched.reply
    key = (seed, *matched.key)
    scribe = _Scribe(key, tokenizer, pool_of(tokenizer), top_of(reply, ask, tokenizer), asked_ids(ask), reply.where)
    if isinstance(reply.say, SayRecorded):
        return _recorded(reply, reply.say, ask, scribe)
    draughtsman = Draughtsman(tokenizer, voice or DEFAULT_VOICE, key, reply.where)
    says = reply.say.choices if isinstance(reply.say, SayChoices) else (reply.say,)
    count = max(ask.n, 1)
    generations: list[Generation] = []
    for number, prompt in enumerate(ask.prompts):
        first = number * count
        choices = tuple(_choice(says, first + at, ask, scribe, draughtsman) for at in range(count))
        ids = reply.prompt_token_ids if reply.prompt_token_ids is not None else prompt.token_ids
        generations.append(_generation(reply, ids, choices, _prompt_logprobs(reply, ids, number, ask, scribe)))
    return tuple(generations)


def top_of(reply: Reply, ask: Ask, tokenizer: Tokenizer) -> int:
    """How many alternatives the truth holds: what request and reply want, -1 in a request being all there are."""
    wanted = ask.wants.top_logprobs
    if wanted < 0 or (ask.wants.prompt_logprobs or 0) < 0:
        return tokenizer.vocab_size
    return min(max(wanted, ask.wants.prompt_logprobs or 0, reply.top), tokenizer.vocab_size)


def asked_ids(ask: Ask) -> tuple[int, ...]:
    """Ids whose scores the request asks for by number."""
    ids: Any = ask.options.get(ASKED_IDS)
    return tuple(ids) if ids else ()


def _choice(says: tuple[SayOne, ...], index: int, ask: Ask, scribe: _Scribe, draughtsman: Draughtsman) -> Choice:
    variant, which = divmod(index, len(says))
    say = says[which]
    make = partial(_new_choice, say, index, variant, ask, scribe, draughtsman)
    if isinstance(say, SayAuto) and say.from_request:
        return make()
    # Told apart by identity: two scenarios may have one name, one after the other, and hashing what is said is slow.
    voice = draughtsman.voice
    kept_key = (scribe.key, index, scribe.top, scribe.asked, voice, forced_by(ask.tool_choice), voice.lead(ask))
    found = kept.get(kept_key, say, scribe.pool)
    if found is None:
        found = make()
        kept.put(kept_key, say, scribe.pool, found)
    return found


def _new_choice(say: SayOne, index: int, variant: int, ask: Ask, scribe: _Scribe, draughtsman: Draughtsman) -> Choice:
    return scribe.choice(draughtsman.draft(say, index, variant, ask), index)


def _prompt_logprobs(
    reply: Reply, ids: tuple[int, ...], number: int, ask: Ask, scribe: _Scribe
) -> tuple[Token | None, ...] | None:
    wants = ask.wants
    if wants.prompt_logprobs is None and not (wants.echo and wants.logprobs) and reply.prompt_scores is None:
        return None
    if not ids:
        return ()
    pieces = tuple((token_id, scribe.tokenizer.piece(token_id)) for token_id in ids)
    scores = reply.prompt_scores
    if scores is not None and len(scores) != len(ids):
        raise ScenarioError(f"there are {len(scores)} prompt scores for {len(ids)} prompt tokens", where=reply.where)
    row = Row.of_prompt(scribe.key, number)
    return (None, *scribe.tokens(pieces[1:], row, None if scores is None else scores[1:], first=1))


def _generation(
    reply: Reply,
    ids: tuple[int, ...],
    choices: tuple[Choice, ...],
    prompt_logprobs: tuple[Token | None, ...] | None,
) -> Generation:
    return Generation(
        prompt_token_ids=ids,
        choices=choices,
        prompt_logprobs=prompt_logprobs,
        cached_tokens=reply.cached_tokens,
        weight_version=reply.weight_version,
        extras=reply.extras,
    )


def _recorded(reply: Reply, say: SayRecorded, ask: Ask, scribe: _Scribe) -> tuple[Generation, ...]:
    """Recorded truth for these prompts; more prompts or choices than were recorded begin again with the first."""
    count = max(ask.n, 1)
    generations: list[Generation] = []
    for number, prompt in enumerate(ask.prompts):
        truth = say.generations[number % len(say.generations)]
        choices = tuple(truth.choices[at % len(truth.choices)] for at in range(count)) if truth.choices else ()
        if say.rescore:
            choices = tuple(_rescored(choice, number * count + at, scribe) for at, choice in enumerate(choices))
        ids = truth.prompt_token_ids if say.prompt else prompt.token_ids
        scores = truth.prompt_logprobs if say.prompt else None
        generations.append(
            replace(
                truth,
                prompt_token_ids=reply.prompt_token_ids or ids,
                choices=choices,
                prompt_logprobs=scores or _prompt_logprobs(reply, ids, number, ask, scribe),
                cached_tokens=reply.cached_tokens if reply.cached_tokens is not None else truth.cached_tokens,
                weight_version=reply.weight_version or truth.weight_version,
                extras={**truth.extras, **reply.extras},
            )
        )
    return tuple(generations)


def _rescored(choice: Choice, index: int, scribe: _Scribe) -> Choice:
    pieces = tuple((token.id, token.bytes) for token in choice.tokens)
    return replace(choice, tokens=scribe.tokens(pieces, Row.of_choice(scribe.key, index)))


__all__ = ["ASKED_IDS", "compose", "float32", "top_of"]
