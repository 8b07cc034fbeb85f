"""From a neutral call to the complete request body of an API, with the flags of the layout's own accessor table.

Each API has one writer ``call -> body``; the flags that ask for ids and scores come from the layout, never from here.
A chat prompt is one user message; ``tito`` needs ids, so the tokenizer's ``encode`` is passed in. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..layouts.base import Accessor

Encode = Callable[[str], Sequence[int]]
Call = Mapping[str, Any]

PATHS = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "responses": "/v1/responses",
    "generate": "/generate",
    "tito": "/inference/v1/generate",
}
MODEL = "conform"
DEFAULT_PROMPT = "Say hello to the world."


@dataclass(frozen=True, slots=True)
class Body:
    """A complete request body, and the part of it that only asks for ids and scores."""

    body: Mapping[str, Any]
    flags: Mapping[str, Any]


def body_of(
    call: Call, api: str, stream: bool, accessors: Sequence[Accessor], encode: Encode, model: str = MODEL
) -> Body:
    """The request that a case asks the client to send."""
    body = {"model": model, **WRITERS[api](call, encode)}
    if api == "generate":
        del body["model"]
    if stream or api != "tito":
        body["stream"] = stream
    if stream and call.get("include_usage", True) and api in ("chat", "completions"):
        body["stream_options"] = {"include_usage": True}
    flags = _flags_of(call, accessors) if call.get("flags", True) else {}
    return Body(merge(merge(body, flags), call.get("extra", {})), flags)


def _flags_of(call: Call, accessors: Sequence[Accessor]) -> dict[str, Any]:
    wanted = {"prompt_token_ids", "completion_token_ids", "logprobs", "text", "finish_reason", "usage"}
    optional = {"top_logprobs", "prompt_logprobs"}
    flags: dict[str, Any] = {}
    for accessor in accessors:
        if accessor.value in wanted:
            flags = merge(flags, _nested(accessor.flags))
        elif accessor.value in optional and call.get(accessor.value) is not None:
            count = call[accessor.value]
            flags = merge(flags, _nested({key: _counted(value, count) for key, value in accessor.flags.items()}))
    return flags


def _counted(value: Any, count: int) -> Any:
    """A number in the table stands for "how many"; the call says how many it wants."""
    return count if isinstance(value, int) and not isinstance(value, bool) else value


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """``{"sampling_params.logprobs": 1}`` -> ``{"sampling_params": {"logprobs": 1}}``."""
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        *above, last = key.split(".")
        row: dict[str, Any] = {last: value}
        for name in reversed(above):
            row = {name: row}
        nested = merge(nested, row)
    return nested


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Both mappings as one: nested mappings merged, lists joined without doubles, else the second wins."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[key] = merge(below, value)  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(below, list) and isinstance(value, list):
            merged[key] = [*below, *(one for one in value if one not in below)]  # pyright: ignore[reportUnknownVariableType]
        else:
            merged[key] = value
    return merged


def choices_asked(body: Mapping[str, Any]) -> int:
    """How many choices a request body asks for: n for each of its prompts."""
    sampling: Any = body.get("sampling_params")
    count: Any = body.get("n") or (cast("dict[str, Any]", sampling).get("n") if isinstance(sampling, dict) else None)
    return (count if isinstance(count, int) else 1) * prompts_of(body)


def prompts_of(body: Mapping[str, Any]) -> int:
    """How many prompts a request body holds: a list of texts, or of lists of ids, is that many."""
    for name in ("prompt", "text", "input_ids"):
        given: Any = body.get(name)
        if isinstance(given, list) and given and not isinstance(given[0], int):
            return len(cast("list[Any]", given))
    return 1


def _messages(call: Call) -> list[Any]:
    return list(call.get("messages") or [{"role": "user", "content": call.get("prompt", DEFAULT_PROMPT)}])


def _text(call: Call) -> str:
    if call.get("messages"):
        return str(call["messages"][-1].get("content"))
    return call.get("prompt", DEFAULT_PROMPT)


def _ids(call: Call, encode: Encode) -> list[int]:
    return list(call.get("prompt_token_ids") or encode(_text(call)))


def _only(call: Call, **names: str) -> dict[str, Any]:
    """The named fields of the call that are set, under their name in this API."""
    return {name: call[field] for field, name in names.items() if call.get(field) is not None}


def _chat(call: Call, encode: Encode) -> dict[str, Any]:
    names = _only(
        call, max_tokens="max_tokens", n="n", stop="stop", temperature="temperature", seed="seed", tools="tools"
    )
    return {"messages": _messages(call), **names}


def _completions(call: Call, encode: Encode) -> dict[str, Any]:
    prompt = call.get("prompt_token_ids") or _text(call)
    return {"prompt": prompt} | _only(
        call, max_tokens="max_tokens", n="n", stop="stop", temperature="temperature", seed="seed"
    )


def _responses(call: Call, encode: Encode) -> dict[str, Any]:
    return {"input": _messages(call)} | _only(
        call, max_tokens="max_output_tokens", temperature="temperature", tools="tools"
    )


def _generate(call: Call, encode: Encode) -> dict[str, Any]:
    sampling = _only(
        call, max_tokens="max_new_tokens", n="n", stop="stop", temperature="temperature", seed="sampling_seed"
    )
    ids = call.get("prompt_token_ids")
    return {**({"input_ids": ids} if ids else {"text": _text(call)}), "sampling_params": sampling}


def _tito(call: Call, encode: Encode) -> dict[str, Any]:
    sampling = _only(call, max_tokens="max_tokens", n="n", stop="stop", temperature="temperature", seed="seed")
    return {"token_ids": _ids(call, encode), "sampling_params": sampling}


WRITERS: dict[str, Callable[[Call, Encode], dict[str, Any]]] = {
    "chat": _chat,
    "completions": _completions,
    "responses": _responses,
    "generate": _generate,
    "tito": _tito,
}
