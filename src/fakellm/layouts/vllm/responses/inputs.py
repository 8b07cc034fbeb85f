"""From Responses input to chat messages: instructions, the conversation before, and the items of this turn.

Items that belong to one message of the assistant (reasoning, text, calls) become one message. Source: vLLM's
entrypoints/openai/responses/utils.py. Knows no HTTP and no template.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..validate.flaws import Crash

Message = dict[str, Any]
Item = Mapping[str, Any]


class UnknownItem(Exception):
    """An input item that cannot become a message; the text is the server's."""


def conversation(
    values: Mapping[str, Any],
    before: Sequence[Message] | None = None,
    output_before: Sequence[Item] = (),
) -> list[Message]:
    """The messages of a request. ``before``: those of the response it goes on from, ``output_before`` what it said.
    Instructions do not carry over; of what was said only messages count, not reasoning and not calls."""
    messages: list[Message] = []
    if values.get("instructions"):
        messages.append({"role": "system", "content": values["instructions"]})
    messages.extend(message for message in before or () if message.get("role") != "system")
    for item in output_before:
        if item.get("type") == "message":
            messages.extend({"role": "assistant", "content": part["text"]} for part in item["content"])
    given: Any = values.get("input")
    if isinstance(given, str):
        messages.append({"role": "user", "content": given})
        return messages
    turn: list[Message] = []
    for item in cast("Sequence[Item]", given or ()):
        _add(turn, item)
    return [*messages, *turn]


def check_raw(given: Any) -> None:
    """Items that are no messages, where they are not made into some; raises UnknownItem or Crash."""
    for item in cast("Sequence[Item]", given if isinstance(given, list) else ()):
        if item.get("type") == "reasoning":
            raise UnknownItem("'ResponseReasoningItem' object is not subscriptable None")
        if "role" not in item:
            raise Crash("KeyError", "'role'")


def goes_on(given: Any) -> bool:
    """Is the last item an unfinished message of the assistant, to be continued?"""
    if isinstance(given, str) or not given:
        return False
    last: Item = given[-1]
    return last.get("type", "message") in ("message", "reasoning") and last.get("status") in (
        "in_progress",
        "incomplete",
    )


def _add(messages: list[Message], item: Item) -> None:
    kind = item.get("type")
    last = messages[-1] if messages and messages[-1].get("role") == "assistant" else None
    if kind in ("function_call", "custom_tool_call"):
        if last is None:
            messages.append({"role": "assistant", "tool_calls": [_call(item)]})
        else:
            last["tool_calls"] = [*(last.get("tool_calls") or ()), _call(item)]
    elif kind == "reasoning":
        _join(messages, last, "reasoning", _reasoning_text(item))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        messages.append({"role": "tool", "content": item.get("output"), "tool_call_id": item.get("call_id")})
    elif item.get("role") == "assistant" and (text := _assistant_text(item)) is not None:
        _join(messages, last, "content", text)
    elif "role" in item:
        messages.append(dict(item))
    else:
        raise UnknownItem(f"Unsupported input item type: {kind}")


def _join(messages: list[Message], last: Message | None, member: str, text: str) -> None:
    if last is not None and last.get(member) is None:
        last[member] = text
    else:
        messages.append({"role": "assistant", member: text})


def _call(item: Item) -> Message:
    name = str(item.get("name"))
    if item.get("namespace"):
        name = f"{item['namespace']}__{name}"
    arguments = item.get("arguments")
    if item.get("type") == "custom_tool_call":
        arguments = json.dumps({"input": item.get("input") or ""}, ensure_ascii=False)
    return {"id": item.get("call_id"), "type": "function", "function": {"name": name, "arguments": arguments}}


def _reasoning_text(item: Item) -> str:
    if item.get("encrypted_content"):
        raise UnknownItem("Encrypted content is not supported.")
    for member in ("content", "summary"):
        parts: Sequence[Item] = item.get(member) or ()
        if parts:
            return str(parts[0].get("text", ""))
    return ""


def _assistant_text(item: Item) -> str | None:
    content: Any = item.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list) and content:
        first = cast("list[Item]", content)[0]
        return cast("str | None", first.get("text"))
    return None


def shown_tools(tools: Sequence[Item]) -> list[dict[str, Any]] | None:
    """The function tools as the chat template gets them; other kinds are never shown to the model."""
    shown: list[dict[str, Any]] = []
    for tool in tools:
        if tool.get("type") == "function":
            shown.append(_function(tool, str(tool.get("name"))))
        elif tool.get("type") == "namespace":
            inner = cast("Sequence[Item]", tool.get("tools") or ())
            shown.extend(
                _function(item, f"{tool.get('name')}__{item.get('name')}")
                for item in inner
                if item.get("type") == "function"
            )
        elif tool.get("type") == "custom":
            shown.append(_function({"description": tool.get("description"), "parameters": _TEXT}, str(tool["name"])))
    return shown or None


_TEXT = {
    "type": "object",
    "properties": {
        "input": {"type": "string", "description": "The freeform text payload for this tool."},
    },
    "required": ["input"],
    "additionalProperties": False,
}


def _function(tool: Item, name: str) -> dict[str, Any]:
    function: dict[str, Any] = {"name": name}
    for member in ("description", "parameters"):
        if tool.get(member) is not None:
            function[member] = tool[member]
    return {"type": "function", "function": function}
