"""Prompt ids, completion ids and scores that are not on the wire: no key, null, or an empty list.

Nine faults of one shape. The layout's accessor table says where the values stand; every place is emptied, so that none
is left to recover from. ``[]`` counts as not on the wire (CONFORMANCE section 2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..layouts.base import Accessor
from ..message import Rendering
from ..reading.paths import steps
from .base import NULL, FaultContext, OnChoice, on_rendering
from .bodies import DROP, Way, change, change_at, holder_way, ids_way, list_way, map_bodies
from .where import asks_completion_ids, asks_logprobs, asks_prompt_ids

PROMPT = ("prompt_token_ids",)
COMPLETION = ("completion_token_ids",)
LOGPROBS = ("logprobs",)


RESPONSES_REPEATS = (
    "logprobs",
    "part.logprobs",
    "item.content[].logprobs",
    "response.output[].content[].logprobs",
)
"""Where streams of the Responses API tell scores once more, after the deltas."""


def _set(
    rendering: Rendering,
    context: FaultContext[OnChoice],
    value: str,
    way_of: Callable[[Accessor], Way],
    instead: Any,
) -> Rendering:
    """Put something else at every place of a value."""
    for accessor in context.accessors(value):
        rendering = change_at(rendering, accessor, way_of(accessor), lambda _: instead, context.parameters.choice)
    if value == "logprobs" and context.ask.api == "responses":
        for place in RESPONSES_REPEATS:
            rendering = _repeated(rendering, steps(place), instead)
    return _without_pairs(rendering, context) if value == "completion_token_ids" else rendering


def _repeated(rendering: Rendering, way: Way, instead: Any) -> Rendering:
    return map_bodies(rendering, lambda members: change(members, way, lambda _: instead))


def _without_pairs(rendering: Rendering, context: FaultContext[OnChoice]) -> Rendering:
    """SGLang's scores are lists of (score, id, text): an id that is not told is not told there either."""
    for accessor in context.accessors("logprobs"):
        way = steps(accessor.path)
        if way[-1] == 0:
            rendering = change_at(rendering, accessor, (*way[:-1], 1), lambda _: None, context.parameters.choice)
    return rendering


@on_rendering(
    "prompt-ids-missing", family="prompt-ids", may=NULL, values=PROMPT, parameters=OnChoice, applies=asks_prompt_ids
)
def prompt_ids_missing(rendering: Rendering, context: FaultContext[OnChoice]) -> Rendering:
    """The key of the prompt ids is not there.

    Why: https://github.com/PrimeIntellect-ai/verifiers/pull/1585 : a client that reported [] trained on an empty
    prompt; TensorRT-LLM left them out: https://github.com/NVIDIA/TensorRT-LLM/pull/14859
    Right: null for the prompt ids, or a refusal.
    Breaks: rllm-model-gateway 0.1.0 reports [] (measured); agent-lightning 1.0.0 then drops all turns but the last
    (read); the openhands agent of cooperbench 0.0.29 dies of a KeyError (read).
    """
    return _set(rendering, context, "prompt_token_ids", ids_way, DROP)


@on_rendering(
    "prompt-ids-null", family="prompt-ids", may=NULL, values=PROMPT, parameters=OnChoice, applies=asks_prompt_ids
)
def prompt_ids_null(rendering: Rendering, context: FaultContext[OnChoice]) -> Rendering:
    """The prompt ids are null.

    Why: vLLM writes null for what was not asked, and a gateway that strips the flag gets it (0.32.0, captured).
    Right: null for the prompt ids, or a refusal.
    Breaks: rllm-model-gateway 0.1.0 reports []; TRL 1.16 passes null on (measured).
    """
    return _set(rendering, context, "prompt_token_ids", ids_way, None)


@on_rendering(
    "prompt-ids-empty", family="prompt-ids", may=NULL, values=PROMPT, parameters=OnChoice, applies=asks_prompt_ids
)
def prompt_ids_empty(rendering: Rendering, context: FaultContext[OnChoice]) -> Rendering:
    """The prompt ids are an empty list.

    Why: https://github.com/microsoft/agent-lightning/issues/308
    Right: null for the prompt ids, or a refusal: no prompt has no tokens.
    Breaks: verifiers 0.3.0 keeps tokens with [] (measured).
    """
    return _set(rendering, context, "prompt_token_ids", ids_way, [])


@on_rendering(
    "completion-ids-missing",
    family="completion-ids",
    may=NULL,
    values=COMPLETION,
    parameters=OnChoice,
    applies=asks_completion_ids,
)
def completion_ids_missing(rendering: Rendering, context: FaultContext[OnChoice]) -> Rendering:
    """The key of the completion ids is not there.

    Why: a reasoning parser dropped them: https://github.com/vllm-project/vllm/pull/28256 ; litellm's stream path loses
    them: https://github.com/microsoft/agent-lightning/issues/262
    Right: null for the ids, or a refusal; never ids made from the text.
    Breaks: SkyRL and TRL 1.16 raise a KeyError; rllm's OpenAIEngine re-tokenises the text (read).
    """
    return _set(rendering, context, "completion_token_ids", ids_way, DROP)


@on_rendering(
    "completion-ids-null",
    family="completion-ids",
    may=NULL,
    values=COMPLETION,
    parameters=OnChoice,
    applies=asks_completion_ids,
)
def completion_ids_null(rendering: Rendering, context: FaultContext[OnChoice]) -> Rendering:
    """The completion ids are null.

    Why: vLLM nulls them under include_reasoning:false from 0.28 on (captured).
    Right: null for the ids, or a refusal.
    Breaks: rllm-model-gateway 0.1.0 reports [] with four scores (measured); SkyRL passes None on.
    """
    return _set(rendering, context, "completion_token_ids", ids_way, None)


@on_rendering(
    "completion-ids-empty",
    family="completion-ids",
    may=NULL,
    values=COMPLETION,
    parameters=OnChoice,
    applies=asks_completion_ids,
)
def completion_ids_empty(rendering: Rendering, context: FaultContext[OnChoice]) -> Rendering:
    """The completion ids are an empty list though text came.

    Why: https://github.com/microsoft/agent-lightning/issues/44
    Right: null for the ids, or a refusal.
    Breaks: verifiers 0.3.0 keeps [] beside four scores; TRL 1.16 takes it (measured).
    """
    return _set(rendering, context, "completion_token_ids", ids_way, [])


@on_rendering(
    "logprobs-missing", family="logprobs", may=NULL, values=LOGPROBS, parameters=OnChoice, applies=asks_logprobs
)
def logprobs_missing(rendering: Rendering, context: FaultContext[OnChoice]) -> Rendering:
    """The key of the scores is not there though they were asked for.

    Why: streams of https://github.com/ml-explore/mlx-lm/pull/1630
    Right: null for the scores, or a refusal.
    Breaks: clients that index the key.
    """
    return _set(rendering, context, "logprobs", holder_way, DROP)


@on_rendering("logprobs-null", family="logprobs", may=NULL, values=LOGPROBS, parameters=OnChoice, applies=asks_logprobs)
def logprobs_null(rendering: Rendering, context: FaultContext[OnChoice]) -> Rendering:
    """The scores are null though they were asked for.

    Why: https://github.com/theroyallab/tabbyAPI/pull/430 ; an explicit ``top_logprobs: null`` turned them off in vLLM
    up to 0.28: https://github.com/NVIDIA-NeMo/Gym/pull/1013
    Right: null for the scores, or a refusal.
    Breaks: AReaL 1.0.4 and PipelineRL fail with a type error (measured).
    """
    return _set(rendering, context, "logprobs", holder_way, None)


@on_rendering(
    "logprobs-empty", family="logprobs", may=NULL, values=LOGPROBS, parameters=OnChoice, applies=asks_logprobs
)
def logprobs_empty(rendering: Rendering, context: FaultContext[OnChoice]) -> Rendering:
    """The list of scores is empty though text came.

    Why: Dynamo's Responses API sends [] whatever was asked (1.6.1, captured).
    Right: null for the scores, or a refusal.
    Breaks: verifiers 0.3.0, TRL 1.16, AReaL 1.0.4, PipelineRL take [] for scores (measured).
    """
    return _set(rendering, context, "logprobs", list_way, [])
