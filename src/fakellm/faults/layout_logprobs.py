"""Scores at odd places of a stream, and values that JSON does not have."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from ..ask import Ask
from ..layouts.base import Accessor, Layout
from ..message import Message, Rendering
from ..told import Score, Told
from .base import RECOVER, REFUSE, AtToken, FaultContext, OnChoice, on_rendering, out_of_range
from .bodies import (
    Json,
    beside,
    body,
    change,
    choices,
    has_body,
    holder_way,
    insert_after,
    leaf_way,
    silent,
    values,
    with_numbers,
)
from .meaning_ids import ended_by_token
from .sequences import place as place_of
from .where import asks_logprobs, every, of_api, streams

FAMILY = "score-places"
VALUES = ("logprobs",)
TEXT_DELTA = "response.output_text.delta"


def _stands_alone(ask: Ask, layout: Layout) -> str | None:
    return of_api("chat", "completions", "responses", "tito")(ask, layout)


def _last_entry(scores: Any) -> tuple[Any, Any] | None:
    """Scores without their last entry, and that entry alone; None where there is none. Parallel lists are cut alike."""
    if isinstance(scores, list):
        entries = cast(list[Any], scores)
        return (entries[:-1], entries[-1:]) if entries else None
    if not isinstance(scores, dict):
        return None
    members = cast(Json, scores)
    lists = {key: cast(list[Any], value) for key, value in members.items() if isinstance(value, list) and value}
    if not lists:
        return None
    rest = {key: entries[:-1] for key, entries in lists.items()}
    last = {key: entries[-1:] for key, entries in lists.items()}
    return {**members, **rest}, {**members, **last}


@on_rendering(
    "late-eos-score",
    family=FAMILY,
    may=RECOVER,
    values=VALUES,
    parameters=OnChoice,
    applies=every(streams, asks_logprobs, _stands_alone),
)
def late_eos_score(rendering: Rendering, context: FaultContext[OnChoice]) -> Rendering:
    """The score of the last token comes after the last text, in a chunk behind the one with the finish_reason.

    In the Responses API it is a further, empty output_text.delta behind the last text.

    Why: engines score a token after they have sent it, and cursors cut such scores wrongly:
    https://github.com/ai-dynamo/dynamo/pull/13879 ; vLLM's Responses streams up to 0.16 send the end token's score in
    an empty delta (captured).
    Right: read until the stream ends; the score belongs to the last id.
    Breaks: litellm 1.110.2 swallows it for every provider; openai-agents 0.24.0 loses it (measured).
    """
    if context.ask.api == "responses":
        return _late_event(rendering, context.told)
    for choice in {row.get("index", 0) for message in rendering.messages for row in choices(message)}:
        if context.parameters.choice is None or choice == context.parameters.choice:
            rendering = _late_chunk(rendering, context, choice)
    return rendering


def _late_chunk(rendering: Rendering, context: FaultContext[Any], choice: Any) -> Rendering:
    accessor = context.accessors("logprobs")[0]
    way = holder_way(accessor)
    places = [
        number
        for number, message in enumerate(rendering.messages)
        if any(row.get("index", 0) == choice for row in choices(message))
    ]
    scored = [n for n in places if any(_last_entry(each) for each in values(rendering.messages[n].body, way, choice))]
    if not scored:
        return rendering
    source, last = scored[-1], places[-1]
    late: list[Any] = []

    def cut(scores: Any) -> Any:
        parts = _last_entry(scores)
        if parts is None:
            return scores
        late.append(parts[1])
        return parts[0]

    messages = list(rendering.messages)
    message = messages[source]
    messages[source] = replace(message, body=change(message.body, way, cut, choice))
    row = next(row for row in choices(messages[last]) if row.get("index", 0) == choice)
    bare = {key: value for key, value in silent(row).items() if value != []}  # a score alone: no empty list of ids
    further = beside(messages[last], [change(bare, way[2:], lambda _: late[0])])
    return insert_after(replace(rendering, messages=tuple(messages)), last, further)


def _late_event(rendering: Rendering, told: Told | None) -> Rendering:
    """The Responses API: an empty delta behind the last text carries the last token's score, which most versions drop.

    Where the layout itself sends it so (vLLM up to 0.16) nothing is left to do.
    """
    texts = [number for number, message in enumerate(rendering.messages) if message.event == TEXT_DELTA]
    scored = [number for number in texts if body(rendering.messages[number]).get("logprobs")]
    if not scored or not body(rendering.messages[scored[-1]]).get("delta"):
        return rendering
    messages = list(rendering.messages)
    last = messages[texts[-1]]
    entries = cast(list[Any], body(messages[scored[-1]])["logprobs"])
    late = _end_entry(told, entries[-1])
    if late is None:
        late = entries[-1]
        messages[scored[-1]] = replace(last, body={**body(messages[scored[-1]]), "logprobs": entries[:-1]})
    empty = replace(last, body={**body(last), "delta": "", "logprobs": [late]}, tokens=None)
    return with_numbers(insert_after(replace(rendering, messages=tuple(messages)), texts[-1], empty))


def _end_entry(told: Told | None, like: Json) -> Json | None:
    """The end token's entry as the stream spells entries; None when what was told has none that the stream lacks."""
    choice = told.choices[0] if told is not None and told.choices else None
    scores = choice.scores if choice is not None else None
    score = scores[-1] if scores else None
    if choice is None or score is None or not ended_by_token(choice) or score.token == like.get("token"):
        return None
    return {key: value for key, value in _spelled_entry(score).items() if key in like}


def _spelled_entry(score: Score) -> Json:
    alternatives = [{"token": each.token, "logprob": each.logprob} for each in score.top or ()]
    data = None if score.bytes is None else list(score.bytes)
    return {"token": score.token, "bytes": data, "logprob": score.logprob, "top_logprobs": alternatives}


@on_rendering(
    "logprobs-on-empty-delta",
    family=FAMILY,
    may=RECOVER,
    values=VALUES,
    parameters=OnChoice,
    applies=every(streams, asks_logprobs, of_api("chat", "completions")),
)
def logprobs_on_empty_delta(rendering: Rendering, context: FaultContext[OnChoice]) -> Rendering:
    """Scores come in a chunk of their own, whose delta is empty, behind the chunk with text and ids.

    Why: SGLang with parsers sends leftover scores so (0.5.23, captured); Dynamo for pieces of characters.
    Right: scores count whether their chunk shows text or not.
    Breaks: openai-agents 0.24.0 reads scores only where delta.content is not None:
    https://github.com/openai/openai-agents-python (models/chatcmpl_stream_handler.py, measured).
    """
    way = holder_way(context.accessors("logprobs")[0])
    only = context.parameters.choice
    messages: list[Message] = []
    for message in rendering.messages:
        rows = [row for row in choices(message) if only is None or row.get("index", 0) == only]
        scored = [row for row in rows if any(_last_entry(each) for each in values(row, way[2:]))]
        if not scored:
            messages.append(message)
            continue
        messages.append(replace(message, body=change(message.body, way, lambda _: None, only)))
        further = beside(message, [{**silent(row), "logprobs": row["logprobs"]} for row in scored])
        messages.append(replace(further, due_ms=message.due_ms))
    return replace(rendering, messages=tuple(messages))


def _leaf(rendering: Rendering, context: FaultContext[AtToken], act: Callable[[Any], Any]) -> Rendering:
    """Change one score on the wire, the one at position ``at`` of every choice that the parameters name."""
    accessor = context.accessors("logprobs")[0]
    way = leaf_way(accessor)
    only = context.parameters.choice
    indexes = {row.get("index", n) for message in rendering.messages for n, row in enumerate(choices(message))} or {
        None
    }
    reached = False
    longest = 0
    for index in indexes if only is None else {only}:
        total = sum(
            len(values(message.body, way, index)) for message in rendering.messages if _bears(message, accessor)
        )
        longest = max(longest, total)
        target = place_of(total, context.parameters.at)
        if target is None:
            continue
        reached = True
        rendering = _change_nth(rendering, accessor, index, target, act)
    if longest and not reached:
        raise out_of_range("scores", context.parameters.at, longest)
    return rendering


def _bears(message: Message, accessor: Accessor) -> bool:
    events = [name for name in accessor.messages if "." in name]
    return has_body(message) and (not events or message.event in events)


def _change_nth(
    rendering: Rendering, accessor: Accessor, index: Any, target: int, act: Callable[[Any], Any]
) -> Rendering:
    way = leaf_way(accessor)
    seen = 0

    def visit(value: Any) -> Any:
        nonlocal seen
        seen += 1
        return act(value) if seen - 1 == target else value

    messages: list[Message] = []
    for message in rendering.messages:
        if not _bears(message, accessor):
            messages.append(message)
            continue
        before = seen
        changed = change(message.body, way, visit, index)
        hit = before <= target < seen
        messages.append(replace(message, body=changed, spelling=_literal(message.spelling)) if hit else message)
    return replace(rendering, messages=tuple(messages))


def _literal(spelling: str) -> str:
    """The spelling that writes NaN and Infinity as Python's json does."""
    return "json-nan" if spelling in ("json", "serde") else spelling


@on_rendering("logprob-nan", family="logprobs", may=REFUSE, values=VALUES, parameters=AtToken, applies=asks_logprobs)
def logprob_nan(rendering: Rendering, context: FaultContext[AtToken]) -> Rendering:
    """One score is the bare word NaN, which is no JSON and which many parsers take.

    Why: https://github.com/huggingface/trl/issues/6166 (the engine's NaN),
    https://github.com/vllm-project/vllm/issues/10234
    Right: refuse, or null for the scores of that choice; a parse error that is told counts as a refusal.
    Breaks: Python's json reads it without a word, and the loss is NaN from there on.
    """
    return _leaf(rendering, context, lambda _: math.nan)


class Infinite(AtToken):
    sign: Annotated[Literal["-", "+"], Field(description="which end")] = "-"


@on_rendering(
    "logprob-infinity",
    family="logprobs",
    may=REFUSE,
    values=VALUES,
    parameters=Infinite,
    applies=asks_logprobs,
)
def logprob_infinity(rendering: Rendering, context: FaultContext[Infinite]) -> Rendering:
    """One score is the bare word -Infinity: a token of probability zero was drawn.

    Why: https://github.com/sgl-project/sglang/issues/5984 ; servers answer 500, clip, or write the word.
    Right: refuse, or null for the scores of that choice.
    Breaks: Python's json reads it without a word.
    """
    return _leaf(rendering, context, lambda _: -math.inf if context.parameters.sign == "-" else math.inf)
