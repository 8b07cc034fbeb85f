"""What /v1/chat/completions/batch takes (from 0.20): several conversations, one choice each; no streams, no tools."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from ..options import V24, V28, V32
from .checks import Body, Check, Rules, as_list, as_object, check_structural_tag
from .containers import ListOf, MapOf, Maybe
from .flaws import Objection
from .handler import EMPTY_CONVERSATION, prompt_objection
from .kinds import OneOf, Whole
from .messages import chat_message
from .parts import (
    ANYTHING,
    FLAG,
    INT64_MAX,
    INT64_MIN,
    MAYBE_FLAG,
    MAYBE_NUMBER,
    MAYBE_OBJECT,
    MAYBE_TEXT,
    MAYBE_WHOLE,
    MAYBE_WHOLES,
    NUMBER,
    OBJECT,
    SEED,
    WRAPPED,
    penalty,
    stop_strings,
    structured_outputs,
    top_logprobs,
)
from .records import REQUIRED, Field, Record, Version


@cache
def fields(version: Version, stop_limit: int) -> Record:
    """The request as a version knows it."""
    conversation = ListOf(chat_message(version), at_least=1 if version >= V24 else None)
    return Record(
        WRAPPED,
        (
            Field("messages", ListOf(conversation, at_least=1), REQUIRED),
            Field("model", MAYBE_TEXT),
            *penalty("frequency_penalty"),
            Field("logit_bias", Maybe(MapOf(NUMBER))),
            Field("logprobs", MAYBE_FLAG, False),
            Field("top_logprobs", top_logprobs(version), 0),
            Field("logprob_token_ids", MAYBE_WHOLES, since=V28),
            Field("max_tokens", MAYBE_WHOLE),
            Field("max_completion_tokens", MAYBE_WHOLE),
            Field("n", MAYBE_WHOLE, 1),
            *penalty("presence_penalty"),
            Field("response_format", ANYTHING),
            Field("seed", SEED),
            Field("stop", stop_strings(version, stop_limit), ()),
            Field("temperature", MAYBE_NUMBER, 0.7 if version < V28 else None),
            Field("top_p", MAYBE_NUMBER, 1.0 if version < V28 else None),
            Field("user", MAYBE_TEXT),
            Field("tool_choice", Maybe(OneOf(("none",))), "none", since=V24),
            Field("include_reasoning", FLAG, True, since=V24),
            Field("best_of", MAYBE_WHOLE),
            Field("use_beam_search", FLAG, False),
            Field("top_k", MAYBE_WHOLE),
            Field("min_p", MAYBE_NUMBER, 0.0 if version < V28 else None),
            Field("repetition_penalty", MAYBE_NUMBER, 1.0 if version < V28 else None),
            Field("watermarking", MAYBE_FLAG, since=V32),
            Field("length_penalty", MAYBE_NUMBER, 1.0),
            Field("early_stopping", FLAG, False),
            Field("structured_outputs", Maybe(structured_outputs(version))),
            Field("request_id", MAYBE_TEXT),
            Field("add_generation_prompt", FLAG, True),
            Field("continue_final_message", FLAG, False),
            Field("chat_template", MAYBE_TEXT),
            Field("chat_template_kwargs", MAYBE_OBJECT),
            Field("media_io_kwargs", Maybe(MapOf(OBJECT)), since=V28),
            Field("mm_processor_kwargs", MAYBE_OBJECT, since=V28),
            Field("priority", Whole(INT64_MIN, INT64_MAX), 0, since=V28),
            Field("cache_salt", MAYBE_TEXT, since=V28),
            Field("include_stop_str_in_output", FLAG, False),
            Field("guided_decoding_backend", MAYBE_TEXT),
            Field("echo", FLAG, False),
            Field("return_tokens_as_token_ids", MAYBE_FLAG, since=V28),
            Field("return_token_ids", FLAG, False),
        ),
    ).at(version)


def check_batch(body: Body, rules: Rules) -> None:
    """What a batch cannot do."""
    plain = rules.version < V28
    if body.get("use_beam_search"):
        text = "Batch chat completions do not support beam search. Please set `use_beam_search` to False."
        raise Objection(text, "use_beam_search", plain=plain)
    if rules.version >= V28 and body.get("logprob_token_ids") and not body.get("logprobs"):
        text = "when using `logprob_token_ids`, `logprobs` must be set to true."
        raise Objection(text, "logprob_token_ids")
    if rules.version >= V32 and as_object(body.get("kv_transfer_params")).get("prompt_token_ids") is not None:
        text = (
            "Batch chat completions do not support `kv_transfer_params['prompt_token_ids']`: one pre-tokenized prompt "
            "cannot serve several conversations."
        )
        raise Objection(text, "kv_transfer_params.prompt_token_ids")
    check_structural_tag(body, rules)
    n = body.get("n", 1)
    if n is not None and n != 1:
        raise Objection("Batch chat completions do not support `n > 1`. Please set `n` to 1.", "n", n, plain=plain)


def checks(version: Version) -> tuple[Check, ...]:
    return (check_batch,)


def check_conversations(values: Mapping[str, Any], rules: Rules) -> None:
    """Every conversation needs a message (0.20 looks only when the template runs)."""
    if any(not as_list(conversation) for conversation in as_list(values.get("messages"))):
        raise prompt_objection(EMPTY_CONVERSATION, rules, cause=EMPTY_CONVERSATION)
