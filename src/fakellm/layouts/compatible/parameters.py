"""The members of OpenAI's chat and completions requests, what each must be, and OpenAI's words when it is not.

The kinds come from the official SDK's types (3.57); ranges from OpenAI's reference. Other vendors are checked by the
same table, less what they do not check. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from .errors import Refusal

Kind = Literal["number", "integer", "boolean", "string", "array", "object", "any"]
_WORDS: Mapping[str, str] = {
    "number": "a decimal",
    "integer": "an integer",
    "boolean": "a boolean",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a member must be. ``least``/``most``: bounds of a number, None = none."""

    kind: Kind
    least: float | None = None
    most: float | None = None


_SHARED: Mapping[str, Parameter] = {
    "model": Parameter("string"),
    "frequency_penalty": Parameter("number", -2, 2),
    "presence_penalty": Parameter("number", -2, 2),
    "temperature": Parameter("number", 0, 2),
    "top_p": Parameter("number", 0, 1),
    "logit_bias": Parameter("object"),
    "max_tokens": Parameter("integer", 1),
    "n": Parameter("integer", 1, 128),
    "seed": Parameter("integer"),
    "stop": Parameter("any"),
    "stream": Parameter("boolean"),
    "stream_options": Parameter("object"),
    "user": Parameter("string"),
}
CHAT: Mapping[str, Parameter] = {
    **_SHARED,
    "messages": Parameter("array"),
    "audio": Parameter("object"),
    "function_call": Parameter("any"),
    "functions": Parameter("array"),
    "logprobs": Parameter("boolean"),
    "max_completion_tokens": Parameter("integer", 1),
    "metadata": Parameter("object"),
    "modalities": Parameter("array"),
    "moderation": Parameter("any"),
    "parallel_tool_calls": Parameter("boolean"),
    "prediction": Parameter("object"),
    "prompt_cache_key": Parameter("string"),
    "prompt_cache_options": Parameter("object"),
    "prompt_cache_retention": Parameter("string"),
    "reasoning_effort": Parameter("string"),
    "response_format": Parameter("object"),
    "safety_identifier": Parameter("string"),
    "service_tier": Parameter("string"),
    "store": Parameter("boolean"),
    "tool_choice": Parameter("any"),
    "tools": Parameter("array"),
    "top_logprobs": Parameter("integer", 0, 20),
    "verbosity": Parameter("string"),
    "web_search_options": Parameter("object"),
}
COMPLETIONS: Mapping[str, Parameter] = {
    **_SHARED,
    "prompt": Parameter("any"),
    "best_of": Parameter("integer", 1, 20),
    "echo": Parameter("boolean"),
    "logprobs": Parameter("integer", 0, 5),
    "suffix": Parameter("string"),
}


def check(name: str, value: Any, parameter: Parameter) -> None:
    """Raises Refusal when a value is not what its member must be. Null is always allowed."""
    if value is None or parameter.kind == "any":
        return
    if not _is(value, parameter.kind):
        raise Refusal(
            f"Invalid type for '{name}': expected {_WORDS[parameter.kind]}, but got {described(value)} instead.",
            param=name,
            code="invalid_type",
        )
    if parameter.least is not None and value < parameter.least:
        raise _outside(name, value, parameter, "below minimum", ">=", parameter.least)
    if parameter.most is not None and value > parameter.most:
        raise _outside(name, value, parameter, "above maximum", "<=", parameter.most)


def _outside(name: str, value: Any, parameter: Parameter, where: str, sign: str, bound: float) -> Refusal:
    kind = "integer" if parameter.kind == "integer" else "decimal"
    return Refusal(
        f"Invalid '{name}': {kind} {where} value. Expected a value {sign} {bound:g}, but got {value} instead.",
        param=name,
        code=f"{kind}_{where.replace(' ', '_')}_value",
    )


def _is(value: Any, kind: Kind) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return {
        "number": isinstance(value, int | float),
        "integer": isinstance(value, int),
        "boolean": False,
        "string": isinstance(value, str),
        "array": isinstance(value, list),
        "object": isinstance(value, Mapping),
        "any": True,
    }[kind]


def described(value: Any) -> str:
    """A value's kind in words."""
    if isinstance(value, bool):
        return "a boolean"
    for kind in ("integer", "number", "string", "array", "object"):
        if _is(value, cast("Kind", kind)):
            return _WORDS[kind]
    return "null"
