"""From messages to prompt token ids, the way vLLM feeds its chat template.

Content parts become one string unless the template walks over parts itself; tool call arguments become objects; the
template's text is tokenised without extra special tokens. Knows no HTTP and no version but by its arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from ...ask import Prompt
from ...errors import TokenizerError
from ...tokenizer import Tokenizer

_WALKS_PARTS = re.compile(
    r"\{%-?\s*for\s+\w+\s+in\s+\w+(?:\[['\"]content['\"]\]|\.content\b)|\{%-?\s*for\s+\w+\s+in\s+content\b"
)

CONTINUED_AND_OPEN = (
    "continue_final_message and add_generation_prompt are not compatible. Use continue_final_message when you want the "
    "model to continue the final message, and add_generation_prompt when you want to add a header that will prompt it "
    "to start a new assistant message instead."
)
"""What transformers says when a request that set one of the two meets the other's default."""


NO_TEXT = "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]"
"""What the tokenizers library says of text that is no Unicode."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def encoded(tokenizer: Tokenizer, text: str, *, add_special_tokens: bool = False) -> tuple[int, ...]:
    """The ids of a text; raises TokenizerError as the server words it."""
    try:
        return tokenizer.encode(text, add_special_tokens=add_special_tokens)
    except TokenizerError:
        if _LONE_SURROGATE.search(text) is None:
            raise
        raise TokenizerError(NO_TEXT, where="tokenizer") from None


@lru_cache(maxsize=64)
def walks_parts(template: str) -> bool:
    """Does the chat template iterate over content parts (vLLM's "openai" content format) or want strings?"""
    return _WALKS_PARTS.search(template) is not None


def template_messages(messages: Sequence[Mapping[str, Any]], *, parts: bool) -> list[dict[str, Any]]:
    """Messages as the template gets them. Text parts are joined by newlines unless the template walks over them."""
    return [_template_message(message, parts) for message in messages]


def _template_message(message: Mapping[str, Any], parts: bool) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.get("role")}
    content = message.get("content")
    if isinstance(content, list):
        texts = [_part_text(part) for part in cast(list[Any], content)]
        out["content"] = [{"type": "text", "text": text} for text in texts] if parts else "\n".join(texts)
    elif parts and content is not None:
        out["content"] = (
            [{"type": "text", "text": content}] if content != "" or message.get("role") != "assistant" else []
        )
    elif content is not None or message.get("role") != "assistant":
        out["content"] = content if content is not None else ""
    else:
        out["content"] = ""
    if message.get("role") == "assistant" and message.get("tool_calls"):
        out["tool_calls"] = [_tool_call(call) for call in message["tool_calls"]]
    for key in ("name", "tool_call_id", "reasoning", "reasoning_content"):
        if message.get(key) is not None:
            out[key] = message[key]
    return out


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    members = cast(Mapping[str, Any], part)
    return next((str(members[key]) for key in ("text", "refusal", "thinking") if isinstance(members.get(key), str)), "")


def _tool_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = dict(call.get("function") or {})
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            function["arguments"] = json.loads(arguments) if arguments else {}
        except ValueError:
            function["arguments"] = arguments
    return {**call, "function": function}


def chat_prompt(
    tokenizer: Tokenizer,
    messages: Sequence[Mapping[str, Any]],
    *,
    tools: Sequence[Mapping[str, Any]] | None,
    add_generation_prompt: bool = True,
    continue_final_message: bool = False,
    add_special_tokens: bool = False,
    template: str | None = None,
    variables: Mapping[str, Any] | None = None,
) -> Prompt:
    """Render and tokenise a conversation; raises TokenizerError in the template's own words."""
    if continue_final_message and add_generation_prompt:
        raise TokenizerError(CONTINUED_AND_OPEN, where="chat template")
    source = template or str(tokenizer.config.get("chat_template") or "")
    text = tokenizer.render_chat(
        template_messages(messages, parts=walks_parts(source)),
        tools=tools or None,
        add_generation_prompt=add_generation_prompt,
        continue_final_message=continue_final_message,
        template=template,
        variables=variables,
    )
    return Prompt(encoded(tokenizer, text, add_special_tokens=add_special_tokens), text)
