"""Where each API keeps its values when no layout says otherwise, and what an error looks like: data, no code paths.

A layout's own accessor table comes first; these rows stand in for values that it does not name (text and finish_reason
belong to the API, not to the vendor) and let an answer of an unknown server be read. Rows of one value are tried in
order. Knows no bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ..layouts.base import Accessor, AccessorTable

IDS = ("prompt_token_ids", "completion_token_ids")
TERMINAL_EVENTS = frozenset({"response.completed", "response.incomplete"})
FAILED_EVENTS = frozenset({"error", "response.failed"})
MARKS = frozenset({"[DONE]"})
UNFINISHED = frozenset({"in_progress", "queued"})
"""Responses statuses that are no end."""


def _rows(**paths: str | Sequence[str]) -> tuple[Accessor, ...]:
    return tuple(
        Accessor(value, path)
        for value, given in paths.items()
        for path in ([given] if isinstance(given, str) else given)
    )


def _on(event: str, **paths: str) -> tuple[Accessor, ...]:
    return tuple(Accessor(value, path, messages=(event,)) for value, path in paths.items())


_CHOICE_IDS = (
    "choices[].token_ids",
    "choices[].response_token_ids",
    "sglext.output_ids[]",
    "nvext.completion_token_ids",
)
_PROMPT_IDS = ("prompt_token_ids", "choices[].prompt_token_ids", "sglext.input_ids", "nvext.prompt_token_ids")
_ENTRIES = {
    "logprobs": "choices[].logprobs.content[].logprob",
    "top_logprobs": "choices[].logprobs.content[].top_logprobs",
}
_COMMON = _rows(
    usage="usage",
    finish_reason="choices[].finish_reason",
    prompt_token_ids=_PROMPT_IDS,
    completion_token_ids=_CHOICE_IDS,
    prompt_logprobs=("prompt_logprobs", "choices[].prompt_logprobs"),
    weight_versions=("choices[].weight_versions", "metadata.weight_versions"),
)
_COMPLETION_SCORES = _rows(
    text="choices[].text",
    logprobs="choices[].logprobs.token_logprobs",
    top_logprobs="choices[].logprobs.top_logprobs",
)
_GENERATE = _rows(
    text="text",
    finish_reason="meta_info.finish_reason.type",
    usage="meta_info",
    prompt_token_ids="prompt_token_ids",
    completion_token_ids="output_ids",
    logprobs="meta_info.output_token_logprobs[][0]",
    top_logprobs="meta_info.output_top_logprobs",
    prompt_logprobs="meta_info.input_top_logprobs",
    prompt_scores="meta_info.input_token_logprobs[][0]",
    weight_versions="meta_info.weight_versions",
)
_RESPONSE = {
    "usage": "usage",
    "finish_reason": "status",
    "prompt_token_ids": "input_messages[].tokens[]",
    "completion_token_ids": "output_messages[].tokens[]",
}
_TEXT_PARTS = "output[type=message].content[type=output_text]"

API_PLACES: AccessorTable = MappingProxyType(
    {
        ("chat", False): (*_rows(text="choices[].message.content", **_ENTRIES), *_COMMON),
        ("chat", True): (*_rows(text="choices[].delta.content", **_ENTRIES), *_COMMON),
        ("completions", False): (*_COMPLETION_SCORES, *_COMMON),
        ("completions", True): (*_COMPLETION_SCORES, *_COMMON),
        ("tito", False): (*_rows(text="choices[].text", **_ENTRIES), *_COMMON),
        ("tito", True): (*_rows(text="choices[].text", **_ENTRIES), *_COMMON),
        ("generate", False): _GENERATE,
        ("generate", True): _GENERATE,
        ("responses", False): _rows(
            **_RESPONSE, text=f"{_TEXT_PARTS}.text", logprobs=f"{_TEXT_PARTS}.logprobs[].logprob"
        ),
        ("responses", True): (
            *_on(
                "response.output_text.delta",
                text="delta",
                logprobs="logprobs[].logprob",
                top_logprobs="logprobs[].top_logprobs",
            ),
            *_rows(**{value: f"response.{path}" for value, path in _RESPONSE.items()}),
        ),
    }
)


def rows_for(table: AccessorTable | None, api: str, stream: bool) -> Mapping[str, tuple[Accessor, ...]]:
    """Accessors by value: the layout's own, and the API's for each value that the layout does not name."""
    own = tuple(table.get((api, stream), ())) if table is not None else ()
    named = {accessor.value for accessor in own}
    rest = [accessor for accessor in API_PLACES.get((api, stream), ()) if accessor.value not in named]
    grouped: dict[str, tuple[Accessor, ...]] = {}
    for accessor in (*own, *rest):
        grouped[accessor.value] = (*grouped.get(accessor.value, ()), accessor)
    return MappingProxyType(grouped)
