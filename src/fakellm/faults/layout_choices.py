"""Faults on the list of choices: their order, how their chunks interleave, and the index that tells them apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..message import Message, Rendering
from .base import RECOVER, FaultContext, Parameters, on_rendering
from .bodies import Json, body, choices, has_body, map_bodies, map_choice_rows
from .where import every, has_choices, refuse_with_several_choices, several_choices, streams

FAMILY = "choices"


def _of_choice(message: Message) -> Any:
    """The index of the only choice that a message speaks of, None when it speaks of none or several."""
    rows = choices(message)
    return rows[0].get("index") if len(rows) == 1 else None


def _in_order(rendering: Rendering, order: list[int]) -> Rendering:
    """The messages of choices in another order; the places and due times of the stream stay."""
    places = sorted(order)
    messages = list(rendering.messages)
    for place, source in zip(places, order, strict=True):
        messages[place] = replace(rendering.messages[source], due_ms=rendering.messages[place].due_ms)
    return replace(rendering, messages=tuple(messages))


@on_rendering("choices-out-of-order", family=FAMILY, may=RECOVER, applies=every(has_choices, several_choices))
def choices_out_of_order(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """The list of choices is not in the order of the index; a stream tells the last choice first, whole.

    Why: https://github.com/ai-dynamo/dynamo/pull/11563 , and engines answer with what is ready first.
    Right: the index tells which choice it is, not the place.
    Breaks: OpenPipe ART 0.5.18 zips by position (read); clients that take choices[0].
    """
    if rendering.stream:
        placed = [(number, _of_choice(message)) for number, message in enumerate(rendering.messages)]
        order = sorted(
            (number for number, index in placed if index is not None),
            key=lambda number: -int(placed[number][1]) if isinstance(placed[number][1], int) else 0,
        )
        return _in_order(rendering, order)

    def turn(members: Json) -> Json:
        listed: Any = members.get("choices")
        return {**members, "choices": list(reversed(listed))} if isinstance(listed, list) else members  # pyright: ignore[reportUnknownArgumentType]

    return map_bodies(rendering, turn)


@on_rendering("choices-interleaved", family=FAMILY, may=RECOVER, applies=every(streams, has_choices, several_choices))
def choices_interleaved(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """The chunks of the choices come in changing order, and one choice runs ahead of the others.

    Why: engines answer with what is ready; https://github.com/huggingface/text-generation-inference/pull/1648
    Right: the index of every chunk tells which choice it continues.
    Breaks: rllm-model-gateway 0.1.0 merges the ids of all choices into one list (measured); langchain-openai 1.7.4
    mixes their scores.
    """
    queues: dict[Any, list[int]] = {}
    for number, message in enumerate(rendering.messages):
        index = _of_choice(message)
        if index is not None:
            queues.setdefault(index, []).append(number)
    order: list[int] = []
    round_number = 0
    while any(queues.values()):
        waiting = [index for index, queue in queues.items() if queue]
        turn = round_number % len(waiting)
        for step, index in enumerate([*waiting[turn:], *waiting[:turn]]):
            # The first of each round gets two chunks out, so that one choice runs ahead.
            for _ in range(2 if step == 0 else 1):
                if queues[index]:
                    order.append(queues[index].pop(0))
        round_number += 1
    return _in_order(rendering, order)


@on_rendering("choices-in-one-chunk", family=FAMILY, may=RECOVER, applies=every(streams, has_choices, several_choices))
def choices_in_one_chunk(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """One chunk speaks of several choices.

    Why: the format allows it; servers that answer per engine step do it.
    Right: every element of choices counts, by its index.
    Breaks: litellm 1.110.2 emits the first choice only: the id and the finish of the other are lost (measured).
    """
    messages: list[Message] = []
    for message in rendering.messages:
        last = messages[-1] if messages else None
        mine = [row.get("index") for row in choices(message)]
        theirs = [row.get("index") for row in choices(last)] if last is not None else []
        joins = last is not None and mine and theirs and not set(map(str, mine)) & set(map(str, theirs))
        if last is not None and joins and has_body(message) and last.kind == message.kind:
            merged = {**body(last), **body(message), "choices": [*choices(last), *choices(message)]}
            messages[-1] = replace(last, body=merged, choice=None, tokens=None)
        else:
            messages.append(message)
    return replace(rendering, messages=tuple(messages))


@on_rendering(
    "choice-index-missing",
    family=FAMILY,
    may=("recover", "refuse"),
    applies=has_choices,
    judge=refuse_with_several_choices,
)
def choice_index_missing(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """The choices have no index.

    Why: several servers leave it out when there is one choice.
    Right: one choice needs none; several in a stream cannot be told apart: refuse.
    Breaks: clients that index it; those that take a missing index for 0 merge choices.
    """
    return map_choice_rows(rendering, lambda row: {key: value for key, value in row.items() if key != "index"})


@on_rendering("choice-index-from-one", family=FAMILY, may=RECOVER, applies=has_choices)
def choice_index_from_one(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """The index of the choices counts from 1.

    Why: https://github.com/huggingface/text-generation-inference/pull/1648 (an index that was something else).
    Right: the order of the index tells the choices apart, whatever it begins with.
    Breaks: clients that allot n places and write at the index.
    """

    def shift(row: Json) -> Json:
        index = row.get("index")
        return {**row, "index": index + 1} if isinstance(index, int) else row

    return map_choice_rows(rendering, shift)


@on_rendering(
    "choice-index-constant",
    family=FAMILY,
    may=("refuse",),
    applies=every(has_choices, several_choices),
)
def choice_index_constant(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """All choices have the index 0.

    Why: https://github.com/BerriAI/litellm/issues/3276 (an index that was not the choice's); gateways that make one
    stream of several calls.
    Right: refuse: two choices with one index cannot be told apart.
    Breaks: clients that key by index merge or overwrite choices silently.
    """
    return map_choice_rows(rendering, lambda row: {**row, "index": 0} if "index" in row else row)
