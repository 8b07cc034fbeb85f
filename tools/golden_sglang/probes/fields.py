"""Every member of every request body with values that it may not have, one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from golden_vllm.probes.fields import ODD

from .book import CHAT, COMPLETIONS, GENERATE, HI, MESSAGES, RESPONSES, Book

COMMON = (
    "model frequency_penalty presence_penalty repetition_penalty logit_bias logprobs max_tokens n seed stop stream "
    "stream_options temperature top_p user return_hidden_states return_routed_experts routed_experts_start_len "
    "return_cached_tokens_details return_spec_tokens_details return_token_ids top_k min_p min_tokens regex ebnf "
    "stop_token_ids stop_regex no_stop_trim ignore_eos skip_special_tokens session_id session_params "
    "response_format custom_params watermark rid extra_key cache_salt priority unknown_member"
).split()
OF_CHAT = (
    "messages top_logprobs max_completion_tokens tools tool_choice parallel_tool_calls reasoning_effort thinking task "
    "return_prompt_token_ids return_meta_info return_input_ids_in_sglext return_output_ids_in_sglext "
    "return_sampling_mask return_flat_raw_output_top_logprobs return_flat_raw_top_logprobs_b64 continue_final_message "
    "separate_reasoning stream_reasoning chat_template_kwargs input_ids"
).split()
OF_COMPLETIONS = "prompt best_of echo suffix json_schema custom_labels".split()
OF_GENERATE = (
    "text input_ids sampling_params return_logprob logprob_start_len top_logprobs_num token_ids_logprob "
    "return_text_in_logprobs return_flat_raw_top_logprobs return_flat_raw_output_top_logprobs "
    "return_flat_raw_top_logprobs_b64 stream log_metrics return_hidden_states return_routed_experts rid session_params "
    "custom_logit_processor priority extra_key no_logs custom_labels return_bytes return_prompt_token_ids "
    "require_reasoning watermark cache_salt modalities conversation_id background unknown_member"
).split()
OF_SAMPLING = (
    "max_new_tokens stop stop_token_ids stop_regex temperature top_p top_k min_p frequency_penalty presence_penalty "
    "repetition_penalty min_new_tokens n json_schema regex ebnf structural_tag ignore_eos skip_special_tokens "
    "spaces_between_special_tokens no_stop_trim stream_interval logit_bias sampling_seed custom_params beam_width "
    "unknown_member"
).split()
OF_RESPONSES = (
    "background include input instructions max_output_tokens max_tool_calls metadata model parallel_tool_calls "
    "previous_response_id reasoning service_tier store stream temperature text tool_choice tools top_logprobs top_p "
    "truncation user request_id priority extra_key cache_salt frequency_penalty presence_penalty stop top_k min_p "
    "repetition_penalty chat_template_kwargs unknown_member"
).split()
OF_MESSAGES = (
    "model messages max_tokens metadata stop_sequences stream system temperature tool_choice tools top_k top_p "
    "thinking output_config unknown_member"
).split()
OF_TOKENIZE = "prompt model add_special_tokens messages add_generation_prompt tools continue_final_message".split()
MANY = ("n", "logprobs", "top_logprobs", "top_logprobs_num")
LISTED = ("top_logprobs_num", "logprob_start_len")
DEADLY = frozenset(
    [(name, kind) for name in MANY for kind in ("high", "huge")]
    + [(name, kind) for name in LISTED for kind in ("list", "numbers")]
    + [("n", kind) for kind in ("low", "minus")]
    + [("return_hidden_states", kind) for kind in ("list", "numbers", "words", "nested")]
)
"""Values that SGLang tries to obey until its memory ends, and those at which its scheduler breaks for good."""

ELSEWHERE = frozenset({("resp", "model", "missing"), ("resp", "model", "null"), ("resp", "stream", "null")})
"""Refused by pydantic itself, whose sentence links to the documentation of the version that happens to be installed."""

OF_OLLAMA = "model messages stream options format keep_alive tools think".split()


def fill(book: Book) -> None:
    """Bodies of the routes that run the engine."""
    _each(book, "chat", CHAT, {"model": book.model, "messages": HI, "max_tokens": 2}, (*COMMON, *OF_CHAT))
    base = {"model": book.model, "prompt": "Hi", "max_tokens": 2}
    _each(book, "comp", COMPLETIONS, base, (*COMMON, *OF_COMPLETIONS))
    sampling = {"max_new_tokens": 2}
    _each(book, "gen", GENERATE, {"text": "Hi", "sampling_params": sampling}, OF_GENERATE)
    for name in OF_SAMPLING:
        for kind, value in _odd(name):
            body = {"text": "Hi", "sampling_params": {**sampling, name: value}}
            book.ask(f"odd-sampling-{name}-{kind}", GENERATE, body)
    for name in OF_GENERATE:
        for kind, value in _odd(name):
            body = {"text": "Hi", "sampling_params": sampling, "stream": True, name: value}
            book.ask(f"odd-stream-{name}-{kind}", GENERATE, body)


def fill_others(book: Book) -> None:
    """Bodies of the further APIs and of the utilities."""
    _each(book, "resp", RESPONSES, {"model": book.model, "input": "Hi", "max_output_tokens": 6}, OF_RESPONSES)
    _each(book, "msg", MESSAGES, {"model": book.model, "messages": HI, "max_tokens": 2}, OF_MESSAGES)
    _each(book, "tok", "/tokenize", {"model": book.model, "prompt": "Hi"}, OF_TOKENIZE)
    names = ("model", "tokens", "skip_special_tokens")
    _each(book, "detok", "/detokenize", {"model": book.model, "tokens": [42]}, names)
    _each(book, "ollama", "/api/chat", {"model": book.model, "messages": HI, "stream": False}, OF_OLLAMA)
    names = ("model", "prompt", "system", "stream", "options", "raw", "context")
    _each(book, "ollamagen", "/api/generate", {"model": book.model, "prompt": "Hi", "stream": False}, names)


def _each(book: Book, api: str, path: str, body: dict[str, Any], names: Sequence[str]) -> None:
    for name in names:
        missing = {key: value for key, value in body.items() if key != name}
        if name in body and (api, name, "missing") not in ELSEWHERE:
            book.ask(f"odd-{api}-{name}-missing", path, missing)
        for kind, value in _odd(name):
            if (api, name, kind) in ELSEWHERE:
                continue
            book.ask(f"odd-{api}-{name}-{kind}", path, {**body, name: value})


def _odd(name: str) -> list[tuple[str, Any]]:
    return [(kind, value) for kind, value in ODD if (name, kind) not in DEADLY]
