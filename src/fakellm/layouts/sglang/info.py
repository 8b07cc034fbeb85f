"""What SGLang tells about itself: model card, model_info, server_info, metrics.

All of it is data of the settings and the state; nothing here reads a request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .load import CAPACITY
from .traits import Trait

if TYPE_CHECKING:
    from .station import SglangStation

_CAPTURE_SIZES = (
    *(4, 8, 12, 16, 20, 24, 28, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352),
    *(384, 416, 448, 480, 512, 576, 640, 704, 768, 832, 896, 960, 1024, 1280, 1536, 1792, 2048, 2304, 2560, 2816, 3072),
    *(3328, 3584, 3840, 4096),
)

_EMBEDDING: dict[str, Any] = {
    "family": "none",
    "task": "none",
    "execution": "none",
    "attention": "none",
    "pooling": "model_defined",
    "normalize": False,
    "postprocessor": "none",
    "tokenizer_special_tokens": "model_default",
    "supports_dimensions": False,
    "supports_token_embeddings": False,
    "supports_multimodal": False,
    "requires_embedding_flag": False,
    "auto_enable_embedding": False,
    "bcg_eligibility": "disabled",
    "safe_disable_kv_cache": False,
    "safe_disable_radix_cache": False,
    "safe_disable_chunked_prefill": False,
    "enabled": False,
    "matryoshka_dimensions": [],
    "bcg": {
        "prefill_backend": "disabled",
        "enabled": False,
        "capture_token_budget": 4096,
        "capture_batch_sizes": list(_CAPTURE_SIZES),
    },
    "cache": {"kv_cache_disabled": False, "radix_cache_disabled": False, "chunked_prefill_disabled": False},
}
"""The plan of an embedding model, as a model that is none tells it."""

_OLD_EMBEDDING = {
    **_EMBEDDING,
    "bcg": {
        "prefill_backend": "tc_piecewise",
        "enabled": False,
        "capture_token_budget": 2048,
        "capture_batch_sizes": [size for size in _CAPTURE_SIZES if size <= 2048],
    },
}
"""The same up to 0.5.18."""


def model_card(station: SglangStation, now: int) -> dict[str, Any]:
    """One entry of /v1/models."""
    name = station.settings.model_name
    card: dict[str, Any] = {"id": name, "object": "model", "created": now, "owned_by": "sglang", "root": name}
    if station.traits.has(Trait.MODELS_PARENT):
        card["parent"] = None
    card["max_model_len"] = station.settings.context_length
    return card


def model_info(station: SglangStation) -> dict[str, Any]:
    """/model_info."""
    settings, traits, state = station.settings, station.traits, station.state
    info: dict[str, Any] = {"model_path": state.model_path}
    named = traits.has(Trait.MODEL_INFO_SERVED_NAME)
    if named:
        info["served_model_name"] = settings.model_name
    info |= {
        "tokenizer_path": settings.tokenizer_path or settings.model_path,
        "is_generation": True,
        "preferred_sampling_params": settings.preferred_sampling_params,
        "weight_version": state.weight_version,
    }
    if named:
        info["load_format"] = settings.load_format
        info["reasoning_parser"] = settings.reasoning_parser
        info["tool_call_parser"] = settings.tool_call_parser
    if traits.has(Trait.MODEL_INFO_DISAGGREGATION):
        info["disaggregation_mode"] = settings.disaggregation_mode
    if traits.has(Trait.MODEL_INFO_UNDERSTANDING):
        info |= {"has_image_understanding": False, "has_audio_understanding": False}
    if traits.has(Trait.MODEL_INFO_ARCHITECTURES):
        info |= {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}
    if traits.has(Trait.MODEL_INFO_EMBEDDING):
        info["embedding"] = _EMBEDDING if traits.has(Trait.MODEL_INFO_NO_PREFILL_BACKEND) else _OLD_EMBEDDING
    return info


def server_info(station: SglangStation) -> dict[str, Any]:
    """/server_info: the arguments that shape the wire (a real server tells all of its hundreds), and the live state."""
    settings = station.settings
    return {
        "model_path": settings.model_path,
        "tokenizer_path": settings.tokenizer_path or settings.model_path,
        "skip_tokenizer_init": settings.skip_tokenizer,
        "load_format": settings.load_format,
        "context_length": settings.context_length if settings.context_limited else None,
        "served_model_name": settings.model_name,
        "weight_version": settings.weight_version,
        "chat_template": settings.chat_template,
        "reasoning_parser": settings.reasoning_parser,
        "tool_call_parser": settings.tool_call_parser,
        "stream_interval": settings.stream_interval,
        "incremental_streaming_output": settings.incremental,
        "enable_metrics": settings.metrics,
        "enable_cache_report": settings.cache_report,
        "return_input_ids": settings.return_input_ids,
        "return_output_ids": settings.return_output_ids,
        "disaggregation_mode": settings.disaggregation_mode,
        "tp_size": 1,
        "dp_size": 1,
        "status": "ready",
        "max_total_num_tokens": CAPACITY,
        "max_req_input_len": settings.context_length - 6,
        "internal_states": [{"last_gen_throughput": 0.0, "effective_max_running_requests_per_dp": 128}],
        "version": station.traits.text,
    }


_COUNTERS = (
    ("prompt_tokens_total", "Number of prefill tokens processed."),
    ("generation_tokens_total", "Number of generation tokens processed."),
    ("cached_tokens_total", "Number of cached prompt tokens."),
    ("num_requests_total", "Number of requests processed."),
    ("num_aborted_requests_total", "Number of requests aborted."),
)
_GAUGES = (
    ("num_running_reqs", "The number of running requests."),
    ("num_used_tokens", "The number of used tokens."),
    ("token_usage", "The token usage."),
    ("gen_throughput", "The generation throughput (token/s)."),
    ("num_queue_reqs", "The number of requests in the waiting queue."),
    ("cache_hit_rate", "The prefix cache hit rate."),
)


def metrics_text(station: SglangStation) -> str:
    """/metrics in Prometheus' text format: what was counted, what is running, and an idle engine's other gauges."""
    label = f'{{model_name="{station.settings.model_name}"}}'
    lines: list[str] = []
    for name, meaning in _COUNTERS:
        full = f"sglang:{name}"
        value = station.state.counts.get(name, 0.0)
        lines += [f"# HELP {full} {meaning}", f"# TYPE {full} counter", f"{full}{label} {value}"]
    for name, meaning in _GAUGES:
        full = f"sglang:{name}"
        value = float(station.state.running) if name == "num_running_reqs" else 0.0
        lines += [f"# HELP {full} {meaning}", f"# TYPE {full} gauge", f"{full}{label} {value}"]
    return "\n".join(lines) + "\n"
