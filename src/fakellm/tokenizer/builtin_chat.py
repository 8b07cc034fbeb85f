"""The built-in chat template once more, in Python, for the conversations that are nearly all: plain texts in turns.

``plain`` gives what ``builtin_chat_template.jinja`` gives, at a tenth of the cost, or None for anything that needs the
template itself (tools, calls, other roles, parts that are no text, very long conversations, whose work jinja's limits
count). A test holds both equal on made-up conversations. Knows no tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

MOST_MESSAGES = 256
MOST_CHARACTERS = 262_144
_SPOKEN = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


def plain(messages: Sequence[Mapping[str, Any]], add_generation_prompt: bool) -> str | None:
    """The prompt text of a plain conversation without tools; None = let the template say.

    >>> plain([{"role": "user", "content": "Hi"}], True)
    '<|im_start|>user\\nHi<|im_end|>\\n<|im_start|>assistant\\n'
    """
    if not messages or len(messages) > MOST_MESSAGES:
        return None
    pieces: list[str] = []
    size = 0
    for message in messages:
        role: Any = message.get("role")
        speaker = _SPOKEN.get(role) if isinstance(role, str) else None
        text = _text_of(message.get("content"))
        if speaker is None or text is None or message.get("tool_calls"):
            return None
        size += len(text)
        if speaker == "assistant" and "</think>" in text:
            text = text.split("</think>")[-1].lstrip("\n")
        pieces.append(f"<|im_start|>{speaker}\n{text}<|im_end|>\n")
    if size > MOST_CHARACTERS:
        return None
    if add_generation_prompt:
        pieces.append("<|im_start|>assistant\n")
    return "".join(pieces)


def _text_of(content: Any) -> str | None:
    """The text of a content that is a text or made of text parts; None for any other."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts: list[str] = []
    for part in cast("list[Any]", content):
        text: Any = cast("dict[str, Any]", part).get("text") if isinstance(part, dict) else None
        if not isinstance(text, str):
            return None
        texts.append(text)
    return "".join(texts)
