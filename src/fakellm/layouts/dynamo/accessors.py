"""Where ids, scores, text and the like live on Dynamo's wire, per api and mode. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base import Accessor, AccessorTable
from .traits import Traits

_IDS = {"nvext": {"extra_fields": ["completion_token_ids"]}}
_PROMPT = {"nvext": {"extra_fields": ["prompt_token_ids"]}}
_CHUNKS = ("delta", "finish")
_LAST = ("response.completed", "response.incomplete")
_INCLUDE = {"include": ["message.output_text.logprobs"]}
_TEXTLESS = "an answer without text has no place for scores"
_ONE_SCORE = {"sampling_params": {"logprobs": 0}}
_INFERENCE = (
    Accessor("completion_token_ids", "choices[].token_ids", {}, ("body",)),
    Accessor("logprobs", "choices[].logprobs.content[].logprob", _ONE_SCORE, ("body",)),
    Accessor(
        "top_logprobs", "choices[].logprobs.content[].top_logprobs", {"sampling_params": {"logprobs": 1}}, ("body",)
    ),
    Accessor("prompt_logprobs", "prompt_logprobs", {"sampling_params": {"prompt_logprobs": 1}}, ("body",)),
    Accessor("finish_reason", "choices[].finish_reason", {}, ("body",)),
)
_GENERATE = (
    Accessor("completion_token_ids", "output_ids", {}, _CHUNKS),
    Accessor("logprobs", "meta_info.output_token_logprobs[][0]", {"return_logprob": True}, _CHUNKS),
    Accessor("text", "text", {}, _CHUNKS, eos=False),
    Accessor("finish_reason", "meta_info.finish_reason.type", {}, ("finish",)),
    Accessor("usage", "meta_info", {}, _CHUNKS),
)


def accessor_table(traits: Traits) -> AccessorTable:
    """The table of one version, as it is without launch options."""
    return {
        ("chat", False): (*_nvext(stream=False), *_chat(stream=False)),
        ("chat", True): (*_nvext(stream=True), *_chat(stream=True)),
        ("completions", False): (*_nvext(stream=False), *_completions(stream=False)),
        ("completions", True): (*_nvext(stream=True), *_completions(stream=True)),
        ("responses", False): (
            Accessor("prompt_token_ids", "nvext.prompt_token_ids", _PROMPT, ("body",)),
            *_responses("", ("body",), ("body",), traits),
        ),
        ("responses", True): _responses("response.", _LAST, ("response.output_text.delta",), traits),
        ("messages", False): _messages(False),
        ("messages", True): _messages(True),
        ("tito", False): _INFERENCE,
        ("generate", True): _GENERATE,
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


def _responses(start: str, last: tuple[str, ...], deltas: tuple[str, ...], traits: Traits) -> tuple[Accessor, ...]:
    """Text alone in released versions; with the scored change the scores too, in streams those of the last event."""
    parts = f"{start}output[type=message].content[type=output_text]"
    rows: list[Accessor] = []
    if traits.scores.carried:
        rows += [
            Accessor("logprobs", f"{parts}.logprobs[].logprob", _INCLUDE, last, True, _TEXTLESS),
            Accessor(
                "top_logprobs",
                f"{parts}.logprobs[].top_logprobs",
                {**_INCLUDE, "top_logprobs": 1},
                last,
                True,
                _TEXTLESS,
            ),
        ]
    return (
        *rows,
        Accessor("text", "delta" if start else f"{parts}.text", {}, deltas, eos=False),
        Accessor("finish_reason", f"{start}status", {}, last),
        Accessor("usage", f"{start}usage", {}, last),
    )


def _messages(stream: bool) -> tuple[Accessor, ...]:
    if stream:
        return (
            Accessor("text", "delta.text", {}, _CHUNKS, eos=False),
            Accessor("finish_reason", "delta.stop_reason", {}, ("finish",)),
        )
    return (
        Accessor("text", "content[type=text].text", {}, ("body",), eos=False),
        Accessor("finish_reason", "stop_reason", {}, ("body",)),
    )


def _ends(*, stream: bool) -> tuple[Accessor, ...]:
    options = {"stream_options": {"include_usage": True}} if stream else {}
    return (
        Accessor("finish_reason", "choices[].finish_reason", {}, ("finish",) if stream else ("body",)),
        Accessor("usage", "usage", options, ("usage",) if stream else ("body",)),
    )
