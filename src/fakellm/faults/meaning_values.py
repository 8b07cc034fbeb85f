"""Faults on the values of scores: null, sentinel, positive, rounded. Their number and order stay right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from ..told import Score, Told
from .base import AS_SENT, REFUSE, AtToken, FaultContext, OnChoice, on_told
from .sequences import map_choices, map_scores, replace_at
from .tokens import with_logprob
from .where import asks_logprobs

FAMILY = "logprobs"
VALUES = ("logprobs",)


def _one_value(told: Told, context: FaultContext[AtToken], change: Callable[[Score], Score]) -> Told:
    return replace_at(
        told, context.parameters, "scores", lambda score: [change(score) if isinstance(score, Score) else score]
    )


@on_told("logprob-null", family=FAMILY, may=REFUSE, values=VALUES, parameters=AtToken, applies=asks_logprobs)
def logprob_null(told: Told, context: FaultContext[AtToken]) -> Told:
    """One score among the others is null.

    Why: a NaN of the engine becomes null in JSON: https://github.com/huggingface/trl/issues/6166
    Right: refuse, or null for the scores of that choice; never drop the entry and never put a number there.
    Breaks: rllm-model-gateway 0.1.0 skips it and shifts the rest; AReaL 1.0.4 and PipelineRL keep None; pydantic-ai
    2.68 in streams (all measured).
    """
    return _one_value(told, context, lambda score: with_logprob(score, None))


@on_told("logprob-sentinel", family=FAMILY, may=REFUSE, values=VALUES, parameters=AtToken, applies=asks_logprobs)
def logprob_sentinel(told: Told, context: FaultContext[AtToken]) -> Told:
    """One score is -9999.0, which stands for "not known".

    Why: vLLM clamps -inf to it, OpenAI sends it for a sampled token outside of the top 20:
    https://github.com/BerriAI/litellm/issues/3276
    Right: refuse, or null for the scores of that choice: it is no logprob.
    Breaks: verifiers 0.3.0 trains on it (measured); renderers 0.1.12 refuses.
    """
    return _one_value(told, context, lambda score: with_logprob(score, -9999.0))


class Positive(AtToken):
    value: Annotated[float, Field(gt=1e-6, description="the score that is told instead")] = 0.5


@on_told("logprob-positive", family=FAMILY, may=REFUSE, values=VALUES, parameters=Positive, applies=asks_logprobs)
def logprob_positive(told: Told, context: FaultContext[Positive]) -> Told:
    """One score is greater than zero: a probability above one.

    Why: Atropos pads missing scores with 1.0, and servers that return probabilities or raw logits under the same name
    exist; a server suite passed such an answer as good (llm-comply, measured).
    Right: refuse, or null for the scores of that choice.
    Breaks: every capture client that checks no range.
    """
    return _one_value(told, context, lambda score: with_logprob(score, context.parameters.value))


class Digits(OnChoice):
    digits: Annotated[int, Field(ge=0, le=6, description="digits after the point")] = 2


@on_told("logprobs-rounded", family=FAMILY, may=AS_SENT, values=VALUES, parameters=Digits, applies=asks_logprobs)
def logprobs_rounded(told: Told, context: FaultContext[Digits]) -> Told:
    """All scores are rounded.

    Why: gateways re-serialise numbers at a fixed width or through half precision; the quotient of two policies feels
    it.
    Right: nobody can see it from one answer; kept as sent.
    Breaks: every client; only a comparison with the truth finds it.
    """

    def rounded(value: Any) -> Any:
        return round(value, context.parameters.digits) + 0.0 if isinstance(value, float) else value

    def change(score: Score) -> Score:
        top = score.top
        if top is not None:
            top = tuple(replace(each, logprob=rounded(each.logprob)) for each in top)
        return replace(score, logprob=rounded(score.logprob), top=top)

    return map_choices(told, context.parameters.choice, lambda choice: map_scores(choice, change))
