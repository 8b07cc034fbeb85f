"""The output items of a response and their score entries, in the openai SDK's order of members."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ....told import Score
from ...partial_json import NotJson, read_partial

NewId = Callable[[str], str]
"""A fresh id with this prefix (``msg_``)."""


def entry(score: Score | None, *, as_ids: bool) -> dict[str, Any] | None:
    """One element of ``logprobs`` where bytes are shown; placeholders (``token_id:42``) have their own bytes."""
    if score is None:
        return None
    return {
        "token": score.token,
        "bytes": _bytes(score, as_ids),
        "logprob": score.logprob,
        "top_logprobs": [
            {"token": top.token, "bytes": _bytes(top, as_ids), "logprob": top.logprob} for top in score.top or ()
        ],
    }


def stream_entry(score: Score | None) -> dict[str, Any] | None:
    """The same as streams show it: no bytes."""
    if score is None:
        return None
    return {
        "token": score.token,
        "logprob": score.logprob,
        "top_logprobs": [{"token": top.token, "logprob": top.logprob} for top in score.top or ()],
    }


def _bytes(score: Score, as_ids: bool) -> list[int] | None:
    if as_ids:
        return list(score.token.encode("utf-8"))
    return None if score.bytes is None else list(score.bytes)


def text_part(text: str, logprobs: list[Any] | None) -> dict[str, Any]:
    return {"annotations": [], "text": text, "type": "output_text", "logprobs": logprobs}


def message(item_id: str, content: Sequence[Any], status: str = "completed") -> dict[str, Any]:
    return {
        "id": item_id,
        "content": list(content),
        "role": "assistant",
        "status": status,
        "type": "message",
        "phase": None,
    }


def reasoning_part(text: str) -> dict[str, Any]:
    return {"text": text, "type": "reasoning_text"}


def reasoning(item_id: str, text: str | None, status: str | None) -> dict[str, Any]:
    return {
        "id": item_id,
        "summary": [],
        "type": "reasoning",
        "content": None if text is None else [reasoning_part(text)],
        "encrypted_content": None,
        "status": status,
    }


@dataclass(frozen=True, slots=True)
class CallName:
    """A call's name as it is shown: functions of a namespace lose its prefix; ``custom``: its input is text."""

    name: str
    namespace: str | None = None
    custom: bool = False


def call_name(name: str, tools: Sequence[Mapping[str, Any]], *, custom_tools: bool) -> CallName:
    for tool in tools:
        if tool.get("type") == "namespace":
            inner = cast("Sequence[Mapping[str, Any]]", tool.get("tools") or ())
            for function in inner:
                if f"{tool.get('name')}__{function.get('name')}" == name:
                    return CallName(str(function.get("name")), str(tool.get("name")))
        if custom_tools and tool.get("type") == "custom" and tool.get("name") == name:
            return CallName(name, custom=True)
    return CallName(name)


def function_call(item_id: str, call_id: str, name: CallName, arguments: str, status: str = "completed") -> Any:
    return {
        "arguments": arguments,
        "call_id": call_id,
        "name": name.name,
        "type": "function_call",
        "id": item_id,
        "async": None,
        "caller": None,
        "namespace": name.namespace,
        "status": status,
    }


def custom_call(item_id: str, call_id: str, name: CallName, text: str) -> dict[str, Any]:
    return {
        "call_id": call_id,
        "input": text,
        "name": name.name,
        "type": "custom_tool_call",
        "id": item_id,
        "async": None,
        "caller": None,
        "namespace": None,
    }


def custom_input(arguments: str) -> str:
    """The text of a finished custom call; arguments that are not its JSON are the text themselves."""
    try:
        read: Any = json.loads(arguments)
    except ValueError:
        return arguments
    found: Any = cast("dict[str, Any]", read).get("input") if isinstance(read, dict) else None
    return found if isinstance(found, str) else arguments


def custom_input_so_far(arguments: str) -> str:
    """As much of a custom call's text as is certain."""
    try:
        read: Any = read_partial(arguments)[0]
    except NotJson:
        return ""
    found: Any = cast("dict[str, Any]", read).get("input") if isinstance(read, dict) else None
    return found if isinstance(found, str) else ""
