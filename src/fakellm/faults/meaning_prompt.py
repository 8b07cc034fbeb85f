"""Faults on the prompt token ids that are told: another prompt's, tokenised otherwise, not whole.

Where prompt ids stand on the wire, and whether they stand there at all, is the business of ``layout_ids.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from ..ask import Ask
from ..told import Told
from .base import AS_SENT, REFUSE, FaultContext, May, Parameters, on_told
from .sequences import map_prompts
from .tokens import split_token
from .where import asks_prompt_ids, shows_usage


@on_told(
    "prompt-ids-of-another-prompt",
    family="prompt-ids",
    may=AS_SENT,
    values=("prompt_token_ids",),
    applies=asks_prompt_ids,
)
def prompt_ids_of_another_prompt(told: Told, context: FaultContext[Parameters]) -> Told:
    """The prompt ids are those of another prompt.

    Several prompts in one request get each other's ids; a single prompt gets its own ids in another order, so that the
    length, and with it the usage, still agrees.

    Why: Dynamo answers a batch of two prompts with the ids of one of them (ai-dynamo/dynamo 1.6.1, measured); a visual
    chat request whose server renders another prompt than the client is reported in
    https://github.com/areal-project/AReaL/issues/1612
    Right: nobody can see it from one answer; what was sent is kept as it was sent, position by position.
    Breaks: every client that trusts prompt ids without comparing them with a rendering of its own.
    """
    prompts = told.prompts
    if len(prompts) > 1:
        rotated = (*prompts[1:], prompts[0])
        swapped = (replace(mine, token_ids=other.token_ids) for mine, other in zip(prompts, rotated, strict=True))
        return replace(told, prompts=tuple(swapped))
    return map_prompts(
        told,
        lambda prompt: prompt if prompt.token_ids is None else replace(prompt, token_ids=_moved(prompt.token_ids)),
    )


def _moved(ids: tuple[Any, ...]) -> tuple[Any, ...]:
    """Another sequence of the same length: turned by one; a prompt of one repeated id gets its last id changed."""
    turned = (*ids[1:], *ids[:1])
    return turned if turned != ids else (*ids[:-1], *(_other_id(last) for last in ids[-1:]))


def _other_id(token_id: Any) -> Any:
    return token_id + 1 if isinstance(token_id, int) else token_id


@on_told(
    "prompt-ids-retokenised", family="prompt-ids", may=AS_SENT, values=("prompt_token_ids",), applies=asks_prompt_ids
)
def prompt_ids_retokenised(told: Told, context: FaultContext[Parameters]) -> Told:
    """The prompt ids spell the same text with other tokens than the engine saw.

    One token in the middle is told as two shorter ones that join to the same bytes; usage counts them too.

    Why: decoding and encoding again changes ids wherever the sampled pieces are not the ones that the tokenizer would
    choose: https://github.com/sgl-project/sglang/pull/26555 and https://github.com/rllm-org/rllm/pull/272
    Right: nobody can see it from one answer; what was sent is kept as it was sent.
    Breaks: prefix checks between turns (prime-rl, SkyRL, verl) stop at the next turn; others train on it.
    """
    return retokenised(told, context)


def retokenised(told: Told, context: FaultContext[Any]) -> Told:
    """One token in the middle of each prompt told as two that spell the same, usage counts them."""
    changed = map_prompts(
        told,
        lambda prompt: (
            prompt
            if prompt.token_ids is None
            else replace(prompt, token_ids=split_token(prompt.token_ids, context.tokenizer, len(prompt.token_ids) // 2))
        ),
    )
    return with_prompt_count(changed, told)


def with_prompt_count(changed: Told, before: Told) -> Told:
    """Usage that agrees with the prompt ids that are told now."""
    if before.usage.prompt_tokens is None:
        return changed
    more = sum(len(prompt.token_ids or ()) for prompt in changed.prompts)
    less = sum(len(prompt.token_ids or ()) for prompt in before.prompts)
    return replace(changed, usage=replace(changed.usage, prompt_tokens=before.usage.prompt_tokens + more - less))


class Lost(Parameters):
    count: Annotated[int, Field(ge=1, description="how many ids are lost at the start")] = 1


def _refuse_where_usage_shows(ask: Ask, parameters: Parameters) -> May:
    return REFUSE if shows_usage(ask) else AS_SENT


@on_told(
    "prompt-ids-without-first",
    family="prompt-ids",
    may=("refuse", "as-sent"),
    values=("prompt_token_ids",),
    parameters=Lost,
    applies=asks_prompt_ids,
    judge=_refuse_where_usage_shows,
)
def prompt_ids_without_first(told: Told, context: FaultContext[Lost]) -> Told:
    """The first prompt ids (the BOS token, the template's head) are missing, usage counts them.

    Why: clients that rebuild prompt ids from prompt_logprobs lose the first one, whose entry is null:
    https://github.com/vllm-project/vllm/issues/27477
    Right: refuse where usage.prompt_tokens says another number; without usage no client can know.
    Breaks: every capture client that does not compare prompt ids with usage; none of those tried does.
    """
    lost = context.parameters.count
    return map_prompts(
        told,
        lambda prompt: prompt if prompt.token_ids is None else replace(prompt, token_ids=prompt.token_ids[lost:]),
    )
