"""Faults on what the answer says about itself before any layout: token counts, why it ended, tool arguments."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any, cast

from pydantic import Field

from ..errors import FaultError
from ..told import Part, Told, ToldChoice, ToldStep
from .base import AS_SENT, RECOVER, REFUSE, FaultContext, OnChoice, Parameters, on_told
from .sequences import map_choices
from .where import has_tools, shows_usage


class Counts(Parameters):
    completion: Annotated[int, Field(description="added to completion_tokens")] = 1
    prompt: Annotated[int, Field(description="added to prompt_tokens")] = 0


@on_told(
    "usage-wrong",
    family="usage",
    may=REFUSE,
    values=("usage",),
    parameters=Counts,
    applies=lambda ask, layout: (
        None if shows_usage(ask) else "the answer has no usage (send stream_options.include_usage)"
    ),
)
def usage_wrong(told: Told, context: FaultContext[Counts]) -> Told:
    """Usage counts other tokens than the ids on the wire.

    Why: tokens after a stop string are counted and not told, or the reverse; Dynamo counted about ten times too many
    after a flag was renamed: https://github.com/ai-dynamo/dynamo/pull/7642
    Right: refuse: either the ids or the count is wrong.
    Breaks: every client tried takes both.
    """
    given, usage = context.parameters, told.usage
    return replace(
        told,
        usage=replace(
            usage,
            completion_tokens=None if usage.completion_tokens is None else usage.completion_tokens + given.completion,
            prompt_tokens=None if usage.prompt_tokens is None else usage.prompt_tokens + given.prompt,
        ),
    )


class Reason(OnChoice):
    reason: Annotated[str, Field(min_length=1, description="what is told instead")] = "eos_token"


@on_told("finish-reason-unknown", family="finish", may=AS_SENT, values=("finish_reason",), parameters=Reason)
def finish_reason_unknown(told: Told, context: FaultContext[Reason]) -> Told:
    """finish_reason is a word that the API does not know.

    Why: vLLM says "repetition" and "abort", Together "eos", TGI "eos_token".
    Right: the word as it was sent, or a refusal.
    Breaks: clients with a closed list of reasons: the Fireworks SDK raises, others map it to "stop".
    """
    reason = context.parameters.reason

    def change(choice: ToldChoice) -> ToldChoice:
        steps = tuple(
            step if step.finish_reason is None else replace(step, finish_reason=reason) for step in choice.steps
        )
        return replace(choice, finish_reason=reason, steps=steps)

    return map_choices(told, context.parameters.choice, change)


@on_told("tool-arguments-reserialised", family="tools", may=RECOVER, parameters=OnChoice, applies=has_tools)
def tool_arguments_reserialised(told: Told, context: FaultContext[OnChoice]) -> Told:
    """The arguments of a tool call are written anew, so that they differ from what the tokens spell.

    Blanks and key order change, the value stays: what the client sends back next turn is tokenised otherwise.

    Why: https://github.com/PrimeIntellect-ai/prime-rl/issues/1334 and https://github.com/NVIDIA-NeMo/Gym/pull/1545
    Right: ids and scores are captured as they are; arguments are only text.
    Breaks: prefix checks between turns; clients that re-tokenise history train on another sequence.
    """
    found: list[str] = []

    def change(choice: ToldChoice) -> ToldChoice:
        whole = choice.parts
        written = _rewritten_calls(
            tuple(part for step in choice.steps for part in step.parts or ()) if whole is None else whole
        )
        found.extend(written.values())
        places = {place: len(choice.steps) - 1 for place in written}
        for number, step in enumerate(choice.steps):
            for part in step.parts or ():
                if part.kind == "tool":
                    places[part.tool_index or 0] = number
        steps = tuple(_moved_arguments(step, number, written, places) for number, step in enumerate(choice.steps))
        return replace(choice, parts=None if whole is None else _with_arguments(whole, written), steps=steps)

    changed = map_choices(told, context.parameters.choice, change)
    if not found:
        raise FaultError(
            "this answer calls no tool", hint="let the reply say tool_calls and give the layout its parser"
        )
    return changed


def _rewritten_calls(parts: tuple[Part, ...]) -> dict[int, str]:
    """Arguments of every call: keys in reverse order, json.dumps blanks instead of none and the reverse."""
    whole: dict[int, str] = {}
    for part in parts:
        if part.kind == "tool":
            whole[part.tool_index or 0] = whole.get(part.tool_index or 0, "") + part.text
    written: dict[int, str] = {}
    for place, text in whole.items():
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        if isinstance(value, dict):
            members = cast(dict[str, Any], value)
            value = {name: members[name] for name in reversed(members)}
        compact = json.dumps(value, separators=(",", ":"))
        written[place] = compact if compact != text else json.dumps(value)
    return written


def _with_arguments(parts: tuple[Part, ...], written: dict[int, str]) -> tuple[Part, ...]:
    left = dict(written)
    changed: list[Part] = []
    for part in parts:
        text = left.pop(part.tool_index or 0, "") if part.kind == "tool" else part.text
        changed.append(replace(part, text=text))
    return tuple(changed)


def _moved_arguments(step: ToldStep, number: int, written: dict[int, str], places: dict[int, int]) -> ToldStep:
    """A call's arguments arrive whole in the last step that speaks of it, the steps before keep the name only."""
    if step.parts is None:
        return step
    kept: list[Part] = []
    for part in step.parts:
        place = part.tool_index or 0
        if part.kind != "tool":
            kept.append(part)
        elif places[place] == number and not any(each.kind == "tool" and each.tool_index == place for each in kept):
            kept.append(replace(part, text=written[place]))
        elif part.name is not None:
            kept.append(replace(part, text=""))
    return replace(step, parts=tuple(kept))
