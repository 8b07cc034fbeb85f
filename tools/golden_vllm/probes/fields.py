"""Every member of every request body with values that it may not have, one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .book import CHAT, COMPLETIONS, GENERATE, HI, MESSAGES, RESPONSES, Book

ODD: tuple[tuple[str, Any], ...] = (
    ("null", None),
    ("true", True),
    ("word", "x"),
    ("blank", ""),
    ("digits", "7"),
    ("minus", -1),
    ("low", -5),
    ("zero", 0),
    ("one", 1),
    ("high", 3000000000),
    ("huge", 2**70),
    ("half", 1.5),
    ("round", 2.0),
    ("list", []),
    ("words", ["a", "b"]),
    ("numbers", [1, -1, 99999]),
    ("nested", [[1], {"a": 1}]),
    ("object", {}),
    ("member", {"a": 1}),
    ("typed", {"type": "x"}),
)

COMMON = (
    "model frequency_penalty presence_penalty repetition_penalty logit_bias logprobs max_tokens n seed stop stream "
    "stream_options temperature top_p top_k min_p user length_penalty stop_token_ids "
    "include_stop_str_in_output ignore_eos min_tokens skip_special_tokens spaces_between_special_tokens "
    "truncate_prompt_tokens truncation_side prompt_logprobs logprob_token_ids allowed_token_ids bad_words "
    "add_special_tokens structured_outputs response_format priority request_id session_id return_tokens_as_token_ids "
    "return_token_ids routed_experts_prompt_start return_token_offsets cache_salt kv_transfer_params "
    "ec_transfer_params vllm_xargs repetition_detection stream_interval thinking_token_budget watermarking mm_payload "
    "return_mm_kwargs guided_json guided_regex logits_processors best_of"
).split()
OF_CHAT = (
    "messages top_logprobs max_completion_tokens tools tool_choice reasoning_effort include_reasoning "
    "parallel_tool_calls echo add_generation_prompt continue_final_message documents chat_template "
    "chat_template_kwargs media_io_kwargs mm_processor_kwargs return_prompt_text functions function_call store metadata"
).split()
OF_COMPLETIONS = "prompt suffix echo prompt_embeds".split()
OF_RESPONSES = (
    "model input background include instructions max_output_tokens max_tool_calls metadata parallel_tool_calls "
    "previous_response_id prompt reasoning service_tier store stream temperature text tool_choice tools top_logprobs "
    "top_p truncation user request_id mm_processor_kwargs priority cache_salt enable_response_messages "
    "previous_input_messages structured_outputs repetition_penalty seed stop ignore_eos vllm_xargs "
    "kv_transfer_params top_k min_p logit_bias presence_penalty frequency_penalty include_stop_str_in_output "
    "skip_special_tokens prompt_cache_key stream_options include_reasoning chat_template_kwargs return_token_ids"
).split()
OF_MESSAGES = (
    "model messages max_tokens metadata stop_sequences stream system temperature tool_choice tools top_k top_p "
    "thinking kv_transfer_params chat_template_kwargs service_tier output_config request_id"
).split()
OF_GENERATE = (
    "request_id token_ids features sampling_params model stream stream_options cache_salt priority kv_transfer_params"
).split()
OF_SAMPLING = (
    "n presence_penalty frequency_penalty repetition_penalty temperature top_p top_k min_p seed stop stop_token_ids "
    "ignore_eos max_tokens min_tokens logprobs prompt_logprobs flat_logprobs detokenize skip_special_tokens "
    "spaces_between_special_tokens include_stop_str_in_output output_kind structured_outputs logit_bias "
    "allowed_token_ids extra_args bad_words logprob_token_ids skip_reading_prefix_cache thinking_token_budget "
    "repetition_detection unknown"
).split()
OF_TOKENIZE = (
    "prompt model add_special_tokens return_token_strs messages add_generation_prompt continue_final_message "
    "chat_template chat_template_kwargs mm_processor_kwargs tools"
).split()


def fill(book: Book) -> None:
    _each(book, "chat", CHAT, {"model": book.model, "messages": HI, "max_tokens": 2}, (*COMMON, *OF_CHAT))
    base = {"model": book.model, "prompt": "Hi", "max_tokens": 2}
    _each(book, "comp", COMPLETIONS, base, (*COMMON, *OF_COMPLETIONS))
    _each(book, "resp", RESPONSES, {"model": book.model, "input": "Hi", "max_output_tokens": 2}, OF_RESPONSES)
    _each(book, "msg", MESSAGES, {"model": book.model, "messages": HI, "max_tokens": 2}, OF_MESSAGES)
    sampling = {"max_tokens": 2}
    generate = {"model": book.model, "token_ids": [42, 75], "sampling_params": sampling}
    _each(book, "gen", GENERATE, generate, OF_GENERATE)
    for name in OF_SAMPLING:
        for kind, value in ODD:
            body = {**generate, "sampling_params": {**sampling, name: value}}
            book.ask(f"odd-sampling-{name}-{kind}", GENERATE, body)
    _each(book, "tok", "/tokenize", {"model": book.model, "prompt": "Hi"}, OF_TOKENIZE)
    _each(book, "detok", "/detokenize", {"model": book.model, "tokens": [42]}, ("model", "tokens"))


def _each(book: Book, api: str, path: str, body: dict[str, Any], names: Sequence[str]) -> None:
    for name in names:
        missing = {key: value for key, value in body.items() if key != name}
        if name in body:
            book.ask(f"odd-{api}-{name}-missing", path, missing)
        for kind, value in ODD:
            book.ask(f"odd-{api}-{name}-{kind}", path, {**body, name: value})
