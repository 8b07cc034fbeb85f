"""Oddities of what surrounds the tokens: model, created, id, role, content, and how tool calls are pieced together.

Ids and scores are untouched, so a client that captures them recovers everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, cast

from pydantic import Field

from ..ask import Ask
from ..errors import FaultError
from ..layouts.base import Layout
from ..message import Message, Rendering
from ..reading.paths import steps
from .base import RECOVER, FaultContext, Parameters, on_rendering
from .bodies import Json, body, change, choices, has_body, map_bodies
from .where import every, has_tools, of_api, streams

CHAT = of_api("chat")


class Model(Parameters):
    name: Annotated[str, Field(min_length=1, description="the model that the answer names")] = "another-model"


def _names_model(ask: Ask, layout: Layout) -> str | None:
    return of_api("chat", "completions", "responses")(ask, layout)


@on_rendering("model-renamed", family="envelope", may=RECOVER, parameters=Model, applies=_names_model)
def model_renamed(rendering: Rendering, context: FaultContext[Model]) -> Rendering:
    """The answer names another model than the request.

    Why: litellm's proxy writes its alias (1.110.2, captured), routers the name of the deployment.
    Right: the tokens are captured as they are.
    Breaks: clients that look up prices or tokenizers by this name.
    """
    name = context.parameters.name

    def rename(members: Json) -> Json:
        renamed = {**members, "model": name} if "model" in members else members
        inner: Any = renamed.get("response")
        if isinstance(inner, dict) and "model" in inner:
            return {**renamed, "response": {**cast(Json, inner), "model": name}}
        return renamed

    return map_bodies(rendering, rename)


@on_rendering("created-in-milliseconds", family="envelope", may=RECOVER, applies=of_api("chat", "completions"))
def created_in_milliseconds(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """created counts milliseconds instead of seconds.

    Why: gateways in JavaScript take Date.now() as it is.
    Right: the tokens are captured as they are.
    Breaks: clients that turn it into a date, and those that read a 32-bit number.
    """

    def stretch(members: Json) -> Json:
        created = members.get("created")
        return {**members, "created": created * 1000} if isinstance(created, int) else members

    return map_bodies(rendering, stretch)


@on_rendering(
    "id-changes-in-mid-stream", family="envelope", may=RECOVER, applies=every(streams, of_api("chat", "completions"))
)
def id_changes_in_mid_stream(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """Every chunk of the stream has another id; the first keeps the real one.

    Why: SGLang gives each choice its own (0.5.23, captured); gateways make one up per chunk.
    Right: one body is one answer, whatever ids its chunks name.
    Breaks: clients that group chunks by id.
    """
    count = 0

    def another(members: Json) -> Json:
        nonlocal count
        count += 1
        identity = members.get("id")
        return {**members, "id": f"{identity}-{count}"} if isinstance(identity, str) and count > 1 else members

    return map_bodies(rendering, another)


@on_rendering("unknown-fields", family="envelope", may=RECOVER)
def unknown_fields(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """The answer has members that nobody knows, at the top and in every choice.

    Why: every vendor adds some, every gateway too.
    Right: ignore them.
    Breaks: clients with closed schemas.
    """
    extra: Json = {"x_region": "eu", "x_debug": {"queue": [1, 2], "note": None}}

    def add(members: Json) -> Json:
        return change({**members, **extra}, steps("choices[]"), lambda row: {**row, **extra})

    return map_bodies(rendering, add)


@on_rendering("role-on-every-chunk", family="envelope", may=RECOVER, applies=every(streams, CHAT))
def role_on_every_chunk(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """Every delta repeats the role.

    Why: SGLang up to 0.5.10, Mistral and others do.
    Right: the role is the same each time; deltas are still one message.
    Breaks: clients that begin a new message at each role, and those that join roles as text.
    """

    def add(delta: Any) -> Any:
        return {"role": "assistant", **cast(Json, delta)} if isinstance(delta, dict) else delta

    return map_bodies(rendering, lambda members: change(members, steps("choices[].delta"), add))


@on_rendering("content-null", family="envelope", may=RECOVER, applies=every(CHAT, has_tools))
def content_null(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """content is null wherever a turn that calls a tool shows no text, in streams on the first chunk too.

    Why: OpenAI does it, SGLang from 0.5.13 sends "" instead (captured); miles' session server refuses null (read).
    Right: null and "" are both no text; ids and scores are there.
    Breaks: clients that join content without a check.
    """
    if not any("tool_calls" in holder for message in rendering.messages for holder in _holders(message)):
        if _spoke(rendering):
            raise FaultError(
                "this answer calls no tool", hint="let the reply say tool_calls, give the layout its parser"
            )
        return rendering

    def empty(holder: Any) -> Any:
        row = cast(Json, holder) if isinstance(holder, dict) else {}
        silent = row.get("content") == "" or ("tool_calls" in row and not row.get("content"))
        return {**row, "content": None} if silent else cast(Any, holder)

    def both(members: Json) -> Json:
        return change(change(members, steps("choices[].message"), empty), steps("choices[].delta"), empty)

    return map_bodies(rendering, both)


def _holders(message: Message) -> list[Json]:
    """The messages and deltas of an event."""
    held = [row.get(name) for row in choices(message) for name in ("message", "delta")]
    return [cast(Json, holder) for holder in held if isinstance(holder, dict)]


def _spoke(rendering: Rendering) -> bool:
    return any(choices(message) for message in rendering.messages)


def _pieces(rendering: Rendering, act: Callable[[Json], Json]) -> Rendering:
    """Change every piece of a tool call in the deltas; raises FaultError when there is none."""
    changed = 0

    def visit(piece: Any) -> Any:
        nonlocal changed
        if not isinstance(piece, dict):
            return piece
        changed += 1
        return act(cast(Json, piece))

    result = map_bodies(rendering, lambda members: change(members, steps("choices[].delta.tool_calls[]"), visit))
    if not changed and rendering.stream and _spoke(rendering):
        raise FaultError(
            "this stream calls no tool", hint="let the reply say tool_calls and give the layout its parser"
        )
    return result


TOOL_STREAM = every(streams, CHAT, has_tools)


@on_rendering("tool-delta-without-id", family="tools", may=RECOVER, applies=TOOL_STREAM)
def tool_delta_without_id(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """Pieces of a tool call never name the call's id.

    Why: https://github.com/InternLM/lmdeploy/issues/3412
    Right: ids and scores are captured; the call is known by its index.
    Breaks: clients that key calls by id.
    """
    return _pieces(rendering, lambda piece: {key: value for key, value in piece.items() if key != "id"})


@on_rendering("tool-delta-without-index", family="tools", may=RECOVER, applies=TOOL_STREAM)
def tool_delta_without_index(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """Pieces of a tool call have no index.

    Why: https://github.com/openai/openai-python/pull/3246 , https://github.com/sgl-project/sglang/issues/4700
    Right: ids and scores are captured; a piece without index continues the last call.
    Breaks: openai-python's accumulator indexes it.
    """
    return _pieces(rendering, lambda piece: {key: value for key, value in piece.items() if key != "index"})


@on_rendering("tool-delta-nulls", family="tools", may=RECOVER, applies=TOOL_STREAM)
def tool_delta_nulls(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """Pieces of a tool call write null for what they do not tell: id, type, name.

    Why: SGLang's later pieces do (captured); https://github.com/vllm-project/vllm/issues/30866
    Right: null adds nothing.
    Breaks: clients that join "None" to the name, or overwrite the id.
    """

    def fill(piece: Json) -> Json:
        function: Any = piece.get("function")
        named = {"name": None, **cast(Json, function)} if isinstance(function, dict) else {"name": None}
        return {"id": None, "type": None, **piece, "function": named}

    return _pieces(rendering, fill)


@on_rendering("tool-index-from-one", family="tools", may=RECOVER, applies=TOOL_STREAM)
def tool_index_from_one(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """The index of tool calls counts from 1.

    Why: https://github.com/SamSaffron/term-llm/pull/314
    Right: the index tells calls apart, whatever it begins with.
    Breaks: clients that write at the index of a list.
    """

    def shift(piece: Json) -> Json:
        index = piece.get("index")
        return {**piece, "index": index + 1} if isinstance(index, int) else piece

    return _pieces(rendering, shift)


@on_rendering("tool-index-constant", family="tools", may=RECOVER, applies=TOOL_STREAM)
def tool_index_constant(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """All tool calls have the index 0; a new call shows by its id.

    Why: https://github.com/sgl-project/sglang/pull/35542 , https://github.com/pipecat-ai/pipecat/issues/4987
    Right: ids and scores are captured; a new id begins a new call.
    Breaks: clients that key by index join the arguments of two calls.
    """
    return _pieces(rendering, lambda piece: {**piece, "index": 0})


@on_rendering("tool-name-empty", family="tools", may=RECOVER, applies=TOOL_STREAM)
def tool_name_empty(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """Later pieces of a tool call repeat the name as an empty string.

    Why: https://github.com/vllm-project/vllm/pull/31438
    Right: an empty name adds nothing.
    Breaks: clients that overwrite the name with it.
    """

    def fill(piece: Json) -> Json:
        function: Any = piece.get("function")
        named = {"name": "", **cast(Json, function)} if isinstance(function, dict) else {"name": ""}
        return {**piece, "function": named}

    return _pieces(rendering, fill)


@on_rendering("delta-null", family="envelope", may=RECOVER, applies=every(streams, CHAT))
def delta_null(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """A chunk that shows nothing has ``delta: null`` instead of an empty object.

    Why: gateways in Go write null for an empty struct.
    Right: null and {} are both nothing new; ids and scores of the chunk count.
    Breaks: clients that look content up in delta.
    """

    def empty(delta: Any) -> Any:
        row = cast(Json, delta) if isinstance(delta, dict) else None
        return None if row is not None and not any(row.values()) and row != {"content": None} else cast(Any, delta)

    def visit(message: Message) -> Message:
        if message.kind == "role" or not has_body(message):
            return message
        return replace(message, body=change(body(message), steps("choices[].delta"), empty))

    return replace(rendering, messages=tuple(visit(message) for message in rendering.messages))
