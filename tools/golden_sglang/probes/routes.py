"""Every route of SGLang's HTTP server, as its version has it: with no body, with one that fits, with odd ones.

Routes that end the server, or that are not imitated (``LEFT_OUT`` of the layout), are not asked. Those that change what
later answers show are asked last and put back.
"""

from __future__ import annotations

from typing import Any

from golden_vllm.probes.fields import ODD

from .book import Book

NO_MEMBERS: dict[str, Any] = {}
NO_ENTRIES: list[Any] = []
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "add", "parameters": {"type": "object", "properties": NO_MEMBERS}},
}
EMBEDDING: dict[str, Any] = {"model": "tiny", "input": "Hi"}

ROUTES: tuple[tuple[str, str, tuple[tuple[str, Any], ...]], ...] = (
    ("classify", "/classify", (("fits", {"text": "Hi"}), ("ids", {"input_ids": [42]}))),
    ("encode", "/encode", (("fits", {"text": "Hi"}), ("ids", {"input_ids": [42]}))),
    ("embeddings", "/v1/embeddings", (("fits", EMBEDDING), ("ids", {**EMBEDDING, "input": [42, 75]}))),
    ("v1-classify", "/v1/classify", (("fits", EMBEDDING),)),
    (
        "rerank",
        "/v1/rerank",
        (("fits", {"query": "Hi", "documents": ["a", "b"]}), ("none", {"query": "Hi", "documents": []})),
    ),
    (
        "score",
        "/v1/score",
        (("no-labels", {"query": "Hi", "items": ["a"], "model": "tiny"}),),
    ),
    (
        "vertex",
        "/vertex_generate",
        (
            ("fits", {"instances": [{"text": "Hi"}], "parameters": {"sampling_params": {"max_new_tokens": 2}}}),
            ("none", {"instances": []}),
            ("ids", {"instances": [{"input_ids": [42]}], "parameters": {"sampling_params": {"max_new_tokens": 2}}}),
            ("embeds", {"instances": [{"input_embeds": [[0.5]]}]}),
            ("odd", {"instances": [NO_MEMBERS]}),
        ),
    ),
    (
        "invocations",
        "/invocations",
        (("fits", {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}),),
    ),
    (
        "parse-call",
        "/parse_function_call",
        (
            ("fits", {"text": '<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call>', "tools": [TOOL]}),
            (
                "hermes",
                {
                    "text": 'So <tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>',
                    "tools": [TOOL],
                    "tool_call_parser": "qwen25",
                },
            ),
            ("plain", {"text": "no call", "tools": [TOOL], "tool_call_parser": "qwen25"}),
            ("nope", {"text": "no call", "tools": [TOOL], "tool_call_parser": "nope"}),
            ("no-tools", {"text": "no call", "tools": [], "tool_call_parser": "qwen25"}),
        ),
    ),
    (
        "separate",
        "/separate_reasoning",
        (
            ("fits", {"text": "<think>a</think>b", "reasoning_parser": "qwen3"}),
            ("r1", {"text": "a</think>b", "reasoning_parser": "deepseek-r1"}),
            ("plain", {"text": "b", "reasoning_parser": "qwen3"}),
            ("nope", {"text": "b", "reasoning_parser": "nope"}),
            ("open", {"text": "<think>a", "reasoning_parser": "qwen3"}),
        ),
    ),
    ("start-profile", "/start_profile", (("fits", {"output_dir": "x", "num_steps": 1}),)),
    ("stop-profile", "/stop_profile", ()),
    ("start-experts", "/start_expert_distribution_record", ()),
    ("stop-experts", "/stop_expert_distribution_record", ()),
    ("dump-experts", "/dump_expert_distribution_record", ()),
    ("freeze-gc", "/freeze_gc", ()),
    ("trace-level", "/set_trace_level", ()),
    ("trace-level-1", "/set_trace_level?level=1", ()),
    ("trace-level-x", "/set_trace_level?level=x", ()),
    ("trace-level-minus", "/set_trace_level?level=-1", ()),
    ("slow-down", "/slow_down", (("fits", {"forward_sleep_time": None}), ("half", {"forward_sleep_time": 0.5}))),
    ("internal", "/set_internal_state", (("fits", {"server_args": {"pp_max_micro_batch_size": 8}}),)),
    ("logging", "/configure_logging", (("fits", {"log_requests": False}),)),
    ("open-session", "/open_session", (("fits", {"capacity_of_str_len": 1000, "session_id": "mine"}),)),
    ("close-session", "/close_session", (("fits", {"session_id": "mine"}), ("nope", {"session_id": "nope"}))),
    ("weights-by-name", "/get_weights_by_name", (("fits", {"name": "lm_head.weight", "truncate_size": 5}),)),
    ("load-lora", "/load_lora_adapter", (("fits", {"lora_name": "a", "lora_path": "b"}),)),
    (
        "load-lora-tensors",
        "/load_lora_adapter_from_tensors",
        (("fits", {"lora_name": "a", "config_dict": NO_MEMBERS, "serialized_tensors": "x"}),),
    ),
    ("unload-lora", "/unload_lora_adapter", (("fits", {"lora_name": "a"}),)),
    ("hicache", "/hicache/storage-backend", ()),
    ("hicache-clear", "/hicache/storage-backend/clear", ()),
    ("hicache-clear-old", "/clear_hicache_storage_backend", ()),
    ("hicache-layout", "/get_hicache_l3_cache_layout", ()),
    ("pd-role", "/pd_role_switch", (("fits", {"new_role": "decode"}),)),
    ("transfer", "/remote_instance_transfer_engine_info", ()),
    ("transfer-old", "/get_remote_instance_transfer_engine_info", ()),
    ("elastic", "/is_scaling_elastic_ep", ()),
    ("weight-version", "/weight_version", ()),
    ("weight-version-old", "/get_weight_version", ()),
    ("checker", "/weights_checker", (("fits", {"action": "snapshot"}), ("odd", {"action": "nope"}))),
    ("realtime", "/v1/realtime", ()),
    ("load", "/get_load", ()),
    ("model-info", "/model_info", ()),
    ("weight-distributed", "/update_weights_from_distributed", ()),
    ("nope", "/nope", ()),
    ("docs-x", "/docs/x", ()),
    ("rerank-plain", "/rerank", ()),
    ("score-plain", "/score", ()),
    ("completions-plain", "/completions", ()),
    ("embeddings-plain", "/embeddings", ()),
    ("version", "/version", ()),
    ("abort-v1", "/v1/abort_request", ()),
    ("files", "/v1/files", ()),
    ("batches", "/v1/batches", ()),
    ("images", "/v1/images/generations", ()),
)

OTHERWISE = frozenset({("parse-call", "tools")})
"""Members whose odd values are refused by shapes that no other route has; not imitated."""

WEIGHTS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "/init_weights_update_group",
        {"master_address": "127.0.0.1", "master_port": 1, "rank_offset": 1, "world_size": 2},
    ),
    ("/update_weights_from_distributed", {"names": ["a"], "dtypes": ["bfloat16"], "shapes": [[1]]}),
    ("/update_weights_from_tensor", {"serialized_named_tensors": ["x"]}),
    ("/update_weights_from_ipc", {"zmq_handles": {"a": "b"}}),
    ("/destroy_weights_update_group", NO_MEMBERS),
    ("/begin_weight_update", NO_MEMBERS),
    ("/end_weight_update", NO_MEMBERS),
    (
        "/init_weights_send_group_for_remote_instance",
        {"master_address": "127.0.0.1", "ports": "1,2", "group_rank": 0, "world_size": 2},
    ),
    ("/send_weights_to_remote_instance", {"master_address": "127.0.0.1", "ports": "1,2"}),
    ("/pause_generation", {"mode": "abort"}),
    ("/continue_generation", NO_MEMBERS),
    ("/release_memory_occupation", {"tags": ["weights"]}),
    ("/resume_memory_occupation", {"tags": ["weights"]}),
    ("/flush_cache", NO_MEMBERS),
    ("/abort_request", {"rid": "x"}),
    ("/update_weight_version", {"new_version": "default", "abort_all_requests": False}),
    ("/update_weights_from_disk", {"model_path": "tinymodel"}),
)
"""Routes of an RL trainer, with a body that fits."""


def fill(book: Book) -> None:
    for name, path, bodies in ROUTES:
        for method in ("GET", "POST", "PUT", "DELETE"):
            book.ask(f"route-{name}-{method.lower()}", path, method=method)
        for kind, body in bodies:
            book.ask(f"route-{name}-{kind}", path, body)
        for kind, body in (("empty", NO_MEMBERS), ("list", NO_ENTRIES), ("text", "x"), ("null-member", {"a": None})):
            book.ask(f"route-{name}-{kind}-body", path, body)
        if bodies:
            fitting: dict[str, Any] = bodies[0][1]
            for member in fitting:
                for kind, value in () if (name, member) in OTHERWISE else ODD:
                    book.ask(f"route-{name}-{member}-{kind}", path, {**fitting, member: value})


def fill_weights(book: Book) -> None:
    """What a trainer calls: pauses are continued, so that nothing waits for ever."""
    for path, body in WEIGHTS:
        name = path[1:].replace("_", "-")
        for method in ("GET", "PUT"):
            book.ask(f"train-{name}-{method.lower()}", path, method=method)
        book.ask(f"train-{name}-bare", path)
        book.ask(f"train-{name}-fits", path, body)
        for member in body:
            for kind, value in ODD:
                if path == "/update_weight_version" and member == "new_version" and isinstance(value, str):
                    continue  # a version that later answers would show
                book.ask(f"train-{name}-{member}-{kind}", path, {**body, member: value})
        if path == "/pause_generation":
            book.ask("train-continue", "/continue_generation", {})
