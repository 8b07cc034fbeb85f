"""Faults on how scored tokens are spelled and which alternatives stand beside them.

The scores themselves stay right, so a client that captures scores by position recovers everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from ..errors import FaultError
from ..told import Score, Told
from .base import RECOVER, FaultContext, OnChoice, on_told
from .sequences import map_choices, map_scores
from .tokens import bpe_alphabet
from .where import asks_logprobs, asks_top_logprobs

FAMILY = "token-text"
REPLACEMENT = "�"


def _each(told: Told, context: FaultContext[OnChoice], change: Callable[[Score], Score]) -> Told:
    return map_choices(told, context.parameters.choice, lambda choice: map_scores(choice, change))


def _with_top(score: Score, change: Callable[[Score], Score]) -> Score:
    """Change an entry and the alternatives beside it."""
    changed = change(score)
    return changed if score.top is None else replace(changed, top=tuple(change(each) for each in score.top))


@on_told("top-logprobs-without-sampled", family=FAMILY, may=RECOVER, parameters=OnChoice, applies=asks_top_logprobs)
def top_logprobs_without_sampled(told: Told, context: FaultContext[OnChoice]) -> Told:
    """The list of alternatives lacks the sampled token.

    Why: LMDeploy leaves it out, and OpenAI does when it ranks outside of the list; a client took the wrong token's
    score: https://github.com/PrimeIntellect-ai/prime-rl/pull/2559
    Right: the entry's own score is the sampled one; nothing is to be looked up in the list.
    Breaks: OpenRLHF 0.11.2 puts 0.0 where the sampled token is not in the list (read).
    """
    return _each(
        told,
        context,
        lambda score: (
            score if score.top is None else replace(score, top=tuple(each for each in score.top if each.id != score.id))
        ),
    )


@on_told("top-logprobs-null", family=FAMILY, may=RECOVER, parameters=OnChoice, applies=asks_logprobs)
def top_logprobs_null(told: Told, context: FaultContext[OnChoice]) -> Told:
    """The list of alternatives is null instead of a list.

    Why: TensorRT-LLM leaves it null unless asked; clients that iterate fail:
    https://github.com/NVIDIA-NeMo/Gym/pull/1013
    Right: the scores are there; alternatives are null.
    Breaks: clients with strict types (zod schemas, iteration without a check).
    """
    return _each(told, context, lambda score: replace(score, top=None))


class Cap(OnChoice):
    most: Annotated[int, Field(ge=0, description="how many alternatives are told at most")] = 1


@on_told("top-logprobs-capped", family=FAMILY, may=RECOVER, parameters=Cap, applies=asks_top_logprobs)
def top_logprobs_capped(told: Told, context: FaultContext[Cap]) -> Told:
    """Fewer alternatives than were asked for, though the answer echoes the number that was asked.

    Why: servers cap at 5 or 20 without a word: https://github.com/vllm-project/vllm/issues/5299 ,
    https://github.com/InternLM/lmdeploy/issues/1548
    Right: the scores of the sampled tokens are all there; alternatives are what stands in the list.
    Breaks: clients that index the list by the number they asked for.
    """
    most = context.parameters.most
    return _each(told, context, lambda score: score if score.top is None else replace(score, top=score.top[:most]))


@on_told("token-bytes-null", family=FAMILY, may=RECOVER, parameters=OnChoice, applies=asks_logprobs)
def token_bytes_null(told: Told, context: FaultContext[OnChoice]) -> Told:
    """The bytes of every scored token are null.

    Why: the OpenAI schema allows it, Dynamo does it for the EOS (1.6.1, captured).
    Right: scores by position; bytes are not needed.
    Breaks: clients that join bytes to find the text.
    """
    return _each(told, context, lambda score: _with_top(score, lambda each: replace(each, bytes=None)))


@on_told("token-bytes-wrong", family=FAMILY, may=RECOVER, parameters=OnChoice, applies=asks_logprobs)
def token_bytes_wrong(told: Told, context: FaultContext[OnChoice]) -> Told:
    """The bytes are those of another string: the placeholder ``token_id:N``, while the token shows its text.

    Why: vLLM gives alternatives the bytes of the placeholder (0.32.0, captured with return_tokens_as_token_ids).
    Right: scores by position; bytes are not needed.
    Breaks: clients that join bytes to find the text.
    """

    def change(each: Score) -> Score:
        return replace(each, bytes=tuple(f"token_id:{each.id}".encode()))

    return _each(told, context, lambda score: _with_top(score, change))


@on_told("token-bytes-replacement", family=FAMILY, may=RECOVER, parameters=OnChoice, applies=asks_logprobs)
def token_bytes_replacement(told: Told, context: FaultContext[OnChoice]) -> Told:
    """Tokens that are a piece of a character, or not ASCII, show U+FFFD and its bytes [239, 191, 189].

    Why: https://github.com/ollama/ollama/issues/13497 ; vLLM up to 0.12, SGLang up to 0.5.20 (captured).
    Right: scores by position; the text comes from the message, not from token texts.
    Breaks: clients that rebuild text from tokens get replacement characters.
    """

    def change(each: Score) -> Score:
        if each.token.isascii() and each.token:
            return each
        return replace(each, token=REPLACEMENT, bytes=tuple(REPLACEMENT.encode()))

    changed = _each(told, context, lambda score: _with_top(score, change))
    if changed == told and any(choice.scores for choice in told.choices):
        raise FaultError("every token of this answer is ASCII", hint="let the reply say an emoji or an accented letter")
    return changed


@on_told("token-text-empty", family=FAMILY, may=RECOVER, parameters=OnChoice, applies=asks_logprobs)
def token_text_empty(told: Told, context: FaultContext[OnChoice]) -> Told:
    """The text of every scored token is empty.

    Why: https://github.com/vllm-project/vllm/pull/34875 (pieces of characters), Dynamo for the EOS (captured).
    Right: scores by position; an empty text is not a missing token.
    Breaks: clients that skip entries without text, or key a dictionary by it.
    """
    return _each(told, context, lambda score: _with_top(score, lambda each: replace(each, token="")))


@on_told("token-text-placeholder", family=FAMILY, may=RECOVER, parameters=OnChoice, applies=asks_logprobs)
def token_text_placeholder(told: Told, context: FaultContext[OnChoice]) -> Told:
    """The text of every scored token is ``token_id:N`` though nobody asked for it.

    Why: a vLLM started with --return-tokens-as-token-ids does it for everybody:
    https://github.com/huggingface/OpenEnv/pull/1029
    Right: scores by position; token texts are for display.
    Breaks: clients that show or join token texts.
    """
    return _each(told, context, lambda score: _with_top(score, lambda each: replace(each, token=f"token_id:{each.id}")))


@on_told("token-text-bpe-alphabet", family=FAMILY, may=RECOVER, parameters=OnChoice, applies=asks_logprobs)
def token_text_bpe_alphabet(told: Told, context: FaultContext[OnChoice]) -> Told:
    """Token texts are raw vocabulary strings: ``Ġhello`` for " hello".

    Why: LMDeploy 0.18 does it (read); vLLM did: https://github.com/vllm-project/vllm/issues/19177
    Right: scores by position; token texts are for display.
    Breaks: clients that join token texts, or look ids up by text: OpenPipe ART 0.5.18 turns unknown text into the EOS.
    """

    def change(each: Score) -> Score:
        piece = bytes(each.bytes) if each.bytes is not None else each.token.encode()
        return replace(each, token=bpe_alphabet(piece))

    return _each(told, context, lambda score: _with_top(score, change))
