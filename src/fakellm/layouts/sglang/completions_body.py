"""The body of /v1/completions, version by version: members with their kinds and defaults, in pydantic's order."""

from __future__ import annotations

from functools import cache
from typing import Any

from .body_parts import (
    ADAPTED,
    KEYED,
    LIMITED,
    ROUTING,
    TOLD,
    Rows,
    response_format,
    rows_of,
    since,
    stream_options,
    with_rank,
    words,
)
from .kinds import BOOL, DICT, FLOAT, INT, OBJECT, STR, either, listed, mapped, nullable
from .schema import REQUIRED, Field, Model
from .traits import Version

NOT_ASKED: tuple[tuple[str, Any], ...] = (
    *((name, False) for name in ("return_token_ids", "return_cached_tokens_details", "return_routed_experts")),
    *((name, None) for name in ("stop_regex", "custom_params")),
)
"""Members that the route reads and some versions do not have, with what their absence means."""


def _positive(count: Any) -> None:
    if count is not None and count <= 0:
        raise ValueError("max_tokens must be positive")


_SAMPLED: Rows = (
    Field("top_k", INT, -1),
    Field("min_p", FLOAT, 0.0),
    Field("min_tokens", INT, 0),
    Field("json_schema", nullable(STR)),
    *LIMITED,
    Field("repetition_penalty", FLOAT, 1.0),
    Field("stop_token_ids", nullable(listed(INT))),
    *words("stop_regex", 6),
    Field("no_stop_trim", BOOL, False),
    Field("ignore_eos", BOOL, False),
    Field("skip_special_tokens", BOOL, True),
)
_PROCESSED: Rows = (
    since(6, "custom_params", nullable(DICT)),
    since(6, "custom_logit_processor", nullable(STR)),
    since(21, "watermark", nullable(OBJECT)),
    since(17, "images_config", nullable(DICT)),
    since(21, "mm_processor_kwargs", nullable(DICT)),
    since(9, "data_parallel_rank", nullable(INT)),
)


@cache
def completion_model(version: Version) -> Model:
    """The body of a completion request at one version."""
    fields = rows_of(
        version,
        ROUTING,
        _opening(version),
        TOLD,
        (since(17, "return_token_ids", BOOL, default=False),),
        _SAMPLED,
        ADAPTED,
        (Field("response_format", response_format(version)),),
        _PROCESSED,
        KEYED,
        (Field("custom_labels", nullable(mapped(STR))),),
    )
    return Model("CompletionRequest", fields, prepare=with_rank)


def _opening(version: Version) -> Rows:
    return (
        Field("model", STR, "default"),
        Field("prompt", either(listed(INT), listed(listed(INT)), STR, listed(STR)), REQUIRED),
        Field("best_of", nullable(INT)),
        Field("echo", BOOL, False),
        Field("frequency_penalty", FLOAT, 0.0),
        Field("logit_bias", nullable(mapped(FLOAT))),
        Field("logprobs", nullable(INT)),
        Field("max_tokens", INT, 16, _positive),
        Field("n", INT, 1),
        Field("presence_penalty", FLOAT, 0.0),
        Field("seed", nullable(INT)),
        *words("stop"),
        Field("stream", BOOL, False),
        Field("stream_options", stream_options(version)),
        Field("suffix", nullable(STR)),
        Field("temperature", FLOAT, 1.0),
        Field("top_p", FLOAT, 1.0),
        Field("user", nullable(STR)),
    )
