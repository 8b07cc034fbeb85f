"""From a conversation to the prompt's ids, as SGLang's chat route does it.

Content parts are joined, an assistant's last message is continued or turned into the user's, tools go in as sent, and
the template's own refusals come back in its words. Knows no sampling and no answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...ask import Prompt
from ...errors import TokenizerError
from ...tokenizer import Tokenizer
from .answers import Refusal
from .loose import elements, members

_READS_PARTS = re.compile(r"for\s+\w+\s+in\s+\w+(?:\.content|\[['\"]content['\"]\])")
"""A template that walks through content parts gets them; every other gets text."""


def chat_prompt(
    tokenizer: Tokenizer,
    messages: Sequence[Mapping[str, Any]],
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    variables: Mapping[str, Any] | None = None,
    template: str | None = None,
    continue_final: bool = False,
    flat_tools: bool = False,
    opens_turn: bool = True,
) -> Prompt:
    """The prompt of a conversation; raises Refusal (kind BadRequest) when the template fails. ``flat_tools``: the
    template gets bare functions first and tools around them only when it fails, else the other way round;
    ``opens_turn``: the assistant's turn begins at its end."""
    keeps_parts = _READS_PARTS.search(_template_text(tokenizer, template)) is not None
    rendered = [_message(message, keeps_parts) for message in messages]
    rendered, prefix = _last_assistant(rendered, continue_final)

    def render(offered: Sequence[Mapping[str, Any]] | None) -> str:
        return tokenizer.render_chat(
            rendered, tools=offered, template=template, variables=variables, add_generation_prompt=opens_turn
        )

    flat = None if tools is None else [each.get("function", each) for each in tools]
    first, second = (flat, tools) if flat_tools else (tools, flat)
    try:
        text = render(first)
    except TokenizerError as wrong:
        if tools is None:
            raise Refusal(wrong.message, kind="BadRequest") from None
        text = _second_try(render, second)
    ids = tokenizer.encode(text)
    if prefix:
        return Prompt((*ids, *tokenizer.encode(prefix)), text + prefix)
    return Prompt(ids, text)


def _second_try(
    render: Callable[[Sequence[Mapping[str, Any]] | None], str], offered: Sequence[Mapping[str, Any]] | None
) -> str:
    try:
        return render(offered)
    except TokenizerError as wrong:
        raise Refusal(wrong.message, kind="BadRequest") from None


def _template_text(tokenizer: Tokenizer, template: str | None) -> str:
    text = template if template is not None else tokenizer.config.get("chat_template")
    return text if isinstance(text, str) else ""


def _message(message: Mapping[str, Any], keeps_parts: bool) -> dict[str, Any]:
    made = {name: value for name, value in message.items() if value is not None}
    made["content"] = _content(message, keeps_parts)
    if message.get("role") == "assistant" and isinstance(message.get("tool_calls"), list):
        made["tool_calls"] = [_call(call) for call in message["tool_calls"]]
    return made


def _content(message: Mapping[str, Any], keeps_parts: bool) -> Any:
    content = message.get("content")
    if content is None:
        return ""
    if not isinstance(content, list) or (keeps_parts and message.get("role") != "tool"):
        return content  # pyright: ignore[reportUnknownVariableType]
    return " ".join(members(part).get("text", "") for part in elements(content))


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    """A call of the history with its arguments as an object, as templates expect them."""
    function: Mapping[str, Any] = call.get("function") or {}
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        return dict(call)
    try:
        parsed: Any = json.loads(arguments)
    except json.JSONDecodeError:
        raise Refusal("Assistant tool call function.arguments must be valid JSON.", kind="BadRequest") from None
    if not isinstance(parsed, dict):
        raise Refusal("Assistant tool call function.arguments must be a JSON object.", kind="BadRequest")
    return {**call, "function": {**function, "arguments": parsed}}


def _last_assistant(messages: list[dict[str, Any]], continue_final: bool) -> tuple[list[dict[str, Any]], str | None]:
    """A last message of the assistant is continued, or said by the user instead."""
    if not messages or messages[-1].get("role") != "assistant" or not isinstance(messages[-1].get("content"), str):
        return messages, None
    content = messages[-1]["content"]
    if continue_final:
        return messages[:-1], content
    return [*messages[:-1], {"role": "user", "content": content}], None
