"""Whether an answer may be handed on: the reference client's rules, one small function each.

An answer that contradicts itself is refused with a kind; what is merely absent stays None. The order goes from the
whole to the detail, so that the refusal names the deepest cause. Pure; knows no layout: what a layout declares as lost
comes in as a fact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..capture import Capture, CapturedChoice
from .assemble import Draft
from .refusal import Refused

SENTINEL = -9999.0
"""vLLM and OpenAI write this where they have no score; clients must not take it for one."""
ROUNDING = 1e-6
"""A score above zero by no more than this is a rounding of 0.0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What was asked for and what the layout declares. ``expected``: choices asked for; ``n``: choices per prompt;
    ``echo``: scores may cover the prompt, its first one is null; ``lossy_logprobs`` / ``lossy_usage``: declared."""

    expected: int = 1
    n: int = 1
    echo: bool = False
    lossy_logprobs: bool = False
    lossy_usage: bool = False


def trusted(drafts: Sequence[Draft], odd: Sequence[str], usage: Mapping[str, Any] | None, terms: Terms) -> Capture:
    """The capture, or Refused."""
    _choices(drafts, terms)
    if odd:
        raise Refused("places-disagree", f"two places tell different {odd[0]}", where=odd[0])
    choices = tuple(_choice(draft, terms) for draft in drafts)
    if not terms.lossy_usage:
        _usage(choices, drafts, usage, terms)
    return Capture(choices=choices, usage=usage if usage is not None else _one_usage(drafts))


def _choices(drafts: Sequence[Draft], terms: Terms) -> None:
    if not drafts:
        raise Refused("no-choices", "the answer has no choice")
    for draft in drafts:
        if isinstance(draft.choice.index, bool) or not isinstance(draft.choice.index, int):
            raise Refused("choice-index", f"a choice whose index is {draft.choice.index!r}", where="index")
    if len(drafts) != terms.expected:
        words = f"{len(drafts)} choices can be told apart, {terms.expected} were asked for"
        raise Refused("choice-count", words)


def _choice(draft: Draft, terms: Terms) -> CapturedChoice:
    choice, where = draft.choice, f"choices[{draft.choice.index}]"
    for value in ("prompt_token_ids", "completion_token_ids"):
        _ids(getattr(choice, value), f"{where}.{value}")
    if choice.logprobs is None:
        return choice
    if terms.lossy_logprobs and choice.completion_token_ids and not _as_many(choice, terms):
        return replace(choice, logprobs=None, top_logprobs=None, token_texts=None)
    _scores(choice.logprobs, f"{where}.logprobs", echo=terms.echo)
    if choice.completion_token_ids is not None and not _as_many(choice, terms):
        ids, scores = len(choice.completion_token_ids), len(choice.logprobs)
        raise Refused("count-mismatch", f"{scores} scores for {ids} ids", where=f"{where}.logprobs")
    if draft.entry_ids is not None and _contradicts(draft.entry_ids, choice.completion_token_ids):
        raise Refused("places-disagree", "the ids beside the scores are other ids", where=f"{where}.logprobs")
    return choice


def _ids(ids: tuple[Any, ...] | None, where: str) -> None:
    for position, number in enumerate(ids or ()):
        if type(number) is not int or number < 0:
            raise Refused("not-ids", f"{number!r} is no token id", where=f"{where}[{position}]")


def _scores(scores: tuple[Any, ...], where: str, *, echo: bool) -> None:
    for position, score in enumerate(scores):
        place = f"{where}[{position}]"
        if score is None:
            if echo and position == 0:
                continue
            raise Refused("score-missing", "a token without a score", where=place)
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise Refused("score-impossible", f"{score!r} is no number", where=place)
        if not math.isfinite(score) or score <= SENTINEL or score > ROUNDING:
            raise Refused("score-impossible", f"{score!r} is no logprob", where=place)


def _as_many(choice: CapturedChoice, terms: Terms) -> bool:
    ids, scores = len(choice.completion_token_ids or ()), len(choice.logprobs or ())
    return ids == scores or (terms.echo and scores == ids + len(choice.prompt_token_ids or ()))


def _contradicts(entries: tuple[Any, ...], ids: tuple[Any, ...] | None) -> bool:
    return ids is not None and len(entries) == len(ids) and all(type(one) is int for one in entries) and entries != ids


def _usage(
    choices: Sequence[CapturedChoice], drafts: Sequence[Draft], usage: Mapping[str, Any] | None, terms: Terms
) -> None:
    if usage is not None:
        prompts = [choice.prompt_token_ids for choice in choices[:: max(terms.n, 1)]]
        _count(usage, "completion_tokens", "output_tokens", [_tokens(choice, terms) for choice in choices])
        _count(usage, "prompt_tokens", "input_tokens", prompts)
    for choice, draft in zip(choices, drafts, strict=True):
        if draft.usage is not None and usage is None:
            _count(draft.usage, "completion_tokens", "output_tokens", [_tokens(choice, terms)])
            _count(draft.usage, "prompt_tokens", "input_tokens", [choice.prompt_token_ids])


def _tokens(choice: CapturedChoice, terms: Terms) -> tuple[Any, ...] | None:
    """One entry per token of the choice: its ids, or its scores where those must be as many."""
    if choice.completion_token_ids is not None or terms.lossy_logprobs or terms.echo:
        return choice.completion_token_ids
    return choice.logprobs


def _count(usage: Mapping[str, Any], name: str, other: str, lists: Sequence[tuple[Any, ...] | None]) -> None:
    told = usage.get(name, usage.get(other))
    if told is None or any(ids is None for ids in lists):
        return
    there = sum(len(ids) for ids in lists if ids is not None)
    if told != there:
        raise Refused("usage-mismatch", f"{name} is {told!r}, but {there} are there", where=f"usage.{name}")


def _one_usage(drafts: Sequence[Draft]) -> Mapping[str, Any] | None:
    told = [draft.usage for draft in drafts if draft.usage is not None]
    return told[0] if len(told) == 1 else None
