"""The bodies of the control routes, version by version: SGLang's input classes with their members.

``model_of("ProfileReq", version)`` gives the shape under the name that refusals show. Knows no route.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from .body_parts import Rows, rows_of, since, tool, until
from .kinds import ANY, BOOL, BYTES, DICT, FLOAT, INT, OBJECT, STR, base64_of, either, listed, literal, mapped, nullable
from .schema import REQUIRED, Field, Kind, Model
from .traits import Version

_TEXTS = nullable(either(listed(listed(STR)), listed(STR), STR))
_IDS = nullable(either(listed(listed(INT)), listed(INT)))
_EMBEDS = nullable(either(listed(listed(listed(FLOAT))), listed(listed(FLOAT))))
_NAMES = nullable(listed(STR))
_WORD = nullable(STR)
_NUMBER = nullable(INT)
_SELECTED = literal("target", "draft", "all")
_OWN: Rows = (until(17, "rid", nullable(either(STR, listed(STR)))), since(17, "rid", nullable(STR)))
"""What every input class has."""


def _required(name: str, kind: Kind) -> Field:
    return Field(name, kind, REQUIRED)


def _flag(name: str, *, default: bool = False) -> Field:
    return Field(name, BOOL, default)


_PROFILED: Rows = (
    Field("output_dir", _WORD),
    Field("start_step", _NUMBER),
    Field("num_steps", _NUMBER),
    Field("activities", _NAMES),
    _flag("profile_by_stage"),
    Field("with_stack", nullable(BOOL)),
    Field("record_shapes", nullable(BOOL)),
    since(17, "profile_id", _WORD),
    since(6, "merge_profiles", BOOL, default=False),
    since(6, "profile_prefix", _WORD),
    since(6, "profile_stages", _NAMES),
    since(20, "detailed_annotations", BOOL, default=False),
)
_OF_GROUP: Rows = (Field("group_name", STR, "weight_update_group"),)
_UPDATED: Rows = (_flag("flush_cache", default=True), _flag("abort_all_requests"), Field("weight_version", _WORD))
_FREED = since(12, "torch_empty_cache", BOOL, default=False)

_OF_STORAGE = ("storage_backend_extra_config_json", "storage_prefetch_policy", "write_policy")

INPUTS: Mapping[str, Rows] = {
    "SetInternalStateReq": (
        until(17, "server_args", OBJECT, REQUIRED),
        since(17, "server_args", mapped(either(INT, FLOAT)), REQUIRED),
    ),
    "ProfileReqInput": _PROFILED,
    "ProfileReq": _PROFILED,
    "OpenSessionReqInput": (
        _required("capacity_of_str_len", INT),
        Field("session_id", _WORD),
        since(10, "streaming", nullable(BOOL)),
        since(10, "timeout", nullable(FLOAT)),
    ),
    "CloseSessionReqInput": (_required("session_id", STR),),
    "GetWeightsByNameReqInput": (_required("name", STR), Field("truncate_size", INT, 100)),
    "SlowDownReqInput": (_required("forward_sleep_time", nullable(FLOAT)),),
    "ConfigureLoggingReq": (
        Field("log_requests", nullable(BOOL)),
        Field("log_requests_level", _NUMBER),
        since(9, "log_requests_format", _WORD),
        since(13, "log_level", _WORD),
        Field("dump_requests_folder", _WORD),
        Field("dump_requests_threshold", _NUMBER),
        Field("crash_dump_folder", _WORD),
        since(12, "dump_requests_exclude_meta_keys", _NAMES),
    ),
    "LoadLoRAAdapterReqInput": (
        _required("lora_name", STR),
        _required("lora_path", STR),
        _flag("pinned"),
        Field("lora_id", _WORD),
    ),
    "LoadLoRAAdapterFromTensorsReqInput": (
        _required("lora_name", STR),
        _required("config_dict", OBJECT),
        until(17, "serialized_tensors", STR, REQUIRED),
        since(17, "serialized_named_tensors", base64_of(listed(BYTES)), REQUIRED),
        _flag("pinned"),
        until(17, "added_tokens_config", nullable(OBJECT)),
        since(17, "added_tokens_config", nullable(mapped(INT))),
        Field("lora_id", _WORD),
        since(10, "load_format", _WORD),
        since(17, "expected_checksums", nullable(mapped(STR))),
    ),
    "UnloadLoRAAdapterReqInput": (_required("lora_name", STR), Field("lora_id", _WORD)),
    "CheckWeightsReqInput": (
        until(13, "action", STR, REQUIRED),
        since(13, "action", STR, "checksum"),
        since(17, "allow_quant_error", BOOL, default=False),
        since(23, "skip_tensor_list", _NAMES),
        since(23, "selector", _SELECTED, "all"),
    ),
    "PdRoleSwitchReqInput": (
        Field("new_role", literal("prefill", "decode", ""), ""),
        Field("decode_cuda_graph_bs", nullable(listed(INT))),
        Field("decode_cuda_graph_memory_gb", nullable(FLOAT)),
        _flag("prepare_only"),
    ),
    "InitWeightsUpdateGroupReqInput": (
        _required("master_address", STR),
        *(_required(name, INT) for name in ("master_port", "rank_offset", "world_size")),
        *_OF_GROUP,
        Field("backend", STR, "nccl"),
    ),
    "DestroyWeightsUpdateGroupReqInput": _OF_GROUP,
    "UpdateWeightsFromDistributedReqInput": (
        _required("names", listed(STR)),
        _required("dtypes", listed(STR)),
        _required("shapes", listed(listed(INT))),
        *_OF_GROUP,
        *_UPDATED,
        since(6, "load_format", _WORD),
        since(23, "selector", _SELECTED, "all"),
        _FREED,
    ),
    "UpdateWeightsFromTensorReqInput": (
        until(17, "serialized_named_tensors", listed(either(STR, BYTES)), REQUIRED),
        since(17, "serialized_named_tensors", base64_of(listed(BYTES)), REQUIRED),
        Field("load_format", _WORD),
        *_UPDATED,
        since(23, "selector", _SELECTED, "all"),
        _FREED,
    ),
    "UpdateWeightsFromIPCReqInput": (
        _required("zmq_handles", mapped(STR)),
        _flag("flush_cache", default=True),
        Field("weight_version", _WORD),
        _FREED,
    ),
    "InitWeightsSendGroupForRemoteInstanceReqInput": (
        _required("master_address", STR),
        _required("ports", STR),
        _required("group_rank", INT),
        _required("world_size", INT),
        Field("group_name", STR, "weight_send_group"),
        Field("backend", STR, "nccl"),
    ),
    "SendWeightsToRemoteInstanceReqInput": (
        _required("master_address", STR),
        _required("ports", STR),
        Field("group_name", STR, "weight_send_group"),
    ),
    "AttachHiCacheStorageReqInput": (
        _required("hicache_storage_backend", STR),
        *(Field(f"hicache_{name}", _WORD) for name in _OF_STORAGE),
    ),
    "BeginWeightUpdateReqInput": (Field("selector", _SELECTED, "all"),),
    "EndWeightUpdateReqInput": (),
    "AbortReq": (_flag("abort_all"),),
    "PauseGenerationReqInput": (Field("mode", literal("abort", "retract", "in_place"), "abort"),),
    "ContinueGenerationReqInput": (since(12, "torch_empty_cache", BOOL, default=True),),
    "UpdateWeightVersionReqInput": (_required("new_version", STR), _flag("abort_all_requests", default=True)),
    "UpdateWeightFromDiskReqInput": (
        _required("model_path", STR),
        Field("load_format", _WORD),
        _flag("abort_all_requests"),
        Field("weight_version", _WORD),
        *(_flag(name) for name in ("is_async", "torch_empty_cache", "keep_pause")),
        since(6, "recapture_cuda_graph", BOOL, default=False),
        since(6, "token_step", INT, 0),
        since(6, "flush_cache", BOOL, default=True),
        since(9, "manifest", nullable(OBJECT)),
    ),
    "ReleaseMemoryOccupationReqInput": (Field("tags", _NAMES),),
    "ResumeMemoryOccupationReqInput": (Field("tags", _NAMES),),
    "SeparateReasoningReqInput": (
        _required("text", STR),
        _required("reasoning_parser", STR),
        since(13, "return_blocks", BOOL, default=False),
    ),
    "VertexGenerateReqInput": (_required("instances", listed(DICT)), Field("parameters", nullable(DICT))),
    "EmbeddingReqInput": (
        Field("text", _TEXTS),
        Field("input_ids", _IDS),
        Field("input_embeds", _EMBEDS),
        Field("image_data", ANY),
        Field("video_data", ANY),
        Field("audio_data", ANY),
        Field("sampling_params", nullable(either(listed(OBJECT), OBJECT))),
        _flag("log_metrics", default=True),
        Field("modalities", _NAMES),
        Field("priority", _NUMBER),
        since(9, "dimensions", _NUMBER),
    ),
}
"""Input class -> its members."""


@cache
def model_of(name: str, version: Version) -> Model:
    """The shape of an input class at a version; with what all of them have."""
    return Model(name, rows_of(version, _OWN, INPUTS[name]), dataclass=True)


@cache
def call_parsing(version: Version) -> Model:
    """The body of /parse_function_call, whose tools have the shape that the version gives them."""
    rows: Rows = (
        _required("text", STR),
        Field("tools", listed(tool(version)), ()),
        Field("tool_call_parser", _WORD),
    )
    return Model("ParseFunctionCallReq", rows_of(version, _OWN, rows), dataclass=True)
