"""Orders to a running SGLang that a client, a trainer or an operator may give and that leave no trace in an answer.

Profiling, expert distribution, sessions, adapters, logging and the like: each reads its input as the version does and
says what a text model on one card says, started without the option that the order needs where there is one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...ask import Request
from ...message import Rendering
from ..base import Context
from . import answers
from .bodies import Body, read_body
from .inputs import model_of
from .route import Handler, Route, versions
from .schema import error
from .traits import Trait

if TYPE_CHECKING:
    from .station import SglangStation

Answer = Callable[[Body, "SglangStation", Context], Rendering]
BOTH = ("GET", "POST")
_NO_LORA = "LoRA is not enabled. Please set `--enable-lora` to enable LoRA."
_ADMIN_ONLY = (
    "This endpoint requires admin API key, but this server was started without one (admin-api-key). "
    "Restart with --admin-api-key to enable."
)


def reading(name: str, answer: Answer, *, optional: bool = False) -> Handler:
    """A handler whose body is the input class ``name``; ``optional``: it may be missing."""

    def handle(request: Request, station: SglangStation, context: Context) -> Rendering:
        body = input_of(request, name, station, optional=optional)
        return body if isinstance(body, Rendering) else answer(body, station, context)

    return handle


def input_of(request: Request, name: str, station: SglangStation, *, optional: bool = False) -> Body | Rendering:
    """The body as an input class, or the refusal of one that does not fit."""
    model = model_of(name, station.traits.version)
    if optional and request.body in (b"", b"null"):
        return Body({}, {member.name: member.default for member in model.fields})
    struct = station.traits.has(Trait.CONTROL_BY_MSGSPEC)
    return read_body(request, model, station.traits, json_only=False, struct=struct)


def said(text: str, status: int = 200) -> Handler:
    """A handler that looks at nothing."""
    return lambda request, station, context: answers.plain_answer(text, status)


def _json(value: Any, status: int = 200) -> Answer:
    return lambda body, station, context: answers.json_answer(value, status)


def _done(body: Body, station: SglangStation, context: Context) -> Rendering:
    return answers.empty_answer()


def _trace_level(request: Request, station: SglangStation, context: Context) -> Rendering:
    level, place = request.query.get("level"), ("query", "level")
    if level is None:
        return answers.invalid(
            [error("missing", place, "Field required", None)], request.method, request.path, station.traits
        )
    try:
        number = int(level)
    except ValueError:
        sentence = "Input should be a valid integer, unable to parse string as an integer"
        wrong = error("int_parsing", place, sentence, level)
        return answers.invalid([wrong], request.method, request.path, station.traits)
    if number < 0:
        wrong = error("greater_than_equal", place, "Input should be greater than or equal to 0", level, {"ge": 0})
        return answers.invalid([wrong], request.method, request.path, station.traits)
    return answers.plain_answer("success")


def _open_session(body: Body, station: SglangStation, context: Context) -> Rendering:
    """The session's id; one that is open already is refused."""
    given = body.values["session_id"]
    name: str = context.hex(32) if given is None else given
    if not station.state.open_session(name):
        message = "Failed to open the session. Check if a session with the same id is still open."
        return answers.native_error(message)
    return answers.json_text(json.dumps(name, ensure_ascii=False))


def _close_session(body: Body, station: SglangStation, context: Context) -> Rendering:
    station.state.close_session(body.values["session_id"])
    return answers.empty_answer()


def _internal_state(body: Body, station: SglangStation, context: Context) -> Rendering:
    return answers.json_answer([True])


def _no_lora(body: Body, station: SglangStation, context: Context) -> Rendering:
    told: dict[str, Any] = {**head(station), "success": False, "error_message": _NO_LORA, "loaded_adapters": None}
    return answers.json_answer(told, 400)


def head(station: SglangStation) -> dict[str, Any]:
    """What every output class begins with."""
    worker = {"http_worker_ipc": None} if versions(6).holds(station.traits.version) else {}
    return {"rid": None, **worker}


def _no_role(body: Body, station: SglangStation, context: Context) -> Rendering:
    told = {**head(station), "success": False}
    told |= {"message": "--enable-pd-role-switch is not set on this server", "old_role": "null"}
    return answers.json_answer({**told, "new_role": body.values["new_role"], "safe_to_restore": True}, 400)


def _weight_version(request: Request, station: SglangStation, context: Context) -> Rendering:
    return answers.json_answer({"weight_version": station.state.weight_version})


def _admin_only(request: Request, station: SglangStation, context: Context) -> Rendering:
    """The storage of a hierarchical cache, which only an admin's key opens; it is off."""
    if not station.settings.admin_api_key:
        return answers.json_answer({"error": _ADMIN_ONLY}, 400)
    names = ("storage_backend", "storage_backend_extra_config", "storage_prefetch_policy", "write_policy")
    values = (None, None, "best_effort", "write_through")
    return answers.json_answer({f"hicache_{name}": value for name, value in zip(names, values, strict=True)})


def _plain(value: Any, status: int = 200) -> Handler:
    return lambda request, station, context: answers.json_answer(value, status)


def _transfer(request: Request, station: SglangStation, context: Context) -> Rendering:
    rank = request.query.get("rank", "")
    if not rank.isdecimal() and not versions(10).holds(station.traits.version):
        return answers.empty_answer(400)
    if not rank.isdecimal():
        return answers.native_error("Missing or invalid rank parameter")
    return answers.native_error(f"Failed to get transfer engine info for rank {int(rank)}")


_NO_LAYOUT: dict[str, Any] = {
    "enabled": False,
    "backend": None,
    "page_size": None,
    "hicache_object_layout": {"pools": []},
    "reason": "No scheduler layout replies",
}
_CLEARED = "Hierarchical cache storage backend cleared.\n"
_RENAMED = "Deprecated endpoint. Use POST /hicache/storage-backend/clear.\n" + _CLEARED


def _clear_old(request: Request, station: SglangStation, context: Context) -> Rendering:
    return answers.plain_answer(_RENAMED if versions(9).holds(station.traits.version) else _CLEARED, 400)


def _start_profile(request: Request, station: SglangStation, context: Context) -> Rendering:
    struct = station.traits.has(Trait.CONTROL_BY_MSGSPEC)
    body = input_of(request, "ProfileReq" if struct else "ProfileReqInput", station, optional=True)
    return body if isinstance(body, Rendering) else answers.plain_answer("Start profiling.\n")


def _weight_version_gone(request: Request, station: SglangStation, context: Context) -> Rendering:
    if not versions(9).holds(station.traits.version):
        return _weight_version(request, station, context)
    told = "Endpoint '/get_weight_version' or '/weight_version' is deprecated. Please use '/model_info' instead."
    return answers.error(told, "404", 404)


def _attach(body: Body, station: SglangStation, context: Context) -> Rendering:
    if not station.settings.admin_api_key:
        return answers.json_answer({"error": _ADMIN_ONLY}, 400)
    return answers.plain_answer("Failed to attach HiCache storage backend.\n", 400)


def _storage(request: Request, station: SglangStation, context: Context) -> Rendering:
    """The storage of a hierarchical cache: there is none to attach to."""
    if request.method == "PUT":
        return reading("AttachHiCacheStorageReqInput", _attach)(request, station, context)  # type: ignore[return-value]
    return _admin_only(request, station, context)


def _experts(text: str) -> Route:
    """0.5.3 breaks: its message class takes no arguments."""

    def handle(request: Request, station: SglangStation, context: Context) -> Rendering:
        return answers.plain_answer(text) if versions(6).holds(station.traits.version) else answers.crash()

    return Route(BOTH, handle, access="admin")


ORDERS: Mapping[str, Route] = {
    "/start_profile": Route(BOTH, _start_profile, access="admin"),
    "/stop_profile": Route(BOTH, said("Stop profiling. This will take some time.\n"), access="admin"),
    "/start_expert_distribution_record": _experts("Start recording the expert distribution.\n"),
    "/stop_expert_distribution_record": _experts("Stop recording the expert distribution.\n"),
    "/dump_expert_distribution_record": _experts("Dump expert distribution record.\n"),
    "/freeze_gc": Route(BOTH, said("Garbage collection frozen.\n"), access="admin"),
    "/set_trace_level": Route(BOTH, _trace_level, versions(10), "admin"),
    "/slow_down": Route(BOTH, reading("SlowDownReqInput", _json(None)), access="admin"),
    "/configure_logging": Route(BOTH, reading("ConfigureLoggingReq", _done), access="admin"),
    "/set_internal_state": Route(("POST", "PUT"), reading("SetInternalStateReq", _internal_state), access="admin"),
    "/open_session": Route(BOTH, reading("OpenSessionReqInput", _open_session)),
    "/close_session": Route(BOTH, reading("CloseSessionReqInput", _close_session)),
    "/get_weight_version": Route(("GET",), _weight_version_gone, versions(0, 21)),
    "/weight_version": Route(("GET",), _weight_version_gone, versions(6, 21)),
    "/load_lora_adapter": Route(("POST",), reading("LoadLoRAAdapterReqInput", _no_lora), access="admin"),
    "/load_lora_adapter_from_tensors": Route(
        ("POST",), reading("LoadLoRAAdapterFromTensorsReqInput", _no_lora), versions(9), "admin"
    ),
    "/unload_lora_adapter": Route(("POST",), reading("UnloadLoRAAdapterReqInput", _no_lora), access="admin"),
    "/pd_role_switch": Route(("POST",), reading("PdRoleSwitchReqInput", _no_role), versions(23), "admin"),
    "/hicache/storage-backend": Route(("PUT", "DELETE", "GET"), _storage, versions(9), "admin", allowed=("PUT",)),
    "/hicache/storage-backend/clear": Route(("POST",), said(_CLEARED, 400), versions(9), "admin"),
    "/clear_hicache_storage_backend": Route(BOTH, _clear_old, versions(0, 21), "admin"),
    "/get_hicache_l3_cache_layout": Route(("GET",), _plain(_NO_LAYOUT), versions(23)),
    "/get_remote_instance_transfer_engine_info": Route(("GET",), _transfer, versions(9), "admin"),
    "/remote_instance_transfer_engine_info": Route(("GET",), _transfer, versions(10), "admin"),
    "/is_scaling_elastic_ep": Route(
        ("GET",), _plain({"error": "elastic EP is not enabled (set --elastic-ep-backend)"}, 404), versions(17)
    ),
}
"""Path -> route."""
