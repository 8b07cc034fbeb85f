"""What SGLang's tokenizer manager accepts: lengths, sampling parameters, ids asked for, each refused in its words.

Every route that runs the engine comes through :meth:`Engine.item`. The order of the checks is SGLang's: length of the
prompt, of the whole, ids asked by number, then the sampling parameters. Pure; refuses by raising EngineRefusal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...tokenizer import Tokenizer
from .answers import EngineRefusal, Refusal
from .body_parts import NOTHING
from .call import Item, Limits
from .loose import elements
from .options import Settings
from .traits import Trait, Traits
from .watermark import check_watermark

DEFAULT_NEW_TOKENS = 128
"""max_new_tokens of /generate when the request says nothing."""

EMPTY_TEXT = "texts cannot be empty and tokenizer must be initialized"
_NO_HIDDEN_STATES = (
    "The server is not configured to return hidden states. Please set `--return-hidden-states-mode last`, "
    "`--return-hidden-states-mode full`, or the legacy `--enable-return-hidden-states` flag."
)
_NO_HIDDEN_STATES_BEFORE = (
    "The server is not configured to return the hidden states. Please set `--enable-return-hidden-states` to enable "
    "this feature."
)
_STOPS = 32
_SEED = 2**63
_GREEDY = 1e-6
"""A temperature below this takes the likeliest token, whatever top_k says."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The tokenizer manager of one station."""

    tokenizer: Tokenizer
    settings: Settings
    traits: Traits

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of a prompt text."""
        if self.settings.skip_tokenizer:
            raise EngineRefusal(
                "The engine initialized with skip_tokenizer_init=True cannot accept text prompts. Please provide "
                "input_ids or re-initialize the engine with skip_tokenizer_init=False."
            )
        if not text and self.traits.has(Trait.NO_EMPTY_TEXT):
            raise EngineRefusal(EMPTY_TEXT)
        return self.tokenizer.encode(text, add_special_tokens=True)

    def item(
        self,
        token_ids: tuple[int, ...],
        parameters: Mapping[str, Any],
        *,
        logprobs: bool = False,
        start_len: int = -1,
        top: int = 0,
        asked: tuple[int, ...] | None = None,
        features: Mapping[str, Any] = NOTHING,
    ) -> Item:
        """One prompt with its parameters, checked. ``start_len`` -1 is resolved as the version does; ``features``: the
        request's own members, some of which only a server launched for them takes."""
        context = self.settings.context_length
        count = len(token_ids)
        if count >= context:
            if not self.settings.auto_truncate:
                raise EngineRefusal(
                    f"The input ({count} tokens) is longer than the model's context length ({context} tokens)."
                )
            token_ids, count = token_ids[:context], context
        parameters = self._fitted(count, parameters)
        self._check_asked(asked)
        self._check_features(features)
        watermark = features.get("watermark")
        limits = self._limits(parameters if watermark is None else {**parameters, "watermark": watermark})
        return Item(token_ids, limits, logprobs, self._start(start_len, count, logprobs, asked), top, asked)

    def _fitted(self, count: int, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        context = self.settings.context_length
        wanted = parameters.get("max_new_tokens")
        room = context if self.traits.has(Trait.CONTEXT_MAY_BE_FILLED) else context - 1
        if not isinstance(wanted, int) or wanted + count <= room:
            return parameters
        if self.settings.auto_truncate:
            return {**parameters, "max_new_tokens": max(0, context - count)}
        raise EngineRefusal(
            f"Requested token count exceeds the model's maximum context length of {context} tokens. You requested a "
            f"total of {wanted + count} tokens: {count} tokens from the input messages and {wanted} tokens for the "
            "completion. Please reduce the number of tokens in the input messages or the completion to fit within the "
            "limit."
        )

    def _check_asked(self, asked: tuple[int, ...] | None) -> None:
        size = self.tokenizer.vocab_size
        if asked is None or not self.traits.has(Trait.VOCABULARY_CHECKED):
            return
        for token_id in asked:
            if not 0 <= token_id < size:
                raise EngineRefusal(
                    f"token_ids_logprob contains out-of-vocabulary token id {token_id}; valid range is [0, {size})."
                )

    def _check_features(self, features: Mapping[str, Any]) -> None:
        if features.get("return_hidden_states") and not self.settings.hidden_states:
            modes = self.traits.has(Trait.HIDDEN_STATES_MODES)
            raise EngineRefusal(_NO_HIDDEN_STATES if modes else _NO_HIDDEN_STATES_BEFORE)
        if features.get("custom_logit_processor") and not self.settings.custom_logit_processor:
            raise EngineRefusal(
                "The server is not configured to enable custom logit processor. Please set "
                "`--enable-custom-logit-processor` to enable this feature."
            )

    def _start(self, start: int, count: int, logprobs: bool, asked: tuple[int, ...] | None) -> int:
        if not logprobs:
            return -1
        if start == -1:
            if asked is not None or not self.traits.has(Trait.LAST_PROMPT_TOKEN_SCORED):
                return -1
            return count - 1
        if start > count:
            raise EngineRefusal(
                f"req.logprob_start_len={start} is higher than the number of input tokens len(req.origin_input_ids)="
                f"{count}. Please use a smaller logprob_start_len."
            )
        return start

    def _limits(self, parameters: Mapping[str, Any]) -> Limits:
        stops = _words(parameters.get("stop"))
        patterns = _words(parameters.get("stop_regex"))
        check_watermark(parameters.get("watermark"))
        self._check_stops(stops, patterns, parameters)
        _check_patterns(patterns)
        _check_ranges(parameters, self.traits, self.tokenizer.vocab_size)
        wanted = parameters.get("max_new_tokens", DEFAULT_NEW_TOKENS)
        return Limits(
            max_new_tokens=wanted,
            stop=stops,
            stop_regex=patterns,
            stop_token_ids=frozenset(int(each) for each in parameters.get("stop_token_ids") or () if each is not None),
            ignore_eos=bool(parameters.get("ignore_eos")),
            skip_special_tokens=parameters.get("skip_special_tokens") is not False,
            no_stop_trim=bool(parameters.get("no_stop_trim")),
            stream_interval=parameters.get("stream_interval"),
        )

    def _check_stops(self, stops: tuple[str, ...], patterns: tuple[str, ...], parameters: Mapping[str, Any]) -> None:
        if self.traits.has(Trait.STOPS_COUNTED):
            if len(stops) > _STOPS:
                raise EngineRefusal(f"at most {_STOPS} stop strings are allowed, got {len(stops)}")
            if len(patterns) > _STOPS:
                raise EngineRefusal(f"at most {_STOPS} stop_regex patterns are allowed, got {len(patterns)}")
        if not self.settings.skip_tokenizer:
            return
        needs = "is unavailable when skip_tokenizer_init=True (requires tokenizer"
        if stops:
            raise EngineRefusal(f"stop={list(stops)!r} {needs} to decode tokens to text for matching).")
        if patterns:
            raise EngineRefusal(f"stop_regex={list(patterns)!r} {needs} to decode tokens to text for matching).")
        least = parameters.get("min_new_tokens") or 0
        if least > 0:
            raise EngineRefusal(f"min_new_tokens={least} {needs} for eos_token_id).")


def one_word(values: Mapping[str, Any], traits: Traits, *, single: bool, prompts: int | None = None) -> None:
    """What a single request names by one word; raises Refusal for a list, and for one of another length than a batch's
    ``prompts``."""
    rids = values.get("rid")
    if isinstance(rids, list) and not single and prompts is not None and len(elements(rids)) != prompts:
        raise EngineRefusal("The specified rids length mismatch with the batch_size for batch processing.")
    if isinstance(values.get("rid"), list) and single:
        message = "Internal server error: unhashable type: 'list'"
        raise Refusal(message, kind="InternalServerError", status=500)
    if not single or not traits.has(Trait.ONE_KEY_FOR_ONE):
        return
    for name in ("extra_key", "cache_salt"):
        if isinstance(values.get(name), list):
            raise Refusal(f"{name} should be a string for a single request.")


def _check_patterns(patterns: tuple[str, ...]) -> None:
    """A pattern that is none breaks the server."""
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as wrong:
            sentence = f"Internal server error: {wrong}"
            raise Refusal(sentence, kind="InternalServerError", status=500) from None


def _words(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def _value(parameters: Mapping[str, Any], name: str, default: float) -> Any:
    given = parameters.get(name)
    return default if given is None else given


def _check_ranges(parameters: Mapping[str, Any], traits: Traits, vocabulary: int) -> None:
    """SamplingParams.verify: the ranges of the sampling parameters, in its order."""
    width = parameters.get("beam_width")
    if isinstance(width, int) and width < 1:
        raise EngineRefusal(f"beam_width must be at least 1, got {width}.")
    temperature = _value(parameters, "temperature", 1.0)
    finite = traits.has(Trait.TEMPERATURE_FINITE)
    if temperature < 0 or (finite and not math.isfinite(temperature)):
        wanted = "a non-negative finite number" if finite else "non-negative"
        raise EngineRefusal(f"temperature must be {wanted}, got {temperature}.")
    _check_between(parameters, traits)
    least = _value(parameters, "min_new_tokens", 0)
    if least < 0:
        raise EngineRefusal(f"min_new_tokens must be in [0, max_new_tokens], got {least}.")
    most = parameters.get("max_new_tokens", DEFAULT_NEW_TOKENS)
    if most is not None:
        if most < 0:
            raise EngineRefusal(f"max_new_tokens must be at least 0, got {most}.")
        if least > most:
            raise EngineRefusal(f"min_new_tokens must be in [0, max_new_tokens({most})], got {least}.")
    _check_bias(parameters.get("logit_bias") or {}, vocabulary)
    seed = parameters.get("sampling_seed")
    if isinstance(seed, int) and not -_SEED <= seed < _SEED and traits.has(Trait.SEED_RANGED):
        raise EngineRefusal(f"sampling_seed must be in [-2**63, 2**63 - 1], got {seed}.")
    _check_grammars(parameters, traits)


def _check_bias(bias: Mapping[str, Any], vocabulary: int) -> None:
    for token_id in bias:
        try:
            number = int(token_id)
        except ValueError as wrong:
            raise EngineRefusal(str(wrong)) from None
        if not 0 <= number < vocabulary:
            raise EngineRefusal(f"logit_bias must has keys in [0, {vocabulary - 1}], got {token_id}.")


def _check_grammars(parameters: Mapping[str, Any], traits: Traits) -> None:
    """At most one grammar; an empty one is none from 0.5.17 on."""
    four = traits.has(Trait.GRAMMARS_FOUR)
    given = [parameters.get(name) for name in ("json_schema", "regex", "ebnf", *(("structural_tag",) if four else ()))]
    if sum(1 for grammar in given if (grammar if four else grammar is not None)) > 1:
        names = "json_schema, regex, ebnf, or structural_tag" if four else "regex, json_schema, or ebnf"
        raise EngineRefusal(f"Only one of {names} can be set.")


def _check_between(parameters: Mapping[str, Any], traits: Traits) -> None:
    top_p = _value(parameters, "top_p", 1.0)
    if not 0 < top_p <= 1:
        raise EngineRefusal(f"top_p must be in (0, 1], got {top_p}.")
    min_p = _value(parameters, "min_p", 0.0)
    if not 0 <= min_p <= 1:
        raise EngineRefusal(f"min_p must be in [0, 1], got {min_p}.")
    top_k = _value(parameters, "top_k", -1)
    greedy = 0 <= _value(parameters, "temperature", 1.0) < _GREEDY
    if top_k < 1 and top_k != -1 and not greedy:
        raise EngineRefusal(f"top_k must be -1 (disable) or at least 1, got {top_k}.")
    for name in ("frequency_penalty", "presence_penalty"):
        penalty = _value(parameters, name, 0.0)
        if not -2 <= penalty <= 2:
            raise EngineRefusal(f"{name} must be in [-2, 2], got {penalty}.")
    repetition = _value(parameters, "repetition_penalty", 1.0)
    above = traits.has(Trait.REPETITION_ABOVE_ZERO)
    if not 0 <= repetition <= 2 or (above and repetition == 0):
        allowed = "(0, 2] (1.0 = no penalty)" if above else "[0, 2]"
        raise EngineRefusal(f"repetition_penalty must be in {allowed}, got {repetition}.")
