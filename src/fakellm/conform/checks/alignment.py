"""Checks on ids and scores: every captured value equals what the oracle says, position by position.

They judge what was captured; whether something that was there is missing is ``presence.py``'s question. In gateway mode
the two sides are the fake's answer and what came out of the gateway. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from ...capture import Alternatives, CapturedChoice
from ..finding import Finding
from ..observation import Observation
from .base import BOTH, NOTHING, exchange_check, failed, passed
from .compare import Difference, Equal, difference, equal_ids, equal_scores
from .oracle import Pair, Rule, candidates, exposed, pairs, rule_of

SKYRL = "https://github.com/NovaSky-AI/SkyRL/pull/758"
GYM_566 = "https://github.com/NVIDIA-NeMo/Gym/pull/1963"
RLLM_GATEWAY = "https://github.com/rllm-org/rllm/issues/816"
VERIFIERS = "https://github.com/PrimeIntellect-ai/verifiers/pull/1585"
AREAL = "https://github.com/areal-project/AReaL/issues/1612"


@exchange_check("align.prompt-ids", modes=BOTH, needs=("prompt_token_ids",), sources=(VERIFIERS, AREAL))
def prompt_ids(observation: Observation) -> Sequence[Finding]:
    """Captured prompt token ids MUST be the ids that the engine consumed, all of them, in order.

    A prompt that is off by one token shifts every score behind it; a prompt that the client renders itself is another
    prompt as soon as the chat template differs. For tito and SGLang's generate the prompt is the client's own.
    """
    return _equal(observation, "prompt_token_ids", equal_ids)


@exchange_check("align.completion-ids", modes=BOTH, needs=("completion_token_ids",), sources=(RLLM_GATEWAY, SKYRL))
def completion_ids(observation: Observation) -> Sequence[Finding]:
    """Captured completion token ids MUST be the sampled ids: complete, in order, the end token where the layout has it.

    Ids are whole numbers; strings and floats are not ids. The terminal EOS was sampled and is part of the action.
    """
    return _equal(observation, "completion_token_ids", equal_ids)


@exchange_check(
    "align.logprobs",
    modes=BOTH,
    needs=("logprobs",),
    sources=(GYM_566, "https://github.com/pydantic/pydantic-ai/issues/8642"),
)
def logprobs(observation: Observation) -> Sequence[Finding]:
    """Captured logprobs MUST equal those of the sampled tokens, position by position, after rounding to float32.

    No two scores of a generation are equal in this suite, so that a shift by one can never hide.
    """
    return _equal(observation, "logprobs", equal_scores)


@exchange_check(
    "align.ids-vs-logprobs",
    modes=BOTH,
    needs=("completion_token_ids", "logprobs"),
    together=True,
    sources=(GYM_566, "https://github.com/ai-dynamo/dynamo/issues/14302"),
)
def ids_vs_logprobs(observation: Observation) -> Sequence[Finding]:
    """There MUST be exactly one logprob for each completion token id.

    Twelve of the capture clients read for this suite keep lists of different lengths without a word; trainers then zip
    and lose the tail, or pad. Where the wire itself is so and no client can know, the answer as sent passes.
    """
    tried = False
    for pair in pairs(observation):
        if pair.got is None or pair.got.completion_token_ids is None or pair.got.logprobs is None:
            continue
        tried = True
        ids, scores = len(pair.got.completion_token_ids), len(pair.got.logprobs)
        if ids == scores or _was_told_so(observation, pair):
            continue
        message = f"{scores} logprobs for {ids} completion ids"
        position = min(ids, scores)
        where = f"choices[{pair.number}].logprobs"
        diagnosis = f"{abs(ids - scores)} {'missing' if scores < ids else 'too many'}"
        return [
            failed(
                message,
                where=where,
                choice=pair.number,
                position=position,
                expected=ids,
                got=scores,
                diagnosis=diagnosis,
            )
        ]
    return [passed()] if tried else NOTHING


def _was_told_so(observation: Observation, pair: Pair) -> bool:
    """Whether both lists are exactly what the oracle allows, so that their lengths are the wire's own doing."""
    return all(
        rule_of(observation, value) is Rule.EQUAL and _fits(observation, pair, value, equal)
        for value, equal in (("completion_token_ids", equal_ids), ("logprobs", equal_scores))
    )


def _fits(observation: Observation, pair: Pair, value: str, equal: Equal) -> bool:
    got = getattr(pair.got, value)
    return any(
        right is not None and difference(right, got, equal) is None for right in candidates(observation, pair, value)
    )


@exchange_check(
    "scores.finite",
    needs=("logprobs",),
    sources=("https://github.com/huggingface/trl/issues/6166", "https://github.com/sgl-project/sglang/issues/5984"),
)
def finite(observation: Observation) -> Sequence[Finding]:
    """Every captured logprob MUST be a finite number that is not positive and no sentinel such as -9999.

    NaN reaches the wire as null or as a bare NaN, -inf as -9999.0; a client that hands them on poisons a batch.
    """
    tried = False
    for pair in pairs(observation):
        scores = pair.got.logprobs if pair.got is not None else None
        for position, score in enumerate(scores or ()):
            tried = True
            echoed = position == 0 and score is None and bool(observation.case.request.get("echo"))
            if not echoed and not _is_logprob(score):
                return [
                    failed(
                        f"{score!r} is no logprob",
                        where=f"choices[{pair.number}].logprobs[{position}]",
                        choice=pair.number,
                        position=position,
                        got=repr(score),
                        diagnosis=_impossible(score),
                    )
                ]
    return [passed()] if tried else NOTHING


def _is_logprob(score: Any) -> bool:
    return not isinstance(score, bool) and isinstance(score, int | float) and -9999 < score <= 1e-6


def _impossible(score: Any) -> str:
    if score is None:
        return "a token without a score"
    if not isinstance(score, int | float) or isinstance(score, bool):
        return f"a {type(score).__name__} instead of a number"
    if not math.isfinite(score):
        return "not finite"
    return "positive" if score > 0 else "the sentinel for a score that is not known"


@exchange_check(
    "align.top-logprobs",
    modes=BOTH,
    needs=("top_logprobs",),
    sources=("https://github.com/NVIDIA-NeMo/RL/pull/3297", "https://github.com/sgl-project/sglang/issues/39842"),
)
def top_logprobs(observation: Observation) -> Sequence[Finding]:
    """Captured alternatives MUST be those of their own position, the sampled token among them with its own score.

    Clients that read the first alternative as the sampled token need the vendor's order; the order is kept.
    """
    return _alternatives(observation, "top_logprobs")


@exchange_check(
    "align.prompt-logprobs",
    modes=BOTH,
    needs=("prompt_logprobs",),
    sources=("https://github.com/vllm-project/vllm/issues/27477", "https://github.com/NVIDIA-NeMo/Gym/pull/1300"),
)
def prompt_logprobs(observation: Observation) -> Sequence[Finding]:
    """Captured prompt logprobs MUST stand at their own prompt token, the first of them null, in the order of the wire.

    The first prompt token has no score. The order of an entry carries rank: five clients read its first key as the
    prompt token itself.
    """
    return _alternatives(observation, "prompt_logprobs")


def _alternatives(observation: Observation, value: str) -> Sequence[Finding]:
    tried = False
    for pair in pairs(observation):
        got: Sequence[Alternatives | None] | None = getattr(pair.got, value, None)
        right = [one for one in candidates(observation, pair, value) if one is not None]
        if got is None or not right:
            continue
        tried = True
        found = [difference(one, got, _same_entry) for one in right]
        if all(found):
            one, first = right[0], _first(found)
            return [_differs(pair, value, one, got, first)]
    return [passed()] if tried else NOTHING


def _same_entry(one: Alternatives | None, other: Alternatives | None) -> bool:
    if one is None or other is None:
        return one is None and other is None
    return len(one) == len(other) and all(
        equal_scores(a.logprob, b.logprob)
        and (a.id is None or b.id is None or a.id == b.id)
        and (a.token is None or b.token is None or a.token == b.token)
        for a, b in zip(one, other, strict=True)
    )


def _equal(observation: Observation, value: str, equal: Equal) -> Sequence[Finding]:
    """Every captured (not null) value is one that the oracle calls right."""
    if not exposed(observation, value) or rule_of(observation, value) is not Rule.EQUAL:
        return NOTHING
    tried = False
    for pair in pairs(observation):
        got = getattr(pair.got, value, None)
        right = [() if one is None else one for one in candidates(observation, pair, value)]
        if got is None or (pair.truth is None and pair.sent is None):
            continue
        tried = True
        found = [difference(one, got, equal) for one in right]
        if all(found):
            return [_differs(pair, value, right[0], got, _first(found), _stranger(observation, pair, value, got))]
    return [passed()] if tried else NOTHING


def _first(found: Sequence[Difference | None]) -> Difference:
    return next(one for one in found if one is not None)


def _differs(
    pair: Pair, value: str, right: Sequence[Any], got: Sequence[Any], found: Difference, stranger: str | None = None
) -> Finding:
    place = f"choices[{pair.number}].{value}"
    words = f"{place} differs at position {found.position}"
    if len(right) != len(got):
        words += f": {len(got)} entries instead of {len(right)}"
    return failed(
        words,
        where=f"{place}[{found.position}]",
        choice=pair.number,
        position=found.position,
        expected=_window(right, found.position),
        got=_window(got, found.position),
        diagnosis=stranger or found.sentence,
    )


def _window(values: Sequence[Any], position: int) -> list[Any]:
    start = max(0, position - 2)
    return [_spelled(value) for value in values[start : start + 6]]


def _spelled(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, tuple):
        return [_spelled(getattr(one, "logprob", one)) for one in cast("tuple[Any, ...]", value)]
    return value


def _stranger(observation: Observation, pair: Pair, value: str, got: Sequence[Any]) -> str | None:
    """Whether it is some other known list: the prompt, another choice's, the value before a flag."""
    for other in pairs(observation):
        for owner, words in ((other.truth, "the truth"), (other.sent, "the wire")):
            known = _lists(owner)
            for name, values in known.items():
                if (name, other.number) != (value, pair.number) and values and tuple(got) == tuple(values):
                    whose = "" if other.number == pair.number else f" of choice {other.number}"
                    return f"these are the {name.replace('_', ' ')}{whose} of {words}"
    return None


def _lists(choice: CapturedChoice | None) -> dict[str, tuple[Any, ...] | None]:
    if choice is None:
        return {}
    return {name: getattr(choice, name) for name in ("prompt_token_ids", "completion_token_ids", "logprobs")}
