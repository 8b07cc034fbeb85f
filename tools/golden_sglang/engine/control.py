"""What a scheduler says to everything that is no request for tokens: done, in the words of SGLang's own scheduler."""

from __future__ import annotations

from typing import Any

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
    "InitWeightsSendGroupForRemoteInstanceReqInput": (
        "InitWeightsSendGroupForRemoteInstanceReqOutput",
        {"success": True, "message": "Succeeded to init group through 127.0.0.1:1 group."},
    ),
    "SendWeightsToRemoteInstanceReqInput": (
        "SendWeightsToRemoteInstanceReqOutput",
        {"success": True, "message": "Succeeded to send weights through 127.0.0.1:1 group."},
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
    "GetLoadReqInput": ("GetLoadReqOutput", {"dp_rank": 0, "num_reqs": 0, "num_waiting_reqs": 0, "num_tokens": 0}),
}
"""Message -> (answer's type, its members); members that a version does not know are left out."""


def answer(io: Any, message: Any) -> Any:
    """The answer to a message of ``io_struct``, None where it wants none."""
    name = type(message).__name__
    if name == "OpenSessionReqInput":
        return io.OpenSessionReqOutput(session_id=message.session_id, success=True)
    if name not in ANSWERS:
        return None
    kind, members = ANSWERS[name]
    made: Any = getattr(io, kind)
    known = set(getattr(made, "__struct_fields__", ())) or set(made.__dataclass_fields__)
    return made(**{member: value for member, value in members.items() if member in known})
