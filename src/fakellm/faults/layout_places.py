"""Ids that stand at another place than the layout's own, or come at another time.

Where they go is a place that some other server or gateway uses, or none does: in the first case a client recovers them,
in the second they count as not on the wire (CONFORMANCE section 2).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from ..ask import Ask
from ..layouts.base import Accessor, Layout
from ..message import Message, Rendering
from .base import NULL, RECOVER, FaultContext, Parameters, accessors_of, on_rendering
from .bodies import (
    DROP,
    Json,
    beside,
    body,
    change,
    change_at,
    choices,
    finishes,
    has_body,
    id_lists,
    ids_way,
    insert_after,
    map_bodies,
    silent,
)
from .where import asks_completion_ids, asks_ids, asks_prompt_ids, choices_of, every, has_choices, streams

PROMPT = ("prompt_token_ids",)
COMPLETION = ("completion_token_ids",)
NAMES = {"prompt_token_ids": "prompt_token_ids", "completion_token_ids": "token_ids"}


class Which(Parameters):
    prompt: Annotated[bool, Field(description="move the prompt ids")] = True
    completion: Annotated[bool, Field(description="move the completion ids")] = False

    def names(self) -> tuple[str, ...]:
        return tuple(
            value
            for value, wanted in (("prompt_token_ids", self.prompt), ("completion_token_ids", self.completion))
            if wanted
        )


def _under_choice(accessor: Accessor) -> bool:
    return accessor.path.startswith("choices[].") and accessor.path.count(".") == 1


def _somewhere_else(ask: Ask, layout: Layout) -> str | None:
    places = [place for name in NAMES for place in accessors_of(ask, layout, name)]
    return "all ids stand under the choice anyway" if places and all(map(_under_choice, places)) else None


@on_rendering(
    "ids-nested-under-choice",
    family="places",
    may=RECOVER,
    values=(*PROMPT, *COMPLETION),
    parameters=Which,
    applies=every(has_choices, asks_ids, _somewhere_else),
)
def ids_nested_under_choice(rendering: Rendering, context: FaultContext[Which]) -> Rendering:
    """Ids that stand elsewhere are told under the choice, where vLLM's completions have them.

    Why: https://github.com/cooperbench/CooperBench/pull/78 : ids stand at the top, under the choice, or in both places,
    depending on server, API and gateway; Fireworks has both.
    Right: look in every known place.
    Breaks: verifiers 0.3.0 (chat) finds no ids; rllm-model-gateway 0.1.0 reports [] and leaks them to its client; TRL
    1.16 raises a KeyError (measured).
    """
    for name in context.parameters.names():
        for accessor in context.accessors(name):
            if not _under_choice(accessor):
                rendering = _nested(rendering, accessor, NAMES[name])
    return rendering


def _nested(rendering: Rendering, accessor: Accessor, name: str) -> Rendering:
    """The ids of a place under the choices: of the message that carried them, or of the ones that finish a stream."""
    if not any(id_lists(message.body, accessor) for message in rendering.messages):
        return rendering
    homeless: list[list[Any]] = []
    messages: list[Message] = []
    for message in rendering.messages:
        found, rows = id_lists(message.body, accessor), choices(message)
        emptied = change(message.body, ids_way(accessor), lambda _: DROP) if found else message.body
        if found and rows:
            fresh = [{**row, name: _ids_of(found, row.get("index"))} for row in rows]
            emptied = {**emptied, "choices": fresh}
        elif found:
            homeless = found
        messages.append(replace(message, body=emptied))
    if homeless:
        messages = [_finishing(message, name, homeless) if finishes(message) else message for message in messages]
    return replace(rendering, messages=tuple(messages))


def _finishing(message: Message, name: str, found: list[list[Any]]) -> Message:
    rows = [{**row, name: _ids_of(found, row.get("index"))} for row in choices(message)]
    return replace(message, body={**body(message), "choices": rows})


def _prompt_is_nested(ask: Ask, layout: Layout) -> str | None:
    places = accessors_of(ask, layout, "prompt_token_ids")
    return None if any("." in place.path for place in places) else "the prompt ids stand at the top anyway"


@on_rendering(
    "prompt-ids-at-the-top",
    family="places",
    may=RECOVER,
    values=PROMPT,
    applies=every(asks_prompt_ids, has_choices, _prompt_is_nested),
)
def prompt_ids_at_the_top(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """Prompt ids stand at the top of the body where this API nests them.

    Why: vLLM's chat has them there, its completions under the choice; clients know one of the two.
    Right: look in every known place.
    Breaks: verifiers 0.3.0 (completions) returns no ids, it requires them nested (measured).
    """
    for accessor in context.accessors("prompt_token_ids"):
        rendering = _lifted(rendering, accessor, "prompt_token_ids")
    return rendering


def _lifted(rendering: Rendering, accessor: Accessor, name: str) -> Rendering:
    """The ids of a place at the top of the body that carried them."""

    def lift(members: Json) -> Json:
        found = id_lists(members, accessor)
        emptied: Json = change(members, ids_way(accessor), lambda _: DROP)
        return {**emptied, name: found[0]} if found else members

    return map_bodies(rendering, lift)


def _one_choice(ask: Ask, layout: Layout) -> str | None:
    return None if choices_of(ask) == 1 else "the ids of several choices cannot stand at the top"


@on_rendering(
    "completion-ids-at-the-top",
    family="places",
    may=NULL,
    values=COMPLETION,
    applies=every(asks_completion_ids, has_choices, _one_choice),
)
def completion_ids_at_the_top(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """Completion ids stand at the top of the body, in a place where no captured layout has them.

    Why: early agent-lightning servers told ``response_token_ids`` there:
    https://github.com/microsoft/agent-lightning/issues/44
    Right: null for the ids, or a refusal; nothing guessed.
    Breaks: clients that take the nearest list of integers.
    """
    for accessor in context.accessors("completion_token_ids"):
        rendering = _lifted(rendering, accessor, "x_response_token_ids")
    return rendering


@on_rendering(
    "completion-ids-nested-deeper",
    family="places",
    may=NULL,
    values=COMPLETION,
    applies=every(asks_completion_ids, has_choices),
)
def completion_ids_nested_deeper(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """Completion ids stand deeper under the choice than any captured layout has them.

    Why: SDKs and gateways move fields they do not know into bags of their own; litellm's bag made cooperbench 0.0.20
    miss the ids of 816 of 816 calls: https://github.com/cooperbench/CooperBench/pull/78
    Right: null for the ids, or a refusal.
    Breaks: clients that report success without ids.
    """
    for accessor in context.accessors("completion_token_ids"):
        way = ids_way(accessor)
        name = str(way[-1])
        holder = way[:-1]

        def deepen(members: Any, name: str = name) -> Any:
            if not isinstance(members, dict) or name not in members:
                return cast(Any, members)
            row = cast(Json, members)
            kept = {key: value for key, value in row.items() if key != name}
            return {**kept, "x_details": {"tokens": {"ids": row[name]}}}

        rendering = change_at(rendering, accessor, holder, deepen)
    return rendering


class Late(Parameters):
    chunk: Annotated[
        Literal["finish", "usage"], Field(description="the chunk that carries them: the finish or the usage chunk")
    ] = "finish"


def _comes_early(ask: Ask, layout: Layout) -> str | None:
    places = accessors_of(ask, layout, "prompt_token_ids")
    late = places and all(set(place.messages) <= {"meta", "usage", "finish"} for place in places)
    return "the prompt ids come in the last chunks anyway" if late else None


def _take_prompt(rendering: Rendering, context: FaultContext[Any]) -> tuple[Rendering, Accessor, list[Any]] | None:
    """The stream without prompt ids, and the ids of every place; None when another fault has taken them already."""
    for accessor in context.accessors("prompt_token_ids"):
        found = [ids for message in rendering.messages for ids in id_lists(message.body, accessor) if ids]
        if found:
            way = ids_way(accessor)
            return change_at(rendering, accessor, way, lambda ids: None if ids is None else DROP), accessor, found
    return None


def _ids_of(found: list[Any], index: Any) -> Any:
    """The ids of a choice: its own, or the ones that stand for all."""
    return found[index] if isinstance(index, int) and 0 <= index < len(found) else found[0]


@on_rendering(
    "prompt-ids-late",
    family="places",
    may=RECOVER,
    values=PROMPT,
    parameters=Late,
    applies=every(streams, asks_prompt_ids, has_choices, _comes_early),
)
def prompt_ids_late(rendering: Rendering, context: FaultContext[Late]) -> Rendering:
    """Prompt ids come with the last chunk instead of the first.

    Why: Dynamo sends them with the finish_reason (1.6.1, captured), SGLang in a chunk of its own at the end (0.5.20).
    Right: take them from whichever chunk carries them.
    Breaks: rllm-model-gateway 0.1.0 reads the first chunk only and reports []; the .stream() helper of openai-python
    3.57 loses them (measured).
    """
    taken = _take_prompt(rendering, context)
    if taken is None:
        return rendering
    emptied, accessor, found = taken
    nested = accessor.path.startswith("choices[].")
    key = str(ids_way(accessor)[-1])
    wants_usage = context.parameters.chunk == "usage" and any(message.kind == "usage" for message in emptied.messages)

    def put(message: Message) -> Message:
        if nested and finishes(message):
            rows = [{**row, key: _ids_of(found, row.get("index"))} for row in choices(message)]
            return replace(message, body={**body(message), "choices": rows})
        if not nested and has_body(message) and (message.kind == "usage" if wants_usage else finishes(message)):
            return replace(message, body={**body(message), key: found[0]})
        return message

    return replace(emptied, messages=tuple(put(message) for message in emptied.messages))


@on_rendering(
    "prompt-ids-on-own-chunk",
    family="places",
    may=RECOVER,
    values=PROMPT,
    applies=every(streams, asks_prompt_ids, has_choices, _comes_early),
)
def prompt_ids_on_own_chunk(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """Prompt ids come in a chunk of their own, after the first text.

    Why: SGLang's sglext chunk has no choices at all: https://github.com/sgl-project/sglang/pull/34488
    Right: take them from whichever chunk carries them.
    Breaks: clients that read choices[0] of every chunk, and those that look at the first chunk only.
    """
    taken = _take_prompt(rendering, context)
    if taken is None:
        return rendering
    emptied, accessor, found = taken
    place = next((number for number, message in enumerate(emptied.messages) if message.kind == "delta"), 0)
    like = emptied.messages[place]
    key = str(ids_way(accessor)[-1])
    if accessor.path.startswith("choices[]."):
        rows = [{**silent(row), key: _ids_of(found, row.get("index"))} for row in choices(like)[:1]]
        rest = [
            {**silent(choices(like)[0]), "index": index, key: ids}
            for index, ids in enumerate(found)
            if rows and index != rows[0].get("index")
        ]
        return insert_after(emptied, place, beside(like, [*rows, *rest]))
    return insert_after(emptied, place, beside(like, [], **{key: found[0]}))
