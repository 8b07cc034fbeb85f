"""Request fields that OpenAI, vLLM or SGLang document, by API: a gateway may add none of them and change none. Data.

Collected from the protocol classes of vLLM 0.32.0 and SGLang 0.5.23 and from the openai SDK 3.57. A field that is not
here and that a gateway adds (its own tracing, say) is worth a note and nothing more.
"""

from __future__ import annotations

_SHARED = """
model stream stream_options temperature top_p n seed stop user metadata logit_bias presence_penalty frequency_penalty
logprobs top_logprobs max_tokens parallel_tool_calls service_tier store top_k min_p repetition_penalty length_penalty
stop_token_ids include_stop_str_in_output ignore_eos min_tokens skip_special_tokens spaces_between_special_tokens
truncate_prompt_tokens prompt_logprobs allowed_token_ids bad_words echo add_special_tokens priority request_id
return_tokens_as_token_ids return_token_ids cache_salt kv_transfer_params vllm_xargs structured_outputs
logprob_token_ids response_format use_beam_search return_prompt_text stop_regex no_stop_trim rid lora_path
session_params custom_params return_hidden_states return_prompt_token_ids return_meta_info
return_input_ids_in_sglext return_output_ids_in_sglext input_ids separate_reasoning stream_reasoning
return_routed_experts nvext prompt_cache_key safety_identifier
"""
_CHAT = """
messages tools tool_choice max_completion_tokens reasoning_effort include_reasoning add_generation_prompt
continue_final_message chat_template chat_template_kwargs documents mm_processor_kwargs functions function_call
modalities audio prediction web_search_options verbosity thinking_token_budget
"""
_COMPLETIONS = "prompt suffix best_of prompt_embeds"
_RESPONSES = """
input instructions include max_output_tokens max_tool_calls previous_response_id prompt reasoning text tool_choice tools
top_logprobs truncation background conversation enable_response_messages previous_input_messages include_reasoning
"""
_GENERATE = """
text input_ids input_embeds image_data sampling_params rid return_logprob logprob_start_len top_logprobs_num
token_ids_logprob return_text_in_logprobs stream lora_path session_params return_hidden_states return_routed_experts
return_prompt_token_ids extra_key priority custom_logit_processor bootstrap_host bootstrap_port bootstrap_room
"""
_TITO = "token_ids token_offsets features content_parts sampling_params output_mode reasoning_ended return_token_ids"

DOCUMENTED: dict[str, frozenset[str]] = {
    "chat": frozenset((_SHARED + _CHAT).split()),
    "completions": frozenset((_SHARED + _COMPLETIONS).split()),
    "responses": frozenset((_SHARED + _RESPONSES).split()),
    "generate": frozenset(_GENERATE.split()),
    "tito": frozenset((_SHARED + _TITO).split()),
}
