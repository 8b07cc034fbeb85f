"""The schema that guards /generate from 0.5.22 on, refused in the words of Rust's serde as SGLang's Python says them.

The error is a bare string. Names and kinds are data (``sglang/api/v1/api_types.py`` of 0.5.23, generated from its
protocol files); the first offender in the request's own order is the one told. Media are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..common.serde import PYTHON
from .loose import elements, members
from .traits import Trait, Traits

Check = Callable[[Any], str | None]
"""What the contract has against a value, or None."""

_COMPARED = frozenset(
    "temperature top_p top_k min_p frequency_penalty presence_penalty repetition_penalty min_new_tokens".split()
)
"""Numbers that are compared with their range whatever they are."""


def _first(found: Iterable[str | None]) -> str | None:
    return next((one for one in found if one is not None), None)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _of(fits: Callable[[Any], bool], expected: str) -> Check:
    return lambda value: None if fits(value) else PYTHON.invalid_type(value, expected)


_INTEGER = _of(_whole, "i64")
_FLOAT = _of(lambda value: isinstance(value, float) or _whole(value), "f64")
_TEXT = _of(lambda value: isinstance(value, str), "a string")
_BOOLEAN = _of(lambda value: isinstance(value, bool), "a boolean")


def _optional(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _anything(value: Any) -> str | None:
    return None


def _unsigned(value: Any) -> str | None:
    if not _whole(value):
        return PYTHON.invalid_type(value, "u64")
    return f"invalid value: integer `{value}`, expected u64" if value < 0 else None


def _sequence(check: Check) -> Check:
    def against(value: Any) -> str | None:
        if not isinstance(value, list):
            return PYTHON.invalid_type(value, "a sequence")
        return _first(map(check, elements(value)))

    return against


def _map(check: Check) -> Check:
    def against(value: Any) -> str | None:
        if not isinstance(value, Mapping):
            return PYTHON.invalid_type(value, "a map")
        return _first(map(check, members(value).values()))

    return against


def _one_or_many(name: str, one: Check, element: Check | None = None) -> Check:
    """A value, or a list of them; ``name``: what the schema calls both together."""
    expected = f"a value or an array of values for {name}"

    def against(value: Any) -> str | None:
        if isinstance(value, list):
            return _first(map(element or one, elements(value)))
        return PYTHON.invalid_type(value, expected) if one(value) is not None else None

    return against


def _ids(value: Any) -> str | None:
    """One list of ids, or a list of such lists: the first element tells which."""
    if not isinstance(value, list):
        return PYTHON.invalid_type(value, "a value or an array of values for TokenIdsOrList")
    rows = elements(value)
    flat = not rows or (isinstance(rows[0], int | float) and not isinstance(rows[0], bool))
    return _sequence(_INTEGER)(rows) if flat else _first(map(_sequence(_INTEGER), rows))


def _struct(name: str, fields: Mapping[str, Check], *, closed: bool) -> Check:
    """An object; ``closed``: members that are not listed are refused."""

    def against(value: Any) -> str | None:
        if not isinstance(value, Mapping):
            return PYTHON.invalid_type(value, f"struct {name}")
        return _first(_member(key, member) for key, member in members(value).items())

    def _member(key: str, value: Any) -> str | None:
        if key in fields:
            return fields[key](value)
        return _unknown(key, tuple(fields)) if closed else None

    return against


def _unknown(key: str, fields: tuple[str, ...]) -> str:
    return f"unknown field `{key}`, expected one of {', '.join(f'`{name}`' for name in fields)}"


_WORDS = _one_or_many("StringOrList", _TEXT)
_WATERMARK = _struct(
    "WatermarkRequestConfig",
    {"enabled": _optional(_BOOLEAN), "key": _optional(_TEXT), "context_window": _optional(_INTEGER)},
    closed=True,
)
_SAMPLING: Mapping[str, Check] = {
    "max_new_tokens": _optional(_INTEGER),
    "stop": _optional(_WORDS),
    "stop_token_ids": _optional(_sequence(_INTEGER)),
    "stop_regex": _optional(_WORDS),
    **dict.fromkeys(("temperature", "top_p"), _optional(_FLOAT)),
    "top_k": _optional(_INTEGER),
    **dict.fromkeys(
        ("min_p", "frequency_penalty", "presence_penalty", "repetition_penalty"),
        _optional(_FLOAT),
    ),
    **dict.fromkeys(("min_new_tokens", "n"), _optional(_INTEGER)),
    **dict.fromkeys(("json_schema", "regex", "ebnf", "structural_tag"), _optional(_TEXT)),
    **dict.fromkeys(
        ("ignore_eos", "skip_special_tokens", "spaces_between_special_tokens", "no_stop_trim"),
        _optional(_BOOLEAN),
    ),
    "stream_interval": _optional(_INTEGER),
    "logit_bias": _optional(_map(_FLOAT)),
    "sampling_seed": _optional(_INTEGER),
    "custom_params": _anything,
    "beam_width": _optional(_INTEGER),
    "watermark": _optional(_WATERMARK),
    "choice": _optional(_sequence(_TEXT)),
}
"""Member of sampling_params -> its check, in the order in which a refusal lists them."""


def _sampling(value: Any) -> str | None:
    check = _struct("SamplingParams", _SAMPLING, closed=True)
    if isinstance(value, list):
        return _first(map(check, elements(value)))
    if not isinstance(value, Mapping):
        return PYTHON.invalid_type(value, "a value or an array of values for SamplingParamsOrList")
    return check(members(value))


_OPTIONAL_WORDS = _optional(_one_or_many("OptionalStringOrList", _TEXT, _optional(_TEXT)))
_OPTIONAL_NUMBERS = _optional(_one_or_many("OptionalInt64OrList", _INTEGER, _optional(_INTEGER)))
_FLAGS = _optional(_one_or_many("BoolOrList", _BOOLEAN))
_NUMBERS = _optional(_one_or_many("Int64OrList", _INTEGER))
_REQUEST: Mapping[str, Check] = {
    **dict.fromkeys(("rid", "text", "extra_key", "cache_salt"), _optional(_WORDS)),
    **dict.fromkeys(("input_ids", "token_ids_logprob"), _optional(_ids)),
    **dict.fromkeys(("stream", "return_text_in_logprobs", "require_reasoning"), _optional(_BOOLEAN)),
    "sampling_params": _optional(_sampling),
    **dict.fromkeys(("return_logprob", "return_hidden_states", "return_sampling_mask"), _FLAGS),
    **dict.fromkeys(("logprob_start_len", "top_logprobs_num"), _NUMBERS),
    **dict.fromkeys(("bootstrap_host", "bootstrap_pair_key", "lora_path", "custom_logit_processor"), _OPTIONAL_WORDS),
    **dict.fromkeys(("bootstrap_port", "bootstrap_room", "decode_tp_size"), _OPTIONAL_NUMBERS),
    **dict.fromkeys(("routed_dp_rank", "disagg_prefill_dp_rank", "priority"), _optional(_INTEGER)),
    **dict.fromkeys(("routing_key", "session_id"), _optional(_TEXT)),
    "max_thinking_tokens": _optional(_unsigned),
    "custom_labels": _optional(_map(_TEXT)),
    "images_config": _optional(
        _struct("ImagesConfig", {"image_mode": _optional(_TEXT), "prefix": _TEXT}, closed=False)
    ),
    "return_prompt_token_ids": _BOOLEAN,
    "routed_experts_start_len": _INTEGER,
    "modalities": _optional(_sequence(_optional(_TEXT))),
}
"""Member of the body -> its check; others are ignored."""

contract_error = _struct("GenerateRequest", _REQUEST, closed=False)
"""What the contract has against a /generate body, or None."""


def crashes(parameters: Any, traits: Traits) -> bool:
    """Whether sampling_params raise inside versions without the contract: an unknown name, text for a number, and up to
    0.5.10 null for a number that is compared."""
    if isinstance(parameters, list):
        return any(crashes(each, traits) for each in elements(parameters))
    for name, value in members(parameters).items():
        if name not in _SAMPLING or (value is None and name in _COMPARED and not traits.has(Trait.NULL_PARAMETERS)):
            return True
        if traits.version < (0, 5, _LATER.get(name, 0)):
            return True
        if name in _NUMERIC and value is not None and not isinstance(value, int | float):
            return True
    return False


_LATER = {"stop_regex": 6, "beam_width": 20, "watermark": 21}
"""Sampling parameters that came with a later release: before it, an unknown name."""
_NUMERIC = _COMPARED | {"max_new_tokens", "n", "beam_width", "stream_interval", "sampling_seed"}
