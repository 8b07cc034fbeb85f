"""Reading fields of native bodies: what is there in the right kind, or a default. Shared by the native modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....ask import Prompt, Sampling
from ....errors import TokenizerError
from ....tokenizer import Tokenizer
from ...common.fields import as_object, as_objects, as_tuple
from ...vllm.prompts import chat_prompt
from ..errors import Refusal

KEEPS_END: Mapping[str, Any] = {"keeps_end": True}
"""Option of an ask whose answer tells the end token although the vendor's OpenAI routes do not."""


def count(value: Any, default: int = 0) -> int:
    """A number of tokens, never negative; the default for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def limit(value: Any) -> int | None:
    """A limit of tokens: None where there is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def prompt_of(value: Any, tokenizer: Tokenizer, name: str) -> Prompt:
    """A prompt that is text or ids; raises Refusal."""
    if isinstance(value, str):
        try:
            return Prompt(tokenizer.encode(value), value)
        except TokenizerError as wrong:
            raise Refusal(wrong.message, param=name) from None
    ids = as_tuple(value)
    if not ids or not all(isinstance(one, int) and not isinstance(one, bool) for one in ids):
        raise Refusal(f"'{name}' must be a string or a list of token ids", param=name)
    return Prompt(ids)


def conversation(messages: Any, tokenizer: Tokenizer, tools: Any = None) -> Prompt:
    """The prompt of a conversation; raises Refusal."""
    rows = as_objects(messages)
    if not rows:
        raise Refusal("'messages' must be a list of messages", param="messages")
    try:
        return chat_prompt(tokenizer, rows, tools=list(as_objects(tools)))
    except TokenizerError as wrong:
        raise Refusal(wrong.message) from None


def sampling(fields: Mapping[str, Any], max_tokens: int | None, stop: Any) -> Sampling:
    """Sampling with this limit and these stop strings."""
    return Sampling(
        max_tokens=max_tokens,
        stop=tuple(one for one in as_tuple(stop) if isinstance(one, str)),
        ignore_eos=fields.get("ignore_eos") is True,
    )


def nested(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return as_object(body.get(name))
