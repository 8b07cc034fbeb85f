"""What /inference/v1/generate takes: ids in, ids out. Its fields by version, with the sampling parameters inside.

The sampling parameters are made while the body is read, so their own checks count as checks of the body.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from ..options import V16, V20, V24, V28, V32
from .chat import transfer_fields
from .checks import Check, Rules, as_object, check_cache_salt
from .containers import Checked, ListOf, MapOf, Maybe, Union
from .flaws import FlawedBody, Objection, Path
from .kinds import Flaws, InstanceOf, Kind, Member, OneOf, Whole
from .parts import (
    ANYTHING,
    FLAG,
    INT64_MAX,
    INT64_MIN,
    MAYBE_FLAG,
    MAYBE_OBJECT,
    MAYBE_TEXT,
    MAYBE_WHOLE,
    MAYBE_WHOLES,
    NUMBER,
    OBJECT,
    REPETITION,
    TEXT,
    WHOLE,
    stream_options,
    structured_outputs,
    value_flaw,
)
from .records import REQUIRED, Field, Record, Version
from .sampling import check_sampling, tokens_in_params, unencodable
from .spelling import check_as_flaw

EMPTY_OBJECT: Mapping[str, Any] = MappingProxyType({})
DEFAULT_TOKENS = 16
"""What counts up to 0.20 when none is asked for (newer versions then go to the end of the context), and what the
parameters are checked with everywhere."""


SPELLED_OUT = "function-after[_validate_msgspec(), typed-dict]"
"""The label of sampling parameters that came as an object."""
_INSTANCE = InstanceOf("SamplingParams")


def _sampling_params(version: Version) -> Kind:
    record = Record(
        SPELLED_OUT,
        (
            Field("n", WHOLE, 1),
            Field("presence_penalty", NUMBER, 0.0),
            Field("frequency_penalty", NUMBER, 0.0),
            Field("repetition_penalty", NUMBER, 1.0),
            Field("temperature", NUMBER, 1.0),
            Field("watermarking", MAYBE_FLAG, since=V32),
            Field("top_p", NUMBER, 1.0),
            Field("top_k", WHOLE, 0),
            Field("min_p", NUMBER, 0.0),
            Field("seed", MAYBE_WHOLE),
            Field("stop", Maybe(Union((TEXT, ListOf(TEXT))))),
            Field("stop_token_ids", MAYBE_WHOLES),
            Field("ignore_eos", FLAG, False),
            Field("max_tokens", MAYBE_WHOLE, DEFAULT_TOKENS, until=V24),
            Field("max_tokens", MAYBE_WHOLE, since=V24),
            Field("min_tokens", WHOLE, 0),
            Field("logprobs", MAYBE_WHOLE),
            Field("prompt_logprobs", MAYBE_WHOLE),
            Field("prompt_logprob_token_ids", Maybe(ListOf(ListOf(WHOLE))), since=V32),
            Field("prompt_logprob_start", MAYBE_WHOLE, since=V32),
            Field("logprob_token_ids", MAYBE_WHOLES, since=V20),
            Field("flat_logprobs", FLAG, False),
            Field("detokenize", FLAG, True),
            Field("output_kind", Member((0, 1, 2)), 0),
            Field("skip_special_tokens", FLAG, True),
            Field("spaces_between_special_tokens", FLAG, True),
            Field("logits_processors", ANYTHING, until=V20),
            Field("include_stop_str_in_output", FLAG, False),
            Field("truncate_prompt_tokens", Maybe(Whole(-1)), until=V20),
            Field("stream_interval", MAYBE_WHOLE, since=V28),
            Field("structured_outputs", Maybe(structured_outputs(version))),
            Field("logit_bias", Maybe(MapOf(NUMBER, key=WHOLE))),
            Field("allowed_token_ids", MAYBE_WHOLES),
            Field("extra_args", MAYBE_OBJECT),
            Field("bad_words", Maybe(ListOf(TEXT))),
            Field("skip_reading_prefix_cache", MAYBE_FLAG),
            Field("thinking_token_budget", MAYBE_WHOLE, since=V20),
            Field("repetition_detection", Maybe(REPETITION), since=V20),
            Field("routed_experts_prompt_start", WHOLE, 0, since=V24),
            Field("trace_decode_token_ids", MAYBE_WHOLES, since=V32),
        ),
        nature="dictionary",
    ).at(version)
    return Union((_INSTANCE, record)) if version > V16 else record


_RANGE = Record("PlaceholderRangeInfo", (Field("offset", WHOLE, REQUIRED), Field("length", WHOLE, REQUIRED)))
_FEATURES = Record(
    "MultiModalFeatures",
    (
        Field("mm_hashes", MapOf(ListOf(TEXT)), REQUIRED),
        Field("mm_placeholders", MapOf(ListOf(_RANGE)), REQUIRED),
        Field("kwargs_data", Maybe(MapOf(ListOf(MAYBE_TEXT)))),
    ),
)


def _not_negative(value: list[int], path: Path, flaws: Flaws) -> list[int]:
    if any(token < 0 for token in value):
        flaws.append(value_flaw("token_ids must not contain negative values", path, value))
    return value


def _token_ids(version: Version) -> Kind:
    ids = ListOf(WHOLE, at_least=1) if version >= V24 else ListOf(WHOLE)
    return Checked(ids, after=_not_negative) if version > V16 else ids


@cache
def fields(version: Version, stop_limit: int) -> Record:
    """The request as a version knows it (from 0.12)."""
    salt, kv, ec = transfer_fields(version)
    kwargs = Record("ReasoningParserKwargs", (Field("chat_template_kwargs", OBJECT, EMPTY_OBJECT),), strict=True)
    return Record(
        "GenerateRequest",
        (
            Field("request_id", TEXT),
            Field("token_ids", _token_ids(version), REQUIRED),
            Field("assistant_tokens_mask", MAYBE_WHOLES, since=V28, until=V32),
            Field("token_offsets", Maybe(ListOf(ListOf(WHOLE, pair=True))), since=V28),
            Field("features", MAYBE_TEXT, until=V20),
            Field("features", Maybe(_FEATURES), since=V20),
            Field("content_parts", Maybe(ListOf(OBJECT)), since=V28),
            Field("sampling_params", _sampling_params(version), REQUIRED),
            Field("model", MAYBE_TEXT),
            Field("reasoning_ended", MAYBE_FLAG, since=V32),
            Field("reasoning_parser_kwargs", Maybe(kwargs), since=V32),
            Field("return_token_ids", MAYBE_FLAG, since=V32),
            Field("output_mode", OneOf(("tokens", "text")), "tokens", since=V32),
            Field("stream", MAYBE_FLAG, False),
            Field("stream_options", Maybe(stream_options(version))),
            salt,
            Field("priority", WHOLE, 0, until=V20),
            Field("priority", Whole(INT64_MIN, INT64_MAX), 0, since=V20),
            kv,
            ec,
        ),
    ).at(version)


def check_modes(values: Mapping[str, Any], rules: Rules) -> None:
    """What a server without a tokenizer cannot do, and scores that streams have no place for."""
    params = as_object(values.get("sampling_params"))
    settings = rules.settings
    if values.get("stream") and params.get("prompt_logprob_token_ids") is not None:
        raise Objection("prompt_logprob_token_ids are not available when stream=true.", answered=True)
    if settings.tokens_only and params.get("stop") and rules.version >= V32:
        raise Objection(
            "stop strings are not supported on a --tokens-only server because detokenization is disabled. Check stop "
            "strings on the coordinator, or use stop_token_ids.",
            answered=True,
        )
    mode = values.get("output_mode", "tokens")
    if mode != "tokens" and (settings.tokens_only or settings.skip_tokenizer_init):
        raise Objection(
            f"output_mode={mode!r} requires a tokenizer, but this server does not load one (--tokens-only or "
            "--skip-tokenizer-init). Send the request to a server that loads a tokenizer, or use "
            "output_mode='tokens'.",
            answered=True,
        )
    carried = [params, *(values.get(name) for name in _CARRIED if rules.version >= V32)]
    if rules.version >= V24 and any(unencodable(value) for value in carried):
        raise Objection("can't serialize ints < -2**63 or > 2**64 - 1", answered=True)


_CARRIED = ("kv_transfer_params", "ec_transfer_params")
"""What 0.32 tries to encode besides the sampling parameters."""


def check_params(sent: Mapping[str, Any], values: Mapping[str, Any], rules: Rules) -> None:
    """The sampling parameters check themselves while the body is read: in old versions a flaw of the field."""
    params = dict(as_object(values.get("sampling_params")))
    if "max_tokens" not in as_object(sent["sampling_params"]):
        params["max_tokens"] = DEFAULT_TOKENS
    try:
        check_sampling(tokens_in_params(params, rules), rules)
    except Objection as objection:
        if not rules.traits.checks_in_schema:
            raise
        given = sent["sampling_params"]
        place: Path = ("body", "sampling_params")
        flaws: Flaws = []
        if rules.version > V16:
            _INSTANCE.check(given, (*place, _INSTANCE.label), flaws)
            place = (*place, SPELLED_OUT)
        typed = rules.traits.typed_checks
        flaws.append(check_as_flaw(objection, given, place, typed=typed))
        raise FlawedBody(flaws) from None


def checks(version: Version) -> tuple[Check, ...]:
    """0.32 looks at the cache salt first."""
    return (check_cache_salt,) if version >= V32 else ()
