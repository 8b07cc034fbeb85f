"""The table of OpenAI-like vendors: what each does differently, how that is known, and its own routes. Data only.

Facts come from each server's source or SDK types (evidence ``source``) or from documents about it (``documents``); the
notes say which. Those that run on a CPU were ``captured`` too (tests/golden/others).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..base import AccessorTable, Launch, Layout
from . import errors, templates
from .accessors import accessor_table
from .native import atropos, llama_chat, llama_cpp, lmdeploy, mlx_lm, ollama, prime_rl, tgi, tinker, together
from .station import CompatibleStation
from .traits import Api, Entry, Place, Traits

_RETURN_IDS = {"return_token_ids": True}

TENSORRT_LLM = Traits(
    name="tensorrt-llm",
    vendor="tensorrt-llm",
    evidence="source",
    notes="serve/openai_protocol.py and postprocess_handlers.py (2026): unknown members are refused, chat has no ids, "
    "completions give ids instead of text with detokenize false and refuse logprobs",
    completions=Api(
        completion_ids=Place("choice", "token_ids", flags={"detokenize": False}), scores="none", stream_scores="none"
    ),
    own=frozenset(("detokenize", "prompt_token_ids", "disaggregated_params", "end_id", "pad_id", "min_p", "top_k",
                   "repetition_penalty", "ignore_eos", "min_tokens", "stop_token_ids", "skip_special_tokens",
                   "include_stop_str_in_output", "chat_template_kwargs", "add_generation_prompt")),
    closed=True,
    refused={},
    completions_most=0,
    sentinel=-9999.0,
    sparse=True,
    error=errors.flat_error,
    owner="tensorrt_llm",
)  # fmt: skip

LMDEPLOY = Traits(
    name="lmdeploy",
    vendor="lmdeploy",
    evidence="source",
    notes="serve/openai/* of 0.18.0: completion ids as output_ids, no prompt ids; the end token is in neither ids nor "
    "scores; alternatives leave out the sampled token; tokens are vocabulary pieces; completions have no scores",
    chat=Api(
        completion_ids=Place("choice", "output_ids", flags=_RETURN_IDS),
        pairs=Place("choice", "output_token_logprobs", flags={"return_logprob": True}),
    ),
    completions=Api(scores="none", stream_scores="none"),
    own=frozenset(("return_token_ids", "return_logprob", "return_routed_experts", "input_ids", "cache_block_ids")),
    eos=(False, False),
    alternatives="without-sampled",
    fragments="vocabulary",
    sparse=True,
    error=errors.lmdeploy_error,
    owner="lmdeploy",
    native=("lmdeploy",),
    templates=templates.LMDEPLOY,
)

LLAMA_CPP = Traits(
    name="llama-cpp",
    vendor="llama-cpp",
    evidence="captured",
    notes="tools/server, and that server run on a CPU: the choices come first, entries carry id, completions have "
    "chat's entries, logprobs alone asks for 20 alternatives, streams lose the scores of tokens without a delta (the "
    "end token, buffered calls); native /completion, /tokenize, /detokenize",
    completions=Api(scores="content", stream_scores="content"),
    entry=Entry(("id", "token", "bytes", "logprob", "top_logprobs"), ("id", "token", "bytes", "logprob")),
    own=frozenset(("n_probs", "return_tokens", "cache_prompt", "samplers", "grammar", "min_p", "timings_per_token")),
    lonely="lost",
    sentinel=-3.4028234663852886e38,
    error=errors.llama_error,
    owner="llamacpp",
    native=("llama_cpp", "llama_chat"),
)

TGI = Traits(
    name="tgi",
    vendor="tgi",
    evidence="source",
    notes="router/src/lib.rs and its snapshots: native /generate with details (ids, the end token among them, "
    "prefill); chat has scores without bytes and ids",
    completions=Api(scores="none", stream_scores="none"),
    entry=Entry(("token", "logprob", "top_logprobs"), ("token", "logprob")),
    most=5,
    envelope={"system_fingerprint": "3.3.6-sha"},
    error=errors.tgi_error,
    owner="tgi",
    native=("tgi",),
)

MLX_LM = Traits(
    name="mlx-lm",
    vendor="mlx-lm",
    evidence="captured",
    notes="server.py of 0.32.2, and that server run on a CPU: scores in whole answers only, entries are id and "
    "logprob; with alternatives an entry is the first of them, which need not be the sampled token (its list is not "
    "sorted, ours is); every delta names the role; json.dumps' spelling",
    chat=Api(stream_scores="none"),
    completions=Api(scores="content", stream_scores="none"),
    entry=Entry(("id", "logprob", "top_logprobs"), ("id", "token", "logprob")),
    most=11,
    alternatives="instead",
    fragments="vocabulary",
    reasoning="reasoning",
    sparse=True,
    role_first=False,
    error=errors.text_error,
    owner="mlx-lm",
    native=("mlx_lm",),
)

OLLAMA = Traits(
    name="ollama",
    vendor="ollama",
    evidence="source",
    notes="at fb307609: native /api/chat and /api/generate with scores at the top, no ids; OpenAI routes with chat's "
    "entries, on completions too",
    completions=Api(scores="content", stream_scores="content"),
    completions_most=20,
    eos=(False, False),
    reasoning="reasoning",
    envelope={"system_fingerprint": "fp_ollama"},
    error=errors.openai_error,
    owner="library",
    native=("ollama",),
)

FIREWORKS = Traits(
    name="fireworks",
    vendor="fireworks",
    evidence="source",
    notes="fireworks-ai 1.2.30: prompt ids at the top of chat's first chunk, under the choice in completions; entries "
    "with token_id, sampling_logprob and text_offset",
    chat=Api(
        prompt_ids=Place("root", "prompt_token_ids", "first", _RETURN_IDS),
        completion_ids=Place("choice", "token_ids", flags=_RETURN_IDS),
    ),
    completions=Api(
        prompt_ids=Place("choice", "prompt_token_ids", "first", _RETURN_IDS),
        completion_ids=Place("choice", "token_ids", flags=_RETURN_IDS),
        scores="legacy",
        stream_scores="legacy",
    ),
    entry=Entry(
        ("token", "logprob", "bytes", "token_id", "sampling_logprob", "top_logprobs"),
        ("token", "logprob", "token_id", "bytes"),
    ),
    own=frozenset(
        ("return_token_ids", "raw_output", "echo_last", "include_routing_matrix", "perf_metrics_in_response")
    ),
    most=5,
    error=errors.openai_error,
    owner="fireworks",
)

TOGETHER = Traits(
    name="together",
    vendor="together",
    evidence="source",
    notes="together 3.1.1, and published chunks: legacy lists with token_ids, in chat too; chunks have one number, the "
    "id of their token in the delta, the text twice; usage stands on the last chunk. The SDK's completions chunk wants "
    "a token at the top, which the published ones do not have",
    chat=Api(
        scores="legacy",
        stream_scores="float",
        id_beside="token_id",
    ),
    completions=Api(scores="legacy", stream_scores="legacy"),
    entry=Entry(("token", "logprob", "token_id", "top_logprobs")),
    counted=True,
    completions_most=20,
    reasoning="reasoning",
    finish_reasons={"eos": "eos"},
    error=errors.openai_error,
    owner="together",
    native=("together",),
)

MISTRAL = Traits(
    name="mistral",
    vendor="mistral",
    evidence="source",
    notes="mistralai 3.7.0: entries with token_id, in alternatives too",
    completions=None,
    entry=Entry(("token", "logprob", "bytes", "token_id", "top_logprobs"), ("token", "logprob", "bytes", "token_id")),
    own=frozenset(("prompt_logprobs", "top_prompt_logprobs", "safe_prompt", "random_seed", "prompt_mode")),
    error=errors.mistral_error,
    owner="mistralai",
)

DEEPSEEK = Traits(
    name="deepseek",
    vendor="deepseek",
    evidence="documents",
    notes="documents of the wire and of compatible servers: scores of reasoning stand in a list of their own, -9999.0 "
    "outside the first twenty",
    eos=(False, False),
    sentinel=-9999.0,
    reasoning_scores=True,
    envelope={"system_fingerprint": "fp_deepseek"},
    error=errors.openai_error,
    owner="deepseek",
)

OPENROUTER = Traits(
    name="openrouter",
    vendor="openrouter",
    evidence="source",
    notes="openrouter 1.3.84: OpenAI's entries, no ids",
    eos=(False, False),
    reasoning="reasoning",
    message={"refusal": None},
    envelope={"provider": "Fake", "system_fingerprint": None},
    error=errors.numbered_error,
    owner="openrouter",
)

NEMO = Traits(
    name="nemo",
    vendor="nemo",
    evidence="documents",
    notes="NeMo-RL and NeMo Gym (pull request 3390): ids and scores as three lists inside the message",
    chat=Api(
        prompt_ids=Place("message", "prompt_token_ids", "last", {}),
        completion_ids=Place("message", "generation_token_ids", "last", {}),
        extra_scores=Place("message", "generation_log_probs", "last", {"logprobs": True}),
        scores="none",
        stream_scores="none",
    ),
    completions=None,
    own=frozenset(("return_tokens_as_token_ids", "return_token_ids")),
    error=errors.openai_error,
    owner="nemo",
)

ATROPOS = Traits(
    name="atropos",
    vendor="atropos",
    evidence="source",
    notes="Atropos 0.4.0's own wrapper of vLLM: POST /generate with prompt ids in, one {id: logprob} per token out",
    chat=None,
    completions=None,
    error=errors.detail_error,
    owner="atropos",
    native=("atropos",),
)

PRIME_RL = Traits(
    name="prime-rl",
    vendor="prime-rl",
    evidence="source",
    notes="the route that prime-rl adds to vLLM, as verifiers 0.3.0 calls it: a conversation whose prompt ids the "
    "client gives; prompt ids at the top, completion ids under the choice",
    chat=Api(
        prompt_ids=Place("root", "prompt_token_ids", "first", _RETURN_IDS),
        completion_ids=Place("choice", "token_ids", flags=_RETURN_IDS),
    ),
    completions=None,
    own=frozenset(("return_token_ids", "tokens", "min_p", "priority", "cache_salt")),
    error=errors.openai_error,
    owner="vllm",
    native=("prime_rl",),
)

TINKER = Traits(
    name="tinker",
    vendor="tinker",
    evidence="source",
    notes="tinker 0.38.0 and its cookbook: asample gives a future, retrieve_future the ids and scores; as a litellm "
    "provider ids stand in the message's provider_specific_fields",
    chat=Api(
        prompt_ids=Place("fields", "prompt_token_ids", "last", {}),
        completion_ids=Place("fields", "completion_token_ids", "last", {}),
    ),
    completions=None,
    error=errors.detail_error,
    owner="tinker",
    native=("tinker",),
)

LITELLM = Traits(
    name="litellm",
    vendor="litellm",
    evidence="source",
    notes="what litellm makes of members that it does not know: completion ids in the choice's message fields",
    chat=Api(
        prompt_ids=Place("fields", "prompt_token_ids", "first", _RETURN_IDS),
        completion_ids=Place("fields", "token_ids", flags=_RETURN_IDS),
    ),
    completions=None,
    own=frozenset(("return_token_ids",)),
    error=errors.openai_error,
    owner="litellm",
)

VENDORS: tuple[Traits, ...] = (
    TENSORRT_LLM, LMDEPLOY, LLAMA_CPP, TGI, MLX_LM, OLLAMA, FIREWORKS, TOGETHER, MISTRAL, DEEPSEEK, OPENROUTER, NEMO,
    ATROPOS, PRIME_RL, TINKER, LITELLM,
)  # fmt: skip

_MODULES = {
    "atropos": atropos,
    "llama_chat": llama_chat,
    "llama_cpp": llama_cpp,
    "lmdeploy": lmdeploy,
    "mlx_lm": mlx_lm,
    "ollama": ollama,
    "prime_rl": prime_rl,
    "tgi": tgi,
    "tinker": tinker,
    "together": together,
}


def layouts() -> list[Layout]:
    """One layout per vendor."""
    return [_layout(traits) for traits in VENDORS]


def _layout(traits: Traits) -> Layout:
    own: AccessorTable = {key: rows for name in traits.native for key, rows in _MODULES[name].ACCESSORS.items()}
    return Layout(
        name=traits.name,
        vendor=traits.vendor,
        version=(),
        evidence=traits.evidence,
        accessors={**accessor_table(traits), **own},
        start=partial(_start, traits),
        error_body=partial(_error_body, traits),
        notes=traits.notes,
    )


def _start(traits: Traits, launch: Launch) -> CompatibleStation:
    natives = [native for name in traits.native for native in _MODULES[name].NATIVES]
    return CompatibleStation(launch, traits, natives)


def _error_body(traits: Traits, status: int, message: str, kind: str) -> Any:
    return traits.error(status, message, kind, None, None)
