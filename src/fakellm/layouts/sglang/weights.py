"""The routes by which a trainer hands new weights to SGLang: groups, updates, their brackets, memory, the checker.

Every update succeeds; one that names a version makes it the server's. Sentences are those of SGLang's model runner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...ask import Request
from ...message import Rendering
from ..base import Context
from . import answers
from .aborts import abort_all
from .bodies import Body
from .orders import BOTH, reading
from .route import Handler, Route, versions
from .traits import Trait

if TYPE_CHECKING:
    from .station import SglangStation


def _update(name: str, message: str) -> Handler:
    """An update that always succeeds."""

    def answer(body: Body, station: SglangStation, context: Context) -> Rendering:
        if body.values.get("abort_all_requests"):
            abort_all(station)
        version = body.values.get("weight_version")
        said = message
        if isinstance(version, str):
            station.state.change(weight_version=version)
            said += f" Weight version updated to {version}."
        return answers.json_answer({"success": True, "message": said})

    return reading(name, answer)


def _group_made(body: Body, station: SglangStation, context: Context) -> Rendering:
    """Of the ports, each card takes its own; there is one card."""
    values = body.values
    message = f"Succeeded to init group through {values['master_address']}:{values['ports'].split(',')[0]} group."
    return answers.json_answer({"success": True, "message": message})


def _sent(body: Body, station: SglangStation, context: Context) -> Rendering:
    values = body.values
    port = values["ports"].split(",")[0]
    message = f"Succeeded to send weights through {values['master_address']}:{port} {values['group_name']}."
    return answers.json_answer({"success": True, "message": message})


def _by_name(body: Body, station: SglangStation, context: Context) -> Rendering:
    return answers.native_error("Get parameter by name failed")


def _checked(body: Body, station: SglangStation, context: Context) -> Rendering:
    return answers.json_answer({"success": True, "message": "Success."})


def _memory(name: str, *, released: bool) -> Handler:
    def answer(body: Body, station: SglangStation, context: Context) -> Rendering:
        station.state.change(memory_released=released)
        return answers.json_answer(None)

    return reading(f"{name}MemoryOccupationReqInput", answer)


def _check(request: Request, station: SglangStation, context: Context) -> Rendering:
    optional = versions(13).holds(station.traits.version)
    return reading("CheckWeightsReqInput", _checked, optional=optional)(request, station, context)  # type: ignore[return-value]


def _post(handler: Handler, since: Trait | None = None) -> Route:
    return Route(("POST",), handler, since, "admin")


WEIGHTS: Mapping[str, Route] = {
    "/update_weights_from_tensor": _post(_update("UpdateWeightsFromTensorReqInput", "Success")),
    "/update_weights_from_distributed": _post(
        _update("UpdateWeightsFromDistributedReqInput", "Succeeded to update parameter online.")
    ),
    "/update_weights_from_ipc": Route(
        ("POST",),
        _update("UpdateWeightsFromIPCReqInput", "IPC weight update completed successfully"),
        versions(6),
        "admin",
    ),
    "/init_weights_update_group": _post(
        _update("InitWeightsUpdateGroupReqInput", "Succeeded to initialize custom process group.")
    ),
    "/destroy_weights_update_group": _post(
        _update("DestroyWeightsUpdateGroupReqInput", "Succeeded to destroy custom process group.")
    ),
    "/init_weights_send_group_for_remote_instance": _post(
        reading("InitWeightsSendGroupForRemoteInstanceReqInput", _group_made)
    ),
    "/send_weights_to_remote_instance": _post(reading("SendWeightsToRemoteInstanceReqInput", _sent)),
    "/begin_weight_update": _post(_update("BeginWeightUpdateReqInput", "Success"), Trait.WEIGHT_UPDATE_BRACKETS),
    "/end_weight_update": _post(_update("EndWeightUpdateReqInput", "Success"), Trait.WEIGHT_UPDATE_BRACKETS),
    "/release_memory_occupation": Route(BOTH, _memory("Release", released=True), access="admin"),
    "/resume_memory_occupation": Route(BOTH, _memory("Resume", released=False), access="admin"),
    "/get_weights_by_name": Route(BOTH, reading("GetWeightsByNameReqInput", _by_name), access="admin"),
    "/weights_checker": Route(("POST",), _check, versions(6), "admin", (versions(13), ("GET",))),
}
"""Path -> route."""
