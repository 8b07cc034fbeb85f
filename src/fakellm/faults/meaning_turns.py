"""Faults of conversations: the first turn is healthy, a later one is not.

Which turn a request is follows from the messages it carries, so these faults need no memory. A reply that serves all
turns may carry them: in the turns before they leave everything as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from ..told import Told
from .base import AS_SENT, NULL, FaultContext, Parameters, on_told
from .meaning_prompt import retokenised, with_prompt_count
from .sequences import map_choices, map_prompts
from .where import asks_ids, asks_prompt_ids, every, has_turns, turn_of

FAMILY = "turns"


class FromTurn(Parameters):
    from_turn: Annotated[int, Field(ge=2, description="the first turn that is affected, counted from 1")] = 2


def _early(context: FaultContext[Any]) -> bool:
    return turn_of(context.ask) < context.parameters.from_turn


@on_told(
    "turn-prompt-drifts",
    family=FAMILY,
    may=AS_SENT,
    values=("prompt_token_ids",),
    parameters=FromTurn,
    applies=every(has_turns, asks_prompt_ids),
)
def turn_prompt_drifts(told: Told, context: FaultContext[FromTurn]) -> Told:
    """From turn two on the prompt ids no longer begin with the ids of the turn before.

    The history is tokenised otherwise: one token in the middle of the prompt is told as two that spell the same.

    Why: https://github.com/PrimeIntellect-ai/prime-rl/issues/1334 , https://github.com/NovaSky-AI/SkyRL/issues/2075 ,
    https://github.com/NVIDIA-NeMo/Gym/pull/1787 (48 of 48 turns broke)
    Right: what was sent is kept as it was sent, turn by turn; a client that joins turns refuses.
    Breaks: clients that build one sequence from several turns and mask by length.
    """
    if _early(context):
        return told
    return retokenised(told, context)


class Compacted(Parameters):
    from_turn: Annotated[int, Field(ge=2, description="the first turn that is affected, counted from 1")] = 3
    keep: Annotated[int, Field(ge=1, description="how many of the last prompt ids are left")] = 8


@on_told(
    "turn-prompt-compacted",
    family=FAMILY,
    may=AS_SENT,
    values=("prompt_token_ids",),
    parameters=Compacted,
    applies=every(has_turns, asks_prompt_ids),
)
def turn_prompt_compacted(told: Told, context: FaultContext[Compacted]) -> Told:
    """From turn three on the context was compacted: only the end of the prompt is left, usage agrees.

    Why: agents shorten their history; the prompt that an earlier turn saw is then no longer part of the list
    ( https://github.com/cooperbench/CooperBench/pull/78 is the capture that must live with it).
    Right: every turn keeps the prompt that it saw.
    Breaks: clients that keep one growing list of ids for the whole conversation.
    """
    if _early(context):
        return told
    keep = context.parameters.keep
    changed = map_prompts(
        told,
        lambda prompt: prompt if prompt.token_ids is None else replace(prompt, token_ids=prompt.token_ids[-keep:]),
    )
    return with_prompt_count(changed, told)


class Vanish(FromTurn):
    prompt: Annotated[bool, Field(description="prompt ids vanish")] = True
    completion: Annotated[bool, Field(description="completion ids vanish")] = True


@on_told(
    "turn-ids-vanish",
    family=FAMILY,
    may=NULL,
    values=("prompt_token_ids", "completion_token_ids"),
    parameters=Vanish,
    applies=every(has_turns, asks_ids),
)
def turn_ids_vanish(told: Told, context: FaultContext[Vanish]) -> Told:
    """From turn two on there are no token ids.

    Why: a gateway that balances between servers of two versions; agent-lightning then drops all turns but the last,
    because it takes equal (empty) prompts for the same call (1.0.0, read).
    Right: null for the ids of those turns, or a refusal; the turns before keep theirs.
    Breaks: agent-lightning 1.0.0; verifiers 0.3.0 falls back to sending messages with a warning.
    """
    if _early(context):
        return told
    if context.parameters.prompt:
        told = map_prompts(told, lambda prompt: replace(prompt, token_ids=None))
    if context.parameters.completion:
        told = map_choices(told, None, lambda choice: replace(choice, ids=None))
    return told
