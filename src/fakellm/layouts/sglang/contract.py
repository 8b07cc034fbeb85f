"""The schema that guards /generate's sampling_params from 0.5.22 on, refused in the words of Rust's serde.

The error is a bare string. Names and kinds are data; the first offender in the request's own order is the one told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .loose import elements, members
from .traits import Trait, Traits

_COMPARED = frozenset(
    "temperature top_p top_k min_p frequency_penalty presence_penalty repetition_penalty min_new_tokens".split()
)
"""Numbers that are compared with their range whatever they are."""

_KINDS: Mapping[str, str] = {
    "max_new_tokens": "i64",
    "stop": "",
    "stop_token_ids": "a sequence",
    "stop_regex": "",
    "temperature": "f64",
    "top_p": "f64",
    "top_k": "i64",
    "min_p": "f64",
    "frequency_penalty": "f64",
    "presence_penalty": "f64",
    "repetition_penalty": "f64",
    "min_new_tokens": "i64",
    "n": "i64",
    "beam_width": "i64",
    "json_schema": "a string",
    "regex": "a string",
    "ebnf": "a string",
    "structural_tag": "a string",
    "ignore_eos": "a boolean",
    "skip_special_tokens": "a boolean",
    "spaces_between_special_tokens": "a boolean",
    "no_stop_trim": "a boolean",
    "stream_interval": "i64",
    "logit_bias": "a map",
    "sampling_seed": "i64",
    "custom_params": "a map",
    "watermark": "",
}
"""Member -> what serde expects; "" = several shapes, not checked here. Null is always allowed."""


def contract_error(parameters: Any) -> str | None:
    """What the contract has against sampling_params (one object or a list of them), or None."""
    if isinstance(parameters, list):
        return next((found for found in map(contract_error, elements(parameters)) if found is not None), None)
    for name, value in members(parameters).items():
        if name not in _KINDS:
            return f"unknown field `{name}`, expected one of {', '.join(f'`{known}`' for known in _KINDS)}"
        expected = _KINDS[name]
        if value is not None and expected and not _fits(value, expected):
            return f"invalid type: {_unexpected(value)}, expected {expected}"
    return None


def _fits(value: Any, expected: str) -> bool:
    if isinstance(value, bool):
        return expected == "a boolean"
    return {
        "i64": isinstance(value, int),
        "f64": isinstance(value, int | float),
        "a string": isinstance(value, str),
        "a boolean": False,
        "a sequence": isinstance(value, list),
        "a map": isinstance(value, Mapping),
    }[expected]


def _unexpected(value: Any) -> str:
    if isinstance(value, bool):
        return f"boolean `{str(value).lower()}`"
    if isinstance(value, int):
        return f"integer `{value}`"
    if isinstance(value, float):
        return f"floating point `{value}`"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'string "{escaped}"'
    return "sequence" if isinstance(value, list) else "map"


def crashes(parameters: Any, traits: Traits) -> bool:
    """Whether sampling_params raise inside versions without the contract: an unknown name, text for a number, and up to
    0.5.10 null for a number that is compared."""
    if isinstance(parameters, list):
        return any(crashes(each, traits) for each in elements(parameters))
    for name, value in members(parameters).items():
        if name not in _KINDS or (value is None and name in _COMPARED and not traits.has(Trait.NULL_PARAMETERS)):
            return True
        if _KINDS[name] in ("i64", "f64") and value is not None and not isinstance(value, int | float):
            return True
    return False
