"""What a scheduler says to everything that is no request for tokens: done, in the words of SGLang's own scheduler."""

from __future__ import annotations

from typing import Any

LOADS: dict[str, Any] = {
    **dict.fromkeys(("dp_rank", "timestamp", "num_running_reqs", "num_waiting_reqs", "num_used_tokens"), 0),
    **dict.fromkeys(("token_usage", "gen_throughput", "cache_hit_rate", "utilization"), 0.0),
    "max_total_num_tokens": 100_000,
    "max_running_requests": 2048,
}
"""An idle scheduler's load."""

ANSWERS: dict[str, tuple[str, dict[str, Any]]] = {
    "FlushCacheReqInput": ("FlushCacheReqOutput", {"success": True}),
    "ClearHiCacheReqInput": ("ClearHiCacheReqOutput", {"success": False}),
    "UpdateWeightFromDiskReqInput": (
        "UpdateWeightFromDiskReqOutput",
        {"success": True, "message": "Succeeded to update model weights."},
    ),
    "InitWeightsUpdateGroupReqInput": (
        "InitWeightsUpdateGroupReqOutput",
        {"success": True, "message": "Succeeded to initialize custom process group."},
    ),
    "DestroyWeightsUpdateGroupReqInput": (
        "DestroyWeightsUpdateGroupReqOutput",
        {"success": True, "message": "Succeeded to destroy custom process group."},
    ),
    "UpdateWeightsFromDistributedReqInput": (
        "UpdateWeightsFromDistributedReqOutput",
        {"success": True, "message": "Succeeded to update parameter online."},
    ),
    "UpdateWeightsFromTensorReqInput": ("UpdateWeightsFromTensorReqOutput", {"success": True, "message": "Success"}),
    "UpdateWeightsFromIPCReqInput": (
        "UpdateWeightsFromIPCReqOutput",
        {"success": True, "message": "IPC weight update completed successfully"},
    ),
    "BeginWeightUpdateReqInput": ("BeginWeightUpdateReqOutput", {"success": True, "message": "Success"}),
    "EndWeightUpdateReqInput": ("EndWeightUpdateReqOutput", {"success": True, "message": "Success"}),
    "UpdateWeightVersionReqInput": ("UpdateWeightVersionReqOutput", {}),
    "GetWeightsByNameReqInput": ("GetWeightsByNameReqOutput", {"parameter": None}),
    "ReleaseMemoryOccupationReqInput": ("ReleaseMemoryOccupationReqOutput", {}),
    "ResumeMemoryOccupationReqInput": ("ResumeMemoryOccupationReqOutput", {}),
    "CheckWeightsReqInput": ("CheckWeightsReqOutput", {"success": True, "message": "Success."}),
    "SlowDownReqInput": ("SlowDownReqOutput", {}),
    "ProfileReq": ("ProfileReqOutput", {"success": True, "message": "Succeeded"}),
    "ExpertDistributionReq": ("ExpertDistributionReqOutput", {}),
    "GetInternalStateReq": ("GetInternalStateReqOutput", {"internal_state": {}}),
    "SetInternalStateReq": ("SetInternalStateReqOutput", {"updated": True, "server_args": {}}),
    "GetHiCacheL3LayoutReq": ("GetHiCacheL3LayoutReqOutput", {"layout": {}}),
    "PdRoleSwitchReqInput": ("PdRoleSwitchReqOutput", {}),
    "AddExternalCorpusReqInput": ("AddExternalCorpusReqOutput", {"success": False}),
    "RemoveExternalCorpusReqInput": ("RemoveExternalCorpusReqOutput", {"success": False}),
    "ListExternalCorporaReqInput": ("ListExternalCorporaReqOutput", {"success": False}),
    "LoadLoRAAdapterReqInput": ("LoRAUpdateOutput", {"success": True, "loaded_adapters": {}}),
    "UnloadLoRAAdapterReqInput": ("LoRAUpdateOutput", {"success": True, "loaded_adapters": {}}),
    "GetLoadsReqInput": ("GetLoadsReqOutput", LOADS),
    "GetLoadReqInput": ("GetLoadReqOutput", {"dp_rank": 0, "num_reqs": 0, "num_waiting_reqs": 0, "num_tokens": 0}),
}
"""Message -> (answer's type, its members); members that a version does not know are left out."""

THROUGH: dict[str, tuple[str, str, str]] = {
    "InitWeightsSendGroupForRemoteInstanceReqInput": (
        "InitWeightsSendGroupForRemoteInstanceReqOutput",
        "Succeeded to init group",
        "",
    ),
    "SendWeightsToRemoteInstanceReqInput": (
        "SendWeightsToRemoteInstanceReqOutput",
        "Succeeded to send weights",
        "group_name",
    ),
}
"""Those that tell the address: message -> (answer's type, beginning, the member that ends it)."""


def answer(io: Any, message: Any) -> Any:
    """The answer to a message of ``io_struct``, None where it wants none."""
    name = type(message).__name__
    if name == "OpenSessionReqInput":
        return io.OpenSessionReqOutput(session_id=message.session_id, success=True)
    if name in THROUGH:
        through = (
            f"{message.master_address}:{message.ports.split(',')[0]} {getattr(message, THROUGH[name][2], 'group')}"
        )
        return getattr(io, THROUGH[name][0])(success=True, message=f"{THROUGH[name][1]} through {through}.")
    if name not in ANSWERS:
        return None
    kind, members = ANSWERS[name]
    made: Any = getattr(io, kind, None)
    if made is None:
        return None
    known: set[str] = set(getattr(made, "__struct_fields__", ())) or set(made.__dataclass_fields__)
    return made(**{member: value for member, value in members.items() if member in known})
