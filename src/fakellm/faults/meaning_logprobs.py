"""Faults on how many scores are told and whose they are: short, long, shifted, lost, another choice's.

The values stay those of the engine; ``meaning_values.py`` bends values. Where scores stand, and whether they stand
there at all, is the business of ``layout_logprobs.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Annotated

from pydantic import Field

from ..errors import FaultError
from ..told import Score, Told, ToldChoice, ToldStep
from .base import AS_SENT, NULL, REFUSE, AtToken, FaultContext, OnChoice, Parameters, on_told
from .meaning_ids import ended_by_token
from .sequences import change_pieces, cumulated, map_choices, pieces_of, replace_at, with_pieces
from .tokens import with_logprob
from .where import asks_logprobs, every, several_choices, streams

FAMILY = "logprobs"
VALUES = ("logprobs",)


@on_told("logprobs-one-short", family=FAMILY, may=REFUSE, values=VALUES, parameters=AtToken, applies=asks_logprobs)
def logprobs_one_short(told: Told, context: FaultContext[AtToken]) -> Told:
    """One score fewer than completion ids.

    Why: 566 ids against 565 scores broke rollouts: https://github.com/NVIDIA-NeMo/Gym/pull/1963 ; Dynamo compacts
    missing rows away, so that the hole may be anywhere.
    Right: refuse, or null for the scores; never pad, cut or shift.
    Breaks: verifiers 0.3.0, rllm-model-gateway 0.1.0, AReaL 1.0.4, TRL 1.16 (client), agent-lightning 1.0 keep it
    silently; Atropos 0.4.0 pads with 1.0 (measured or read).
    """
    return replace_at(told, context.parameters, "scores", lambda score: [])


@on_told("logprobs-one-long", family=FAMILY, may=REFUSE, values=VALUES, parameters=AtToken, applies=asks_logprobs)
def logprobs_one_long(told: Told, context: FaultContext[AtToken]) -> Told:
    """One score more than completion ids: an entry is told twice.

    Why: a re-encoded completion got one score too many on 120 of 120 rows:
    https://github.com/eval-protocol/python-sdk/pull/457
    Right: refuse, or null for the scores.
    Breaks: verifiers 0.3.0 keeps 4 ids with 5 scores (measured); Atropos 0.4.0 cuts silently.
    """
    return replace_at(told, context.parameters, "scores", lambda score: [score, score])


class Shift(OnChoice):
    by: Annotated[int, Field(description="how far: 1 gives every token the score of the token before it")] = 1
    start: Annotated[int, Field(ge=0, description="the first token that is affected")] = 0


@on_told("logprobs-shifted", family=FAMILY, may=AS_SENT, values=VALUES, parameters=Shift, applies=asks_logprobs)
def logprobs_shifted(told: Told, context: FaultContext[Shift]) -> Told:
    """Every token has the score of its neighbour; the lengths agree.

    Why: retraction shifted SGLang's scores by one: https://github.com/sgl-project/sglang/pull/26510
    Right: nobody can see it from one answer; what was sent is kept position by position.
    Breaks: every client; only a comparison with the truth (server mode) finds it.
    """
    given = context.parameters

    def shift(values: list[float | None]) -> list[float | None]:
        last = len(values) - 1
        return [
            values[min(max(place - given.by, given.start), last)] if place >= given.start else value
            for place, value in enumerate(values)
        ]

    return map_choices(told, given.choice, lambda choice: _with_values(choice, shift))


@on_told("logprobs-cumulative", family=FAMILY, may=AS_SENT, values=VALUES, parameters=OnChoice, applies=asks_logprobs)
def logprobs_cumulative(told: Told, context: FaultContext[OnChoice]) -> Told:
    """Every score is the sum of all scores so far: the logprob of the text, not of the token.

    Why: engines keep cumulative_logprob beside the token's own, and gateways have taken the wrong one.
    Right: nobody can see it from one answer (a falling row of scores is legal); kept as sent.
    Breaks: every client.
    """

    def add_up(values: list[float | None]) -> list[float | None]:
        return list(accumulate((value or 0.0) for value in values))

    return map_choices(told, context.parameters.choice, lambda choice: _with_values(choice, add_up))


def _with_values(choice: ToldChoice, change: Callable[[list[float | None]], list[float | None]]) -> ToldChoice:
    """The same entries with other values, position by position."""
    pieces = pieces_of(choice, "scores")
    if pieces is None:
        return choice
    flat = [score for piece in pieces for score in piece]
    values = change([score.logprob if isinstance(score, Score) else None for score in flat])
    fresh = iter(
        with_logprob(score, value) if isinstance(score, Score) else score
        for score, value in zip(flat, values, strict=True)
    )
    return with_pieces(choice, "scores", [[next(fresh) for _ in piece] for piece in pieces])


@on_told(
    "logprobs-cumulative-lists",
    family=FAMILY,
    may=REFUSE,
    values=VALUES,
    parameters=OnChoice,
    applies=every(streams, asks_logprobs),
)
def logprobs_cumulative_lists(told: Told, context: FaultContext[OnChoice]) -> Told:
    """Every chunk of the stream carries all scores so far, the ids only the new ones.

    Why: SGLang 0.5.10 told ids as deltas and scores cumulated: https://github.com/sgl-project/sglang/pull/21583 , and
    consumers with cursors cut them wrongly: https://github.com/ai-dynamo/dynamo/pull/13879
    Right: refuse, or null for the scores: one chunk holds more scores than ids.
    Breaks: langchain-openai 1.7.4, rllm-model-gateway 0.1.0 keep the duplicates.
    """

    return map_choices(told, context.parameters.choice, lambda choice: change_pieces(choice, "scores", cumulated))


@on_told(
    "logprobs-of-another-choice",
    family=FAMILY,
    may=AS_SENT,
    values=VALUES,
    applies=every(asks_logprobs, several_choices),
)
def logprobs_of_another_choice(told: Told, context: FaultContext[Parameters]) -> Told:
    """Every choice has the score values of its neighbour, position by position.

    Why: n > 1 with one shared parser state mixed choices up: https://github.com/ai-dynamo/dynamo/pull/11563
    Right: nobody can see it from one answer; kept as sent.
    Breaks: every client.
    """
    values = {choice.index: [score.logprob for score in choice.scores or () if score] for choice in told.choices}
    order = [choice.index for choice in told.choices]
    neighbour = dict(zip(order, [*order[1:], *order[:1]], strict=True))

    def swap(choice: ToldChoice) -> ToldChoice:
        others = values[neighbour[choice.index]]
        return _with_values(choice, lambda mine: [*others[: len(mine)], *mine[len(others) :]])

    return map_choices(told, None, swap)


def _drop_steps(told: Told, context: FaultContext[OnChoice], lost: Callable[[ToldStep], bool], what: str) -> Told:
    """Take the scores of some steps away; raises FaultError when no step is of that kind."""
    found: list[int] = []

    def drop(choice: ToldChoice) -> ToldChoice:
        hit = {number for number, step in enumerate(choice.steps) if lost(step)}
        found.extend(hit)
        return change_pieces(
            choice, "scores", lambda pieces: [[] if number in hit else piece for number, piece in enumerate(pieces)]
        )

    changed = map_choices(told, context.parameters.choice, drop)
    if not found:
        raise FaultError(f"no step of this answer shows {what}", hint="the layout needs its parser, the reply the text")
    return changed


def _shows(kind: str) -> Callable[[ToldStep], bool]:
    return lambda step: any(part.kind == kind for part in step.parts or ())


@on_told(
    "logprobs-lost-in-reasoning", family=FAMILY, may=NULL, values=VALUES, parameters=OnChoice, applies=asks_logprobs
)
def logprobs_lost_in_reasoning(told: Told, context: FaultContext[OnChoice]) -> Told:
    """Steps that show reasoning tell no scores.

    Why: https://github.com/sgl-project/sglang/issues/26778 (fixed by https://github.com/sgl-project/sglang/pull/28601 )
    Right: null for the scores, or a refusal; the remaining ones are no whole.
    Breaks: clients that join the scores of content deltas.
    """
    return _drop_steps(told, context, _shows("reasoning"), "reasoning")


@on_told(
    "logprobs-lost-in-tool-calls", family=FAMILY, may=NULL, values=VALUES, parameters=OnChoice, applies=asks_logprobs
)
def logprobs_lost_in_tool_calls(told: Told, context: FaultContext[OnChoice]) -> Told:
    """Steps that show a piece of a tool call tell no scores.

    Why: https://github.com/vllm-project/vllm/issues/37737 and https://github.com/ollama/ollama/issues/13092
    Right: null for the scores, or a refusal; the remaining ones are no whole.
    Breaks: rllm-model-gateway 0.1.0 and others that join what is there.
    """
    return _drop_steps(told, context, _shows("tool"), "a tool call")


@on_told("eos-score-missing", family=FAMILY, may=NULL, values=VALUES, parameters=OnChoice, applies=asks_logprobs)
def eos_score_missing(told: Told, context: FaultContext[OnChoice]) -> Told:
    """The token that ended the answer never gets its score, its id is there.

    Why: https://github.com/InternLM/lmdeploy/pull/4000 , https://github.com/abetlen/llama-cpp-python/issues/1528 ;
    vLLM's Responses streams drop it from 0.20 on.
    Right: null for the scores, or a refusal; a 0.0 put there by the client is invented.
    Breaks: SkyRL and rllm append 0.0; verifiers 0.3.0 keeps lists of different lengths.
    """
    dropped: list[int] = []

    def drop(choice: ToldChoice) -> ToldChoice:
        pieces = pieces_of(choice, "scores")
        if pieces is None or not ended_by_token(choice) or not any(pieces):
            return choice
        dropped.append(choice.index)
        last = max(number for number, piece in enumerate(pieces) if piece)
        pieces[last].pop()
        return with_pieces(choice, "scores", pieces)

    changed = map_choices(told, context.parameters.choice, drop)
    if not dropped and any(choice.scores for choice in told.choices):
        raise FaultError("no choice of this answer ends with an EOS or stop token", hint="let the reply finish by stop")
    return changed
