"""What /v1/completions takes: its fields by version, its own checks in the order they run, and the handler's."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from functools import cache
from typing import Any

from ..options import V12, V16, V20, V24, V28, V32
from .chat import guided_fields, payload_fields, priority_fields, routing_fields, transfer_fields, truncation
from .checks import (
    Body,
    Check,
    Rules,
    as_list,
    check_cache_salt,
    check_guided_count,
    check_integers,
    check_not_negative,
    check_prompt_logprobs,
    check_response_format,
    check_stream_options,
    check_structural_tag,
    check_structured_count,
    need_number,
)
from .containers import ListOf, MapOf, Maybe, Union
from .flaws import Crash, Objection
from .kinds import Kind, OneOf, Text, Whole
from .parts import (
    FLAG,
    MAYBE_FLAG,
    MAYBE_NUMBER,
    MAYBE_TEXT,
    MAYBE_WHOLE,
    MAYBE_WHOLES,
    NUMBER,
    REPETITION,
    SEED,
    TEXT,
    WHOLE,
    WRAPPED,
    penalty,
    response_format,
    stop_strings,
    stream_options,
    structured_outputs,
    thinking_budget,
    xargs,
)
from .records import Field, Record, Version

DEFAULT_TOKENS = 16
MAX_PROMPTS = 1024
"""VLLM_MAX_COMPLETION_PROMPTS."""


def _prompt(version: Version) -> Kind:
    token = Whole(0) if version >= V20 else WHOLE
    return Maybe(Union((ListOf(token), ListOf(ListOf(token)), TEXT, ListOf(TEXT))))


_EMBEDS = Maybe(Union((Text(encoded=True), ListOf(Text(encoded=True)))))


@cache
def fields(version: Version, stop_limit: int) -> Record:
    """The request as a version knows it."""
    return Record(
        WRAPPED,
        (
            Field("model", MAYBE_TEXT),
            Field("prompt", _prompt(version)),
            Field("prompt_embeds", _EMBEDS, until=V12),
            Field("best_of", MAYBE_WHOLE, until=V12),
            Field("echo", MAYBE_FLAG, False),
            *penalty("frequency_penalty"),
            Field("logit_bias", Maybe(MapOf(NUMBER))),
            Field("logprobs", MAYBE_WHOLE),
            Field("max_tokens", MAYBE_WHOLE, DEFAULT_TOKENS),
            Field("n", WHOLE, 1),
            *penalty("presence_penalty"),
            Field("seed", SEED),
            Field("stop", stop_strings(version, stop_limit), ()),
            Field("stream", MAYBE_FLAG, False),
            Field("stream_options", Maybe(stream_options(version))),
            Field("suffix", MAYBE_TEXT),
            Field("temperature", MAYBE_NUMBER),
            Field("top_p", MAYBE_NUMBER),
            Field("user", MAYBE_TEXT),
            Field("use_beam_search", FLAG, False),
            Field("top_k", MAYBE_WHOLE),
            Field("min_p", MAYBE_NUMBER),
            Field("repetition_penalty", MAYBE_NUMBER),
            Field("watermarking", MAYBE_FLAG, since=V32),
            Field("length_penalty", NUMBER, 1.0),
            Field("stop_token_ids", MAYBE_WHOLES, ()),
            Field("include_stop_str_in_output", FLAG, False),
            Field("ignore_eos", FLAG, False),
            Field("min_tokens", WHOLE, 0),
            Field("skip_special_tokens", FLAG, True),
            Field("spaces_between_special_tokens", FLAG, True),
            Field("truncate_prompt_tokens", truncation(version)),
            Field("truncation_side", Maybe(OneOf(("left", "right"))), since=V24),
            Field("allowed_token_ids", MAYBE_WHOLES),
            Field("prompt_logprobs", MAYBE_WHOLE),
            Field("logprob_token_ids", MAYBE_WHOLES, since=V28),
            Field("bad_words", ListOf(TEXT), (), since=V28),
            Field("prompt_embeds", _EMBEDS, since=V12),
            Field("add_special_tokens", FLAG, True),
            Field("response_format", Maybe(response_format(version))),
            Field("structured_outputs", Maybe(structured_outputs(version)), since=V12),
            *guided_fields(with_tag=False),
            *priority_fields(),
            *routing_fields(version),
            *payload_fields(),
            *transfer_fields(version),
            Field("vllm_xargs", xargs(lists=version >= V28)),
            Field("repetition_detection", Maybe(REPETITION), since=V20),
            Field("thinking_token_budget", thinking_budget(version), since=V24),
            Field("stream_interval", Maybe(Whole(1)), since=V28),
        ),
    ).at(version)


def check_prompt_count(body: Body, rules: Rules) -> None:
    """0.28 and newer take a bounded number of prompts."""
    if rules.version < V28:
        return
    for name in ("prompt", "prompt_embeds"):
        given = as_list(body.get(name))
        ids = name == "prompt" and all(isinstance(part, int) for part in given)
        if len(given) > MAX_PROMPTS and not ids:
            text = (
                f"{name} list length {len(given)} exceeds the maximum allowed count of {MAX_PROMPTS}. To increase this "
                "limit, set the VLLM_MAX_COMPLETION_PROMPTS environment variable."
            )
            raise Objection(text, name)


def check_prompt_given(body: Body, rules: Rules) -> None:
    """Either a prompt or embeds, and not an empty one."""
    if body.get("prompt") in (None, "") and body.get("prompt_embeds") in (None, []):
        text = "Either prompt or prompt_embeds must be provided and non-empty."
        raise Objection(text, "prompt", plain=rules.version < V24)


def check_logprobs(body: Body, rules: Rules) -> None:
    wanted = body.get("logprob_token_ids") if rules.version >= V28 else None
    if wanted:
        _check_wanted(body)
    beams = body.get("use_beam_search") and body.get("echo") and body.get("logprobs") is not None
    if beams and rules.version >= V32:
        text = (
            "`echo` with `logprobs` is not supported with beam search because beam search does not compute prompt "
            "logprobs."
        )
        raise Objection(text, "echo")
    check_integers(body, rules, ("prompt_logprobs", "logprobs"))
    check_prompt_logprobs(body, rules)
    logprobs = body.get("logprobs")
    if logprobs is None:
        return
    if rules.version >= V32:
        check_not_negative("logprobs", logprobs, rules)
        return
    need_number(logprobs)
    if logprobs < 0:
        raise Objection("`logprobs` must be a positive value.", "logprobs", logprobs)


def _check_wanted(body: Body) -> None:
    name = "logprob_token_ids"
    if body.get("use_beam_search"):
        raise Objection("`logprob_token_ids` is not supported with beam search.", name)
    if body.get("echo") and body.get("max_tokens") == 0:
        text = (
            "`logprob_token_ids` is not supported when `echo=True` and `max_tokens=0` because no output tokens are "
            "generated."
        )
        raise Objection(text, name)
    if body.get("logprobs") is None:
        raise Objection("when using `logprob_token_ids`, `logprobs` must be set.", name)


def check_structured(body: Body, rules: Rules) -> None:
    check_structured_count(body, rules, "structured_outputs")


def fill_max_tokens(body: Body, rules: Rules) -> None:
    """0.24 and newer take a null max_tokens as none given."""
    if rules.version >= V24 and body.get("max_tokens") is None:
        body["max_tokens"] = DEFAULT_TOKENS


def checks(version: Version) -> tuple[Check, ...]:
    """The checks in the order they run."""
    salt_first = (check_cache_salt,) if version < V28 else ()
    salt_last = (check_cache_salt,) if version >= V28 else ()
    return (
        *salt_first,
        check_prompt_count,
        check_prompt_given,
        check_stream_options,
        check_logprobs,
        check_guided_count,
        check_structured,
        check_response_format,
        check_structural_tag,
        fill_max_tokens,
        *salt_last,
    )


def check_suffix(values: Mapping[str, Any], rules: Rules) -> None:
    """suffix needs a model that fills in the middle, which is not imitated."""
    if values.get("suffix") is None:
        return
    if rules.version < V32:
        raise Objection("suffix is not currently supported", answered=True)
    if values.get("echo"):
        raise Objection("Echo is unsupported with suffix.", answered=True, param="suffix")
    if values.get("prompt_embeds") is not None:
        raise Objection("suffix is not supported with prompt_embeds", answered=True, param="suffix")
    if values.get("truncate_prompt_tokens") is not None:
        raise Objection("suffix is not supported with truncate_prompt_tokens", answered=True, param="suffix")
    prompt = values.get("prompt")
    texts = isinstance(prompt, str) or all(isinstance(part, str) for part in as_list(prompt))
    text = (
        "suffix is only supported for models with FIM completion rendering"
        if texts
        else "suffix requires text prompt input for FIM completion rendering"
    )
    raise Objection(text, answered=True, param="suffix")


def check_embeds(values: Mapping[str, Any], rules: Rules) -> None:
    """Prompt embeddings exclude some options and need --enable-prompt-embeds."""
    if values.get("prompt_embeds") is None:
        return
    if values.get("echo"):
        raise Objection("Echo is unsupported with prompt embeds.", answered=True)
    if values.get("prompt_logprobs") is not None:
        raise Objection("prompt_logprobs is not compatible with prompt embeds.", answered=True)
    if rules.version < V12:
        _check_base64(values["prompt_embeds"])
    if not rules.settings.enable_prompt_embeds and (values["prompt_embeds"] != [] or rules.version == V12):
        text = "You must set `--enable-prompt-embeds` to input `prompt_embeds`."
        raise Objection(text, "prompt_embeds", plain=rules.version < V16)


def _check_base64(given: Any) -> None:
    """0.10.2 reads embeddings before it looks whether it may; raises Objection or Crash."""
    for text in as_list(given) if isinstance(given, list) else [given]:
        if text == "":
            raise Crash("EOFError", "")
        try:
            b64decode(str(text), validate=True)
        except ValueError:
            raise Objection("Non-base64 digit found", plain=True) from None


def check_some_prompt(values: Mapping[str, Any], rules: Rules) -> None:
    """An empty list of prompts holds none."""
    if values.get("prompt") == [] and values.get("prompt_embeds") is None:
        text = "You must pass at least one prompt" if rules.version > V12 else "please provide at least one prompt"
        raise Objection(text, plain=True)
