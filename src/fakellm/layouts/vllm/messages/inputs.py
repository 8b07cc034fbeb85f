"""From an Anthropic request to the chat request that vLLM makes of it: messages, tools, tool choice.

Source: vllm/entrypoints/anthropic (serving_messages.py of 0.12, serving.py from 0.16). Knows no HTTP and no template.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from .rules import MessageRules

Block = Mapping[str, Any]
Message = dict[str, Any]
BILLING = "x-anthropic-billing-header"
CHOICES = {"auto": "auto", "any": "required", "none": "none"}


class UnknownTool(Exception):
    """A tool change names a tool that is not declared; the text is the server's."""


def chat_values(values: Mapping[str, Any], rules: MessageRules, system_first: Callable[[], bool]) -> dict[str, Any]:
    """The fields of the chat request. ``system_first``: does the chat template refuse system messages that are not the
    first (then those inside the conversation are moved there)?"""
    given = cast("Sequence[Mapping[str, Any]]", values.get("messages") or ())
    inline = rules.inline_system and any(message.get("role") == "system" for message in given)
    merge = inline and system_first()
    choice: Mapping[str, Any] | None = values.get("tool_choice")
    tools = _tools(values, given)
    chosen: Any = None
    if choice is not None:
        named = {"type": "function", "function": {"name": choice.get("name")}}
        chosen = CHOICES.get(str(choice.get("type")), named)
    elif tools is not None:
        chosen = "auto"
    variables: dict[str, Any] = dict(values.get("chat_template_kwargs") or {})
    effort = _effort(values)
    if effort is not None:
        variables.setdefault("reasoning_effort", effort)
    return {
        "model": values.get("model"),
        "messages": [
            *_system(values.get("system"), given if merge else (), rules),
            *_messages(given, rules, merged=merge),
        ],
        "tools": tools,
        "tool_choice": chosen,
        "parallel_tool_calls": not (choice is not None and choice.get("disable_parallel_tool_use")),
        "max_tokens": values.get("max_tokens"),
        "stop": values.get("stop_sequences"),
        "temperature": values.get("temperature"),
        "stream": values.get("stream"),
        "kv_transfer_params": values.get("kv_transfer_params"),
        "chat_template_kwargs": variables or None,
    }


def _effort(values: Mapping[str, Any]) -> str | None:
    """The reasoning effort: switched off thinking wins over the output configuration (0.32)."""
    thinking: Mapping[str, Any] = values.get("thinking") or {}
    output: Mapping[str, Any] = values.get("output_config") or {}
    return "none" if thinking.get("type") == "disabled" else output.get("effort")


def _system(system: Any, inline: Sequence[Mapping[str, Any]], rules: MessageRules) -> list[Message]:
    texts = [] if not system else [system] if isinstance(system, str) else [_joined_text(system, rules)]
    texts += [text for message in inline if message.get("role") == "system" and (text := _system_text(message, rules))]
    return [{"role": "system", "content": "".join(texts)}] if texts else []


def _joined_text(blocks: Sequence[Block], rules: MessageRules) -> str:
    return "".join(
        block["text"]
        for block in blocks
        if block.get("type") == "text"
        and block.get("text")
        and (rules.keeps_system or not str(block["text"]).startswith(BILLING))
    )


def _system_text(message: Mapping[str, Any], rules: MessageRules) -> str:
    content: Any = message.get("content")
    if isinstance(content, str):
        return "" if content.startswith(BILLING) else content
    return _joined_text(content or (), rules)


def _messages(given: Sequence[Mapping[str, Any]], rules: MessageRules, *, merged: bool) -> list[Message]:
    """The turns as chat messages. ``merged``: system messages already stand at the front."""
    out: list[Message] = []
    for message in given:
        if message.get("role") == "system":
            text = _system_text(message, rules)
            if text and not merged:
                out.append({"role": "system", "content": text})
            continue
        content: Any = message.get("content")
        if isinstance(content, str):
            out.append({"role": message.get("role"), "content": content})
            continue
        made = _of_blocks(message, cast("Sequence[Block]", content or ()), out, rules)
        empty = len(made) == 1
        if (empty and not rules.blocks) or (made["role"] == "user" and "content" not in made):
            continue
        out.append(made)
    return out


def _of_blocks(message: Mapping[str, Any], blocks: Sequence[Block], out: list[Message], rules: MessageRules) -> Message:
    """One message of content blocks; the results of tools become messages of their own before it."""
    made: Message = {"role": message.get("role")}
    parts: list[Message] = []
    calls: list[Message] = []
    thoughts: list[str] = []
    for block in blocks:
        kind = block.get("type")
        if kind == "text" and block.get("text"):
            parts.append({"type": "text", "text": block["text"]})
        elif kind == "image" and block.get("source"):
            parts.append({"type": "image_url", "image_url": {"url": ""}})
        elif kind == "thinking" and block.get("thinking") is not None and rules.blocks:
            thoughts.append(str(block["thinking"]))
        elif kind == "tool_use":
            arguments = json.dumps(block.get("input") or {})
            function = {"name": block.get("name") or "", "arguments": arguments}
            calls.append({"id": block.get("id") or "call_0", "type": "function", "function": function})
        elif kind == "tool_result" and made["role"] == "user":
            out.append(_result(block, rules))
        elif kind == "tool_result":
            shown = str(block["content"]) if block.get("content") else ""
            parts.append({"type": "text", "text": f"Tool result: {shown}"})
    if thoughts:
        made["reasoning"] = "".join(thoughts)
    if calls:
        made["tool_calls"] = calls
    if parts:
        made["content"] = parts[0]["text"] if len(parts) == 1 and "text" in parts[0] else parts
    return made


def _result(block: Block, rules: MessageRules) -> Message:
    content: Any = block.get("content")
    if not rules.result_ids:
        return {"role": "tool", "tool_call_id": block.get("id") or "", "content": str(content) if content else ""}
    if isinstance(content, list):
        items = cast("list[Block]", content)
        content = "\n".join(str(item.get("text", "")) for item in items if item.get("type") == "text")
    return {"role": "tool", "tool_call_id": block.get("tool_use_id") or "", "content": content or ""}


def _tools(values: Mapping[str, Any], given: Sequence[Mapping[str, Any]]) -> list[Message] | None:
    """The tools in effect at the end of the conversation: tool_addition and tool_removal blocks change them (0.32)."""
    declared = cast("Sequence[Block] | None", values.get("tools"))
    changes = [
        block
        for message in given
        if not isinstance(message.get("content"), str)
        for block in cast("Sequence[Block]", message.get("content") or ())
        if block.get("type") in ("tool_addition", "tool_removal")
    ]
    if declared is None and not changes:
        return None
    tools = {str(tool["name"]): tool for tool in declared or ()}
    removed: set[str] = set()
    for block in changes:
        name = _changed(block, tools)
        if block.get("type") == "tool_removal":
            removed.add(name)
        else:
            removed.discard(name)
    return [_function(tool) for name, tool in tools.items() if name not in removed]


def _changed(block: Block, tools: dict[str, Block]) -> str:
    change: Mapping[str, Any] = block.get("tool") or {}
    definition: Mapping[str, Any] | None = change.get("definition")
    if definition is not None:
        tools[str(definition["name"])] = definition
        return str(definition["name"])
    name = str(change.get("name"))
    if name not in tools:
        raise UnknownTool(f"{block.get('type')} references tool {name!r}, which is not declared in tools")
    return name


def _function(tool: Block) -> Message:
    function: Message = {"name": tool.get("name")}
    if tool.get("description") is not None:
        function["description"] = tool["description"]
    function["parameters"] = tool.get("input_schema")
    return {"type": "function", "function": function}
