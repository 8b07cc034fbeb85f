"""Where ids, scores, text and the like live on Dynamo's wire, per api and mode. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base import Accessor, AccessorTable
from .traits import Traits

_IDS = {"nvext": {"extra_fields": ["completion_token_ids"]}}
_PROMPT = {"nvext": {"extra_fields": ["prompt_token_ids"]}}
_CHUNKS = ("delta", "finish")
ONE_CHOICE = "refused with 400 for more than one choice; n > 1 is answered with one choice"


def accessor_table(traits: Traits) -> AccessorTable:
    """The table of one version, as it is without launch options."""
    return {
        ("chat", False): (*_nvext(stream=False), *_chat(stream=False)),
        ("chat", True): (*_nvext(stream=True), *_chat(stream=True)),
        ("completions", False): (*_nvext(stream=False), *_completions(stream=False)),
        ("completions", True): (*_nvext(stream=True), *_completions(stream=True)),
    }


def _nvext(*, stream: bool) -> tuple[Accessor, ...]:
    chunks = _CHUNKS if stream else ("body",)
    end = ("finish",) if stream else ("body",)
    return (
        Accessor("prompt_token_ids", "nvext.prompt_token_ids", _PROMPT, end),
        Accessor("completion_token_ids", "nvext.completion_token_ids", _IDS, chunks),
        Accessor(
            "prompt_logprobs",
            "nvext.prompt_logprobs",
            {"prompt_logprobs": 1, "nvext": {"extra_fields": ["prompt_logprobs"]}},
            end,
        ),
    )


def _chat(*, stream: bool) -> tuple[Accessor, ...]:
    chunks = _CHUNKS if stream else ("body",)
    scored: Mapping[str, Any] = {"logprobs": True}
    text = "delta" if stream else "message"
    return (
        Accessor("logprobs", "choices[].logprobs.content[].logprob", scored, chunks),
        Accessor("top_logprobs", "choices[].logprobs.content[].top_logprobs", {**scored, "top_logprobs": 1}, chunks),
        Accessor("text", f"choices[].{text}.content", {}, chunks, eos=False),
        *_ends(stream=stream),
    )


def _completions(*, stream: bool) -> tuple[Accessor, ...]:
    chunks = _CHUNKS if stream else ("body",)
    return (
        Accessor("logprobs", "choices[].logprobs.token_logprobs", {"logprobs": 0}, chunks),
        Accessor("top_logprobs", "choices[].logprobs.top_logprobs", {"logprobs": 1}, chunks),
        Accessor("text", "choices[].text", {}, chunks, eos=False),
        *_ends(stream=stream),
    )


def _ends(*, stream: bool) -> tuple[Accessor, ...]:
    options = {"stream_options": {"include_usage": True}} if stream else {}
    return (
        Accessor("finish_reason", "choices[].finish_reason", {}, ("finish",) if stream else ("body",)),
        Accessor("usage", "usage", options, ("usage",) if stream else ("body",)),
    )
