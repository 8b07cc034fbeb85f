"""Faults on the completion token ids that are told: their type, their number, their meaning in streams.

Ids change and scores stay, so that the wire contradicts itself wherever scores or usage are on it. Where ids stand is
the business of ``layout_ids.py``.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from ..errors import FaultError
from ..told import Told, ToldChoice, ToldStep
from .base import REFUSE, FaultContext, OnChoice, on_told
from .sequences import Pieces, change_pieces, cumulated, map_choices, map_values, pieces_of, with_pieces
from .tokens import split_token
from .where import asks_completion_ids, every, refuse_where_lengths_show, streams

FAMILY = "completion-ids"
VALUES = ("completion_token_ids",)


@on_told(
    "completion-ids-as-strings",
    family=FAMILY,
    may=REFUSE,
    values=VALUES,
    parameters=OnChoice,
    applies=asks_completion_ids,
)
def completion_ids_as_strings(told: Told, context: FaultContext[OnChoice]) -> Told:
    """Completion ids are strings: ``"42"`` instead of ``42``.

    Why: gateways in typed languages write ids as text, and prompt_logprobs keys are strings anyway; no server captured
    here does it for ids.
    Right: refuse, or null for the ids; a string must not reach a tensor.
    Breaks: renderers 0.1.12 passes them on; verifiers 0.3.0 coerces them silently (both measured).
    """
    return map_choices(told, context.parameters.choice, lambda choice: map_values(choice, "ids", str))


@on_told(
    "completion-ids-as-floats",
    family=FAMILY,
    may=REFUSE,
    values=VALUES,
    parameters=OnChoice,
    applies=asks_completion_ids,
)
def completion_ids_as_floats(told: Told, context: FaultContext[OnChoice]) -> Told:
    """Completion ids are floats: ``42.0`` instead of ``42``.

    Why: the Together SDK declares token_ids as a list of floats, and every language with one number type can do it.
    Right: refuse, or null for the ids.
    Breaks: clients in JavaScript cannot tell them apart; Python clients hand floats on as ids.
    """

    def to_float(token_id: Any) -> Any:
        return float(token_id) if isinstance(token_id, int) else token_id

    return map_choices(told, context.parameters.choice, lambda choice: map_values(choice, "ids", to_float))


@on_told(
    "completion-ids-doubled",
    family=FAMILY,
    may=("refuse", "as-sent"),
    values=VALUES,
    parameters=OnChoice,
    applies=asks_completion_ids,
    judge=refuse_where_lengths_show,
)
def completion_ids_doubled(told: Told, context: FaultContext[OnChoice]) -> Told:
    """The completion ids of every step are sent twice.

    Why: servers that resend a step on retraction or abort repeat its last ids:
    https://github.com/sgl-project/sglang/pull/34488
    Right: refuse where scores or usage count otherwise; where neither is on the wire no client can know.
    Breaks: verifiers 0.3.0, rllm-model-gateway 0.1.0, agent-lightning 1.0 keep lists of different lengths.
    """
    return map_choices(
        told,
        context.parameters.choice,
        lambda choice: change_pieces(choice, "ids", lambda pieces: [[*piece, *piece] for piece in pieces]),
    )


@on_told(
    "completion-ids-cumulative",
    family=FAMILY,
    may=("refuse", "as-sent"),
    values=VALUES,
    parameters=OnChoice,
    applies=every(streams, asks_completion_ids),
    judge=refuse_where_lengths_show,
)
def completion_ids_cumulative(told: Told, context: FaultContext[OnChoice]) -> Told:
    """Every chunk of the stream carries all completion ids so far instead of the new ones.

    Why: two stream fashions exist side by side, and servers have mixed them within one chunk:
    https://github.com/sgl-project/sglang/pull/21583 and https://github.com/ai-dynamo/dynamo/pull/13879
    Right: refuse where scores or usage count otherwise; where neither is on the wire no client can know.
    Breaks: every client that appends: langchain-openai 1.7.4, litellm 1.110.2, rllm-model-gateway 0.1.0 (measured: 10
    ids for 4).
    """
    return map_choices(told, context.parameters.choice, lambda choice: change_pieces(choice, "ids", cumulated))


@on_told(
    "completion-ids-without-eos",
    family=FAMILY,
    may=("refuse", "as-sent"),
    values=VALUES,
    parameters=OnChoice,
    applies=asks_completion_ids,
    judge=refuse_where_lengths_show,
)
def completion_ids_without_eos(told: Told, context: FaultContext[OnChoice]) -> Told:
    """The id of the token that ended the answer is not among the completion ids; its score and usage are there.

    Why: Dynamo's SGLang worker removed the stop token from the ids of every normal finish:
    https://github.com/ai-dynamo/dynamo/issues/14302 , and one frontend told 566 ids against 565 scores:
    https://github.com/NVIDIA-NeMo/Gym/pull/1963
    Right: refuse where scores or usage count one more; an EOS put back by the client is invented.
    Breaks: SkyRL appends an EOS with logprob 0.0 in some generators; verifiers 0.3.0 keeps lists of different lengths.
    """
    dropped: list[int] = []

    def drop(choice: ToldChoice) -> ToldChoice:
        pieces = pieces_of(choice, "ids")
        if pieces is None or not ended_by_token(choice) or not any(pieces):
            return choice
        dropped.append(choice.index)
        last = max(number for number, piece in enumerate(pieces) if piece)
        pieces[last].pop()
        return with_pieces(choice, "ids", pieces)

    changed = map_choices(told, context.parameters.choice, drop)
    if not dropped and any(choice.ids for choice in told.choices):
        raise FaultError("no choice of this answer ends with an EOS or stop token", hint="let the reply finish by stop")
    return changed


def ended_by_token(choice: ToldChoice) -> bool:
    """The last token is the one that ended the choice: an EOS or a stop id, not a stop string, a limit or a failure."""
    return choice.finish_reason == "stop" and not isinstance(choice.stop_reason, str) and choice.failure is None


class Past(OnChoice):
    count: Annotated[int, Field(ge=1, description="how many ids follow after the end")] = 2
    scores: Annotated[bool, Field(description="scores for them are told too, so that only usage contradicts")] = False


@on_told(
    "completion-ids-past-stop",
    family=FAMILY,
    may=("refuse", "as-sent"),
    values=VALUES,
    parameters=Past,
    applies=asks_completion_ids,
    judge=refuse_where_lengths_show,
)
def completion_ids_past_stop(told: Told, context: FaultContext[Past]) -> Told:
    """Ids that the engine drew after the end of the answer are told with it.

    Why: with speculative decoding the text was cut at a stop string, ids and scores behind it were kept:
    https://github.com/vllm-project/vllm/pull/47616 , and tokens after EOS leaked:
    https://github.com/sgl-project/sglang/pull/33758
    Right: refuse where scores or usage count fewer; where nothing contradicts no client can know.
    Breaks: every capture client that compares no lengths trains on tokens that were never part of the answer.
    """
    given = context.parameters

    def extend(pieces: Pieces) -> Pieces:
        known = [value for piece in pieces for value in piece]
        if known:
            pieces[-1].extend(known[number % len(known)] for number in range(given.count))
        return pieces

    def change(choice: ToldChoice) -> ToldChoice:
        longer = change_pieces(choice, "ids", extend)
        return change_pieces(longer, "scores", extend) if given.scores else longer

    return map_choices(told, given.choice, change)


@on_told(
    "completion-ids-retokenised",
    family=FAMILY,
    may=("refuse", "as-sent"),
    values=VALUES,
    parameters=OnChoice,
    applies=asks_completion_ids,
    judge=refuse_where_lengths_show,
)
def completion_ids_retokenised(told: Told, context: FaultContext[OnChoice]) -> Told:
    """The completion ids spell the same text with other tokens than were sampled; the scores are those of the sample.

    Why: gateways without ids re-encode the text and keep the server's scores:
    https://github.com/rllm-org/rllm/issues/816 , https://github.com/eval-protocol/python-sdk/pull/458
    Right: refuse where the number of scores or usage disagrees.
    Breaks: rllm pads the shorter list with zeros; verifiers 0.3.0 keeps both.
    """

    def change(choice: ToldChoice) -> ToldChoice:
        def split(pieces: Pieces) -> Pieces:
            number = next((place for place in range(len(pieces)) if _splits(pieces[place], context)), None)
            if number is not None:
                pieces[number] = list(split_token(pieces[number], context.tokenizer, 0))
            return pieces

        return change_pieces(choice, "ids", split)

    changed = map_choices(told, context.parameters.choice, change)
    if changed == told and any(choice.ids for choice in told.choices):
        raise FaultError("no token of this answer can be told as two others", hint="use a longer text")
    return changed


def _splits(piece: list[Any], context: FaultContext[Any]) -> bool:
    if not piece:
        return False
    try:
        split_token(piece, context.tokenizer, 0)
    except FaultError:
        if context.tokenizer is None:
            raise
        return False
    return True


class Tail(OnChoice):
    count: Annotated[int, Field(ge=1, description="how many prompt ids stand before the completion")] = 5


@on_told(
    "completion-ids-with-prompt-tail",
    family=FAMILY,
    may=("refuse", "as-sent"),
    values=VALUES,
    parameters=Tail,
    applies=asks_completion_ids,
    judge=refuse_where_lengths_show,
)
def completion_ids_with_prompt_tail(told: Told, context: FaultContext[Tail]) -> Told:
    """The completion ids begin with the last ids of the prompt.

    Why: SGLang 0.5.1 to 0.5.4 told the detokenizer's window as output_ids:
    https://github.com/sgl-project/sglang/issues/17240
    Right: refuse where scores or usage count fewer.
    Breaks: clients that take output_ids as they come (RLinf needed https://github.com/RLinf/RLinf/pull/284 ).
    """

    def change(choice: ToldChoice) -> ToldChoice:
        tail = list(told.prompt_of(choice).token_ids or ())[-context.parameters.count :] if told.prompts else []

        def prepend(pieces: Pieces) -> Pieces:
            return [[*tail, *pieces[0]], *pieces[1:]] if pieces else pieces

        return change_pieces(choice, "ids", prepend)

    return map_choices(told, context.parameters.choice, change)


@on_told(
    "completion-ids-lost-without-text",
    family=FAMILY,
    may=("refuse", "as-sent"),
    values=(*VALUES, "logprobs"),
    parameters=OnChoice,
    applies=asks_completion_ids,
    judge=refuse_where_lengths_show,
)
def completion_ids_lost_without_text(told: Told, context: FaultContext[OnChoice]) -> Told:
    """Steps that show no text tell neither ids nor scores: the EOS, pieces of characters, markup that a parser hides.

    Ids and scores vanish together, so their lengths agree with each other; only usage knows better.

    Why: a tool parser that returns nothing made vLLM skip the whole chunk:
    https://github.com/vllm-project/vllm/issues/27482 (23 sampled, 4 told); TensorRT-LLM told ids only with text:
    https://github.com/NVIDIA/TensorRT-LLM/pull/14859
    Right: refuse where usage counts more.
    Breaks: agent-lightning met it in tool calls ( https://github.com/microsoft/agent-lightning/issues/326 ); no
    client tried compares ids with usage in streams.
    """

    def change(choice: ToldChoice) -> ToldChoice:
        def drop(pieces: Pieces) -> Pieces:
            shown = zip(pieces, choice.steps, strict=True) if choice.steps else ()
            return [piece if _shows(step) else [] for piece, step in shown] or pieces

        return change_pieces(change_pieces(choice, "ids", drop), "scores", drop)

    return map_choices(told, context.parameters.choice, change)


def _shows(step: ToldStep) -> bool:
    if step.parts is None:
        return bool(step.text)
    return any(part.text or part.name for part in step.parts)
