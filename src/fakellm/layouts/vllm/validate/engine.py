"""What the sampling parameters and the engine's front end object to, once a prompt stands.

Two stages: the sampling parameters are made (always an ordinary 400), then the engine takes the request, which in most
versions happens after a stream has begun (``Refusal.late``). Texts and order are those of the captured versions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ....ask import Prompt
from ..launch import Settings
from ..options import V12, V16, V20, V24, V28, V32
from ..traits import Traits
from .checks import Rules, as_object
from .context import COMPLETION_DEFAULT, room_for
from .flaws import Objection, Refusal
from .read import Parsed
from .spelling import spell_objection

GREEDY_BELOW = 1e-5
MAX_LOGPROB_TOKEN_IDS = 128
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


def engine_checks(
    api: str,
    parsed: Parsed,
    prompts: Sequence[Prompt],
    traits: Traits,
    settings: Settings,
    *,
    vocab_size: int | None = None,
) -> Refusal | None:
    """The refusal of an accepted body whose prompts fit, or None.

    ``vocab_size``: how many ids the model has; None = ids are not checked. Call ``check_context`` first.
    """
    rules = Rules(traits, settings)
    for prompt in prompts:
        try:
            params = _params(api, parsed.values, len(prompt.token_ids), rules)
            if not params.values.get("use_beam_search"):
                check_sampling(params, rules)
        except Objection as objection:
            return spell_objection(objection, traits)
    for prompt in prompts:
        try:
            params = _params(api, parsed.values, len(prompt.token_ids), rules)
            check_engine(params, prompt.token_ids, rules, vocab_size)
        except Objection as objection:
            late = traits.late_engine_checks and bool(parsed.values.get("stream"))
            return spell_objection(objection, traits, late=late)
    return None


def _params(api: str, values: Mapping[str, Any], length: int, rules: Rules) -> Params:
    fields = as_object(values.get("sampling_params")) if api == "tito" else values
    asked = _asked(api, fields, rules)
    room = room_for(rules, length, asked, fields)
    logprobs, prompt_logprobs = _SCORES.get(api, _plain_scores)(fields)
    return Params(fields, room, logprobs, prompt_logprobs, _logit_bias(fields, rules))


def _asked(api: str, fields: Mapping[str, Any], rules: Rules) -> int | None:
    if api == "responses":
        return fields.get("max_output_tokens")
    if api == "chat":
        first = fields.get("max_completion_tokens")
        keep_zero = rules.version >= V16
        if first is not None and (first or keep_zero):
            return first
    asked = fields.get("max_tokens")
    if asked is None and (api == "completions" or (api == "tito" and rules.version <= V16)):
        return COMPLETION_DEFAULT
    return asked


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
    wrong: list[Any] = []
    bias: dict[int, float] = {}
    for key, value in given.items():
        try:
            bias[int(key)] = min(100.0, max(-100.0, value))
        except (TypeError, ValueError):
            wrong.append(key)
            if rules.version < V16:
                raise Objection(
                    f"Found token_id `{key}` in logit_bias but token_id must be an integer", plain=True
                ) from None
    if wrong:
        text = f"logit_bias contains key(s) that cannot be converted to integer token IDs: {wrong!r}"
        raise Objection(text, "logit_bias", wrong)
    return bias


def check_sampling(params: Params, rules: Rules) -> None:
    """The checks of the sampling parameters themselves."""
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
        if best_of < 1:
            raise Objection(f"best_of must be at least 1, got {best_of}", plain=True)
        if best_of < n:
            text = f"best_of must be greater than or equal to n, got n={n} and best_of={best_of}."
            raise Objection(text, plain=True)
    if rules.version >= V32 and _oversized(params.values.get("vllm_xargs") or params.values.get("extra_args")):
        raise Objection("extra_args integers must be between -2**63 and 2**64 - 1.", "extra_args")


def _oversized(value: Any) -> bool:
    if isinstance(value, int):
        return not -MAX_I64 <= value < MAX_U64
    if isinstance(value, dict):
        return any(_oversized(item) for item in cast("dict[str, Any]", value).values())
    return isinstance(value, list) and any(_oversized(item) for item in cast("list[Any]", value))


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


def check_engine(params: Params, prompt_ids: Sequence[int], rules: Rules, vocab_size: int | None) -> None:
    """The checks of the engine's front end: scores, ids, then the prompt itself."""
    if not params.values.get("use_beam_search"):
        _check_scores(params, rules, vocab_size)
        _check_ids(params, rules, vocab_size)
        _check_unsupported(params, rules)
    _check_prompt(prompt_ids, rules, vocab_size)


def _check_scores(params: Params, rules: Rules, vocab_size: int | None) -> None:
    limit = rules.settings.max_logprobs
    if limit == -1:
        limit = vocab_size if vocab_size is not None else MAX_I64
    doubled = "is is" if rules.version < V12 else "is"
    wanted = params.values.get("logprob_token_ids") if rules.version >= V24 else None
    for kind, value in (("sample", params.logprobs), ("prompt", params.prompt_logprobs)):
        if kind == "prompt" and wanted:
            _check_wanted(wanted, vocab_size)
        asked = vocab_size if value == -1 else value
        if asked is not None and asked > limit:
            text = f"Requested {kind} logprobs of {asked}, which {doubled} greater than max allowed: {limit}"
            raise Objection(text, "logprobs" if kind == "sample" else "prompt_logprobs", asked)


def _check_wanted(wanted: list[int], vocab_size: int | None) -> None:
    count = len(wanted)
    if count > MAX_LOGPROB_TOKEN_IDS:
        text = (
            f"Requested logprob_token_ids of length {count}, which is greater than max allowed: {MAX_LOGPROB_TOKEN_IDS}"
        )
        raise Objection(text, "logprob_token_ids", count)
    _check_vocabulary("logprob_token_ids", wanted, vocab_size)


def _outside(ids: Sequence[int], vocab_size: int | None) -> list[int]:
    return [] if vocab_size is None else [token for token in ids if not 0 <= token < vocab_size]


def _check_vocabulary(name: str, ids: Sequence[int], vocab_size: int | None) -> None:
    outside = _outside(ids, vocab_size)
    if outside:
        text = f"token_id(s) {outside} in {name} contain out-of-vocab token ids. Vocabulary size: {vocab_size}"
        raise Objection(text, name, outside)


def _check_ids(params: Params, rules: Rules, vocab_size: int | None) -> None:
    if params.logit_bias:
        _check_vocabulary("logit_bias", list(params.logit_bias), vocab_size)
    if rules.version >= V32:
        _check_vocabulary("stop_token_ids", list(dict.fromkeys(params.items("stop_token_ids"))), vocab_size)
    allowed = params.values.get("allowed_token_ids")
    if allowed is None:
        return
    plain = rules.version < V20
    if not allowed:
        raise Objection("allowed_token_ids is not None and empty!", "allowed_token_ids", allowed, plain=plain)
    outside = _outside(allowed, vocab_size)
    if outside:
        text = "allowed_token_ids contains out-of-vocab token id!"
        raise Objection(text, "allowed_token_ids", outside, plain=plain)


def _check_unsupported(params: Params, rules: Rules) -> None:
    best_of = params.values.get("best_of")
    if best_of is not None and best_of > 1 and rules.version < V12:
        raise Objection("vLLM V1 does not yet support best_of.", plain=True)
    if params.values.get("logits_processors") and rules.version < V20:
        words = "user provided" if rules.version < V12 else "user-provided"
        raise Objection(f"vLLM V1 does not support per request {words} logits processors.", plain=True)
    if rules.settings.speculative_config is None:
        return
    least = params.number("min_tokens", 0) > 1 and rules.version < V20
    if params.number("min_p", 0.0) > GREEDY_BELOW or params.logit_bias or least:
        named = "min_tokens, min_p, and logit_bias" if rules.version < V20 else "min_p and logit_bias"
        text = f"The {named} sampling parameters are not yet supported with speculative decoding."
        raise Objection(text, plain=rules.version < V28)


def _check_prompt(prompt_ids: Sequence[int], rules: Rules, vocab_size: int | None) -> None:
    plain = rules.version < V28
    length = len(prompt_ids)
    limit = rules.settings.max_model_len
    if length == 0:
        raise Objection("The decoder prompt cannot be empty", plain=plain)
    outside = _outside((min(prompt_ids), max(prompt_ids)), vocab_size)
    late_ids = rules.version >= V16
    if outside and not late_ids:
        raise Objection(f"Token id {outside[-1]} is out of vocabulary", plain=plain)
    if length > limit:
        text = (
            f"The decoder prompt (length {length}) is longer than the maximum model length of {limit}. Make sure that "
            "`max_model_len` is no smaller than the number of text tokens."
        )
        raise Objection(text, plain=plain)
    if length == limit and rules.version >= V20:
        text = (
            f"The decoder prompt (length {length}) plus the number of requested output tokens (at least 1) is longer "
            f"than the maximum model length of {limit}. Make sure that `max_model_len` is no smaller than the number "
            "of text tokens (prompt + requested output tokens)."
        )
        raise Objection(text, plain=plain)
    if outside:
        raise Objection(f"Token id {outside[0]} is out of vocabulary", plain=plain)
