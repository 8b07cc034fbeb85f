"""``truncate_prompt_tokens``: which tokens of a prompt are kept. Pure; knows no version but by its arguments.

The tokenizer's own side is the left one (vLLM loads tokenizers that way): the last tokens stay. ``-1`` keeps what the
context has room for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...ask import Prompt
from .launch import Settings
from .options import V32
from .traits import Traits


def truncated(prompt: Prompt, values: Mapping[str, Any], traits: Traits, settings: Settings) -> Prompt:
    """The prompt as the engine gets it. ``values``: the accepted fields."""
    wanted: int | None = values.get("truncate_prompt_tokens")
    if wanted is None:
        return prompt
    count = _room(values, traits, settings) if wanted < 0 else wanted
    ids = prompt.token_ids
    if count >= len(ids):
        return prompt
    kept = ids[:count] if values.get("truncation_side") == "right" or not count else ids[-count:]
    return replace(prompt, token_ids=kept)


def _room(values: Mapping[str, Any], traits: Traits, settings: Settings) -> int:
    """0.32 keeps one token free for an answer, older versions what was asked for."""
    asked: int = values.get("max_completion_tokens") or values.get("max_tokens") or 0
    if traits.version >= V32:
        return settings.max_model_len - (1 if asked else 0)
    return max(settings.max_model_len - asked, 0)
