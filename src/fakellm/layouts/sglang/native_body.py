"""The body of /generate, version by version: members with their kinds and defaults, in pydantic's order.

What stands for images, videos and audio may be anything.
"""

from __future__ import annotations

from array import array
from functools import cache
from typing import Any

from .body_parts import Rows, rows_of, since, until
from .kinds import ANY, BOOL, DICT, FLOAT, INT, OBJECT, STR, either, listed, literal, mapped, nullable
from .loose import elements
from .schema import Field, Kind, Model, Place, Refused, value_error
from .traits import Version

NOT_ASKED: tuple[tuple[str, Any], ...] = (("return_prompt_token_ids", False),)
"""Members that the route reads and some versions do not have, with what their absence means."""


def _ids(value: Any, place: Place) -> Any:
    """Ids or rows of ids, looked at as a whole and not one by one."""
    try:
        if value is not None:
            _check_ids(value)
    except ValueError as wrong:
        raise Refused([value_error(place, str(wrong), value)]) from None
    return value


def _check_ids(value: Any) -> None:
    if not isinstance(value, list):
        raise ValueError(f"must be list or null; got {type(value).__name__}")
    rows = elements(value)
    if not rows or isinstance(rows[0], int):
        _check_row(rows)
    elif isinstance(rows[0], list):
        for number, row in enumerate(rows):
            try:
                _check_row(row)
            except ValueError as wrong:
                raise ValueError(f"row {number}: {wrong}") from None
    else:
        raise ValueError(f"elements must be int or list; got {type(rows[0]).__name__}")


def _check_row(value: Any) -> None:
    if value is None:
        raise ValueError("must not be None")
    if not isinstance(value, list):
        raise ValueError(f"must be list; got {type(value).__name__}")
    row = elements(value)
    if not row:
        return
    if not isinstance(row[0], int):
        raise ValueError(f"elements must be int; got {type(row[0]).__name__}")
    try:
        array("q", row)
    except (TypeError, OverflowError) as wrong:
        raise ValueError(f"contains non-int64 element: {wrong}") from None


_WORDS = nullable(either(STR, listed(STR)))
_MANY_WORDS = nullable(either(listed(nullable(STR)), STR))
_INTS = nullable(either(listed(INT), INT))
_MANY_INTS = nullable(either(listed(nullable(INT)), INT))
_ROWS = nullable(either(listed(listed(INT)), listed(INT)))
_FLAGS = nullable(either(listed(BOOL), BOOL))
_EMBEDS = nullable(either(listed(listed(listed(FLOAT))), listed(listed(FLOAT))))
_HIDDEN = either(BOOL, literal("last"))
_MODES = literal("selected", "support")

_PROMPTS: Rows = (
    Field("rid", _WORDS),
    since(17, "session_id", nullable(STR)),
    Field("text", _WORDS),
    until(13, "input_ids", _ROWS),
    since(13, "input_ids", Kind("input_ids", _ids)),
    Field("input_embeds", _EMBEDS),
    since(13, "mm_hashes", nullable(either(listed(STR), listed(listed(STR))))),
    since(18, "mm_content_hashes", nullable(either(listed(nullable(STR)), listed(listed(nullable(STR)))))),
    since(12, "use_audio_in_video", BOOL, default=False),
    since(20, "video_config", nullable(OBJECT)),
)
_SCORES: Rows = (
    until(17, "sampling_params", nullable(either(listed(DICT), DICT))),
    since(17, "sampling_params", nullable(either(listed(OBJECT), OBJECT))),
    Field("return_logprob", _FLAGS),
    Field("logprob_start_len", _INTS),
    Field("top_logprobs_num", _INTS),
    Field("token_ids_logprob", _ROWS),
    since(17, "return_sampling_mask", _FLAGS),
    since(21, "sampling_logprobs_mode", nullable(either(listed(nullable(_MODES)), _MODES))),
    Field("return_text_in_logprobs", BOOL, False),
    since(17, "return_flat_raw_top_logprobs", BOOL, default=False),
    since(21, "return_flat_raw_output_top_logprobs", BOOL, default=False),
    since(17, "return_flat_raw_top_logprobs_b64", BOOL, default=False),
    Field("stream", BOOL, False),
    Field("log_metrics", BOOL, True),
    until(17, "return_hidden_states", either(listed(BOOL), BOOL), default=False),
    since(17, "return_hidden_states", either(listed(_HIDDEN), BOOL, literal("last")), default=False),
    since(9, "return_routed_experts", BOOL, default=False),
    since(9, "routed_experts_start_len", INT, 0),
    since(12, "return_indexer_topk", BOOL, default=False),
)
_ADAPTERS: Rows = (
    Field("modalities", nullable(listed(STR))),
    until(17, "session_params", nullable(either(listed(DICT), DICT))),
    since(17, "session_params", nullable(OBJECT)),
    Field("lora_path", _MANY_WORDS),
    Field("lora_id", _MANY_WORDS),
    Field("custom_logit_processor", _MANY_WORDS),
)
_ROUTING: Rows = (
    until(17, "bootstrap_host", _WORDS),
    since(17, "bootstrap_host", _MANY_WORDS),
    Field("bootstrap_port", _MANY_INTS),
    until(17, "bootstrap_room", _INTS),
    since(17, "bootstrap_room", _MANY_INTS),
    until(17, "bootstrap_pair_key", _WORDS),
    since(17, "bootstrap_pair_key", _MANY_WORDS),
    since(9, "decode_tp_size", _MANY_INTS),
    since(10, "routed_dp_rank", nullable(INT)),
    Field("data_parallel_rank", nullable(INT)),
    since(10, "disagg_prefill_dp_rank", nullable(INT)),
    since(9, "routing_key", nullable(STR)),
    Field("conversation_id", nullable(STR)),
    since(6, "http_worker_ipc", nullable(STR)),
)
_TOLD: Rows = (
    Field("background", BOOL, False),
    since(9, "require_reasoning", BOOL, default=False),
    since(17, "max_thinking_tokens", nullable(INT)),
    Field("priority", nullable(INT)),
    Field("extra_key", _WORDS),
    Field("no_logs", BOOL, False),
    Field("custom_labels", nullable(mapped(STR))),
    since(21, "watermark", ANY),
    Field("return_bytes", BOOL, False),
    since(6, "return_entropy", BOOL, default=False),
    since(13, "return_prompt_token_ids", BOOL, default=False),
    until(17, "external_trace_header", nullable(DICT)),
    since(17, "external_trace_header", nullable(OBJECT)),
    since(9, "received_time", nullable(FLOAT)),
    since(10, "need_wait_for_mm_inputs", nullable(BOOL)),
    since(13, "encoder_urls", nullable(listed(STR))),
    since(9, "max_dynamic_patch", nullable(INT)),
    since(9, "min_dynamic_patch", nullable(INT)),
    since(9, "image_max_dynamic_patch", nullable(INT)),
    since(9, "video_max_dynamic_patch", nullable(INT)),
    since(17, "images_config", nullable(DICT)),
    since(21, "mm_processor_kwargs", nullable(DICT)),
    since(12, "multi_item_delimiter_indices", _ROWS),
    since(21, "token_indices_to_pool", _ROWS),
    since(18, "cache_salt", _WORDS),
)


@cache
def generate_model(version: Version) -> Model:
    """The body of a /generate request at one version."""
    fields = rows_of(version, _PROMPTS, _SCORES, _ADAPTERS, _ROUTING, _TOLD)
    return Model("GenerateReqInput", fields, dataclass=True)
