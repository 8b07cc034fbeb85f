"""The sampling parameters of a request as the engine would get them, and what they object to themselves.

Texts, order and the bare or typed nature of each check are those of the captured versions. Knows no HTTP.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..options import V12, V16, V20, V24, V28, V32
from .checks import Rules, as_object
from .context import TOKENS_IN, room_for
from .flaws import Objection

GREEDY_BELOW = 1e-5
MAX_I64, MAX_U64 = 2**63, 2**64


@dataclass(frozen=True, slots=True)
class Params:
    """The sampling parameters of one request, as the engine would get them."""

    values: Mapping[str, Any]
    max_tokens: int | None
    logprobs: int | None
    prompt_logprobs: int | None
    logit_bias: Mapping[int, float] | None

    def number(self, name: str, default: float) -> Any:
        """A field's value, or its default when null or absent."""
        value = self.values.get(name)
        return default if value is None else value

    def items(self, name: str) -> list[Any]:
        """A list field; a single string counts as a list of one."""
        value = self.values.get(name)
        if value is None:
            return []
        return [value] if isinstance(value, str) else list(value)


def params_of(api: str, values: Mapping[str, Any], length: int, rules: Rules) -> Params:
    """The parameters for a prompt of ``length`` tokens; raises Objection where they cannot be made."""
    if api in TOKENS_IN:
        return tokens_in_params(as_object(values.get("sampling_params")), rules)
    logprobs, prompt_logprobs = _SCORES.get(api, _plain_scores)(values)
    room = room_for(rules, length, asked_tokens(api, values, rules), values)
    if api == "completions" and values.get("echo") and values.get("max_tokens") == 0:
        room = 1
    return Params(values, room, logprobs, prompt_logprobs, _logit_bias(values, rules))


def tokens_in_params(fields: Mapping[str, Any], rules: Rules) -> Params:
    """The parameters that a request spells out itself."""
    bias = _logit_bias(fields, rules)
    return Params(fields, fields.get("max_tokens"), fields.get("logprobs"), fields.get("prompt_logprobs"), bias)


def asked_tokens(api: str, fields: Mapping[str, Any], rules: Rules) -> int | None:
    """How many tokens a request asks for, None = as many as fit."""
    if api == "responses":
        return fields.get("max_output_tokens")
    if api in TOKENS_IN:
        return as_object(fields.get("sampling_params")).get("max_tokens")
    first = fields.get("max_completion_tokens")
    if first is not None and (first or rules.version >= V16):
        return first
    return fields.get("max_tokens")


def _chat_scores(fields: Mapping[str, Any]) -> tuple[int | None, int | None]:
    top = fields.get("top_logprobs")
    prompt = fields.get("prompt_logprobs")
    if prompt is None and fields.get("echo"):
        prompt = top
    return (top if fields.get("logprobs") and not fields.get("logprob_token_ids") else None), prompt


def _completion_scores(fields: Mapping[str, Any]) -> tuple[int | None, int | None]:
    logprobs = fields.get("logprobs")
    prompt = fields.get("prompt_logprobs")
    if prompt is None and fields.get("echo"):
        prompt = logprobs
    return (None if fields.get("logprob_token_ids") else logprobs), prompt


def _response_scores(fields: Mapping[str, Any]) -> tuple[int | None, int | None]:
    asked = "message.output_text.logprobs" in (fields.get("include") or ())
    return (fields.get("top_logprobs") or 0 if asked else None), None


def _plain_scores(fields: Mapping[str, Any]) -> tuple[int | None, int | None]:
    return fields.get("logprobs"), fields.get("prompt_logprobs")


_SCORES: Mapping[str, Callable[[Mapping[str, Any]], tuple[int | None, int | None]]] = {
    "chat": _chat_scores,
    "completions": _completion_scores,
    "responses": _response_scores,
}


def _logit_bias(fields: Mapping[str, Any], rules: Rules) -> Mapping[int, float] | None:
    given: Mapping[Any, float] | None = fields.get("logit_bias")
    if given is None:
        return None
    try:
        return {int(token): min(100.0, max(-100.0, bias)) for token, bias in given.items()}
    except ValueError as bad:
        if rules.version < V28:
            raise Objection(str(bad), plain=True) from None
    wrong = [token for token in given if not _is_whole(token)]
    text = f"logit_bias contains key(s) that cannot be converted to integer token IDs: {wrong!r}"
    raise Objection(text, "logit_bias", wrong)


def _is_whole(text: Any) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


def check_sampling(params: Params, rules: Rules) -> None:
    """The checks of the sampling parameters themselves."""
    budget = params.number("thinking_token_budget", 0)
    if rules.version >= V24 and budget < -1:
        text = "`thinking_token_budget` must be a non-negative integer or -1 for unlimited."
        raise Objection(text, "thinking_token_budget", budget)
    _check_counts(params, rules)
    _check_ranges(params, rules)
    _check_lengths(params, rules)
    _check_strings(params, rules)
    if params.number("temperature", 1.0) < GREEDY_BELOW and params.number("n", 1) > 1:
        text = f"n must be 1 when using greedy sampling, got {params.values['n']}."
        raise Objection(text, plain=rules.version < V28)


def _check_counts(params: Params, rules: Rules) -> None:
    n = params.number("n", 1)
    plain = rules.version < V28
    if n < 1:
        raise Objection(f"n must be at least 1, got {n}.", plain=plain)
    limit = rules.settings.max_n_sequences
    if n > limit and rules.version >= V20:
        text = (
            f"n must be at most {limit}, got {n}. To increase this limit, set the VLLM_MAX_N_SEQUENCES environment "
            "variable."
        )
        raise Objection(text, plain=plain)
    best_of = params.values.get("best_of")
    if best_of is not None and rules.version < V12:
        if not best_of:
            raise Objection(f"best_of must be at least 1, got {best_of}", plain=True)
        if best_of < n:
            text = f"best_of must be greater than or equal to n, got n={n} and best_of={best_of}."
            raise Objection(text, plain=True)
    if rules.version >= V32 and unencodable(params.values.get("vllm_xargs") or params.values.get("extra_args")):
        raise Objection("extra_args integers must be between -2**63 and 2**64 - 1.", "extra_args")


def unencodable(value: Any) -> bool:
    """Whether a JSON value holds an integer that does not fit the engine's wire (64 bits)."""
    if isinstance(value, int):
        return not -MAX_I64 <= value < MAX_U64
    if isinstance(value, dict):
        return any(unencodable(item) for item in cast("dict[str, Any]", value).values())
    return isinstance(value, list) and any(unencodable(item) for item in cast("list[Any]", value))


def _check_ranges(params: Params, rules: Rules) -> None:
    plain = rules.version < V28
    for name in ("presence_penalty", "frequency_penalty"):
        value = params.number(name, 0.0)
        if not -2.0 <= value <= 2.0:
            raise Objection(f"{name} must be in [-2, 2], got {value}.", plain=plain)
    repetition = params.number("repetition_penalty", 1.0)
    if not math.isfinite(repetition) and rules.version >= V24:
        raise Objection(f"repetition_penalty must be a finite number, got {repetition}.", plain=plain)
    if repetition <= 0.0:
        raise Objection(f"repetition_penalty must be greater than zero, got {repetition}.", plain=plain)
    temperature = params.number("temperature", 1.0)
    if not math.isfinite(temperature) and rules.version >= V24:
        raise Objection(f"temperature must be a finite number, got {temperature}.", "temperature", temperature)
    if temperature < 0.0:
        raise Objection(f"temperature must be non-negative, got {temperature}.", "temperature", temperature)
    if temperature > 2.0 and rules.version >= V24:
        raise Objection(f"temperature must be in [0, 2], got {temperature}.", "temperature", temperature)
    top_p = params.number("top_p", 1.0)
    if not 0.0 < top_p <= 1.0:
        raise Objection(f"top_p must be in (0, 1], got {top_p}.", "top_p", top_p)
    top_k = params.number("top_k", 0)
    if top_k < -1:
        raise Objection(f"top_k must be 0 (disable), or at least 1, got {top_k}.", plain=plain)
    min_p = params.number("min_p", 0.0)
    if not 0.0 <= min_p <= 1.0:
        raise Objection(f"min_p must be in [0, 1], got {min_p}.", plain=plain)


def _check_lengths(params: Params, rules: Rules) -> None:
    plain = rules.version < V28
    most = params.max_tokens
    if most is not None and most < 1:
        raise Objection(f"max_tokens must be at least 1, got {most}.", "max_tokens", most)
    least = params.number("min_tokens", 0)
    if least < 0:
        raise Objection(f"min_tokens must be greater than or equal to 0, got {least}.", plain=plain)
    if most is not None and least > most:
        text = f"min_tokens must be less than or equal to max_tokens={most}, got {least}."
        raise Objection(text, plain=plain)
    interval = params.values.get("stream_interval")
    if interval is not None and interval < 1 and rules.version >= V28:
        raise Objection(f"stream_interval must be at least 1, got {interval}.", "stream_interval", interval)
    for name, value in (("logprobs", params.logprobs), ("prompt_logprobs", params.prompt_logprobs)):
        if value is not None and value < 0 and value != -1:
            raise Objection(f"{name} must be non-negative or -1, got {value}.", name, value)
    truncated = params.values.get("truncate_prompt_tokens")
    if truncated is not None and (truncated == 0 or truncated < -1) and rules.version < V20:
        text = f"truncate_prompt_tokens must be an integer >= 1 or -1, got {truncated}"
        raise Objection(text, "truncate_prompt_tokens", truncated)


def _check_strings(params: Params, rules: Rules) -> None:
    plain = rules.version < V28
    stops = params.items("stop")
    if any(not stop for stop in stops):
        raise Objection("stop cannot contain an empty string.", plain=plain)
    if stops and (rules.settings.tokens_only or rules.settings.skip_tokenizer_init):
        text = "stop strings are only supported when detokenize is True. Set detokenize=True to use stop."
        raise Objection(text, plain=plain)
    words = list(dict.fromkeys(params.items("bad_words")))
    if rules.version >= V24 and any(not word for word in words):
        raise Objection(f"bad_words cannot contain an empty string. Got bad_words={words}", plain=plain)
