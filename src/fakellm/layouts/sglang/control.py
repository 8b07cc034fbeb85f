"""The routes that need no engine: health, models, information, tokenizer, and what RL trainers call.

Pausing, weights and memory change the station's state and are answered in SGLang's words. What they end on its way, and
how, is said in ``aborts.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...ask import Ask, Request
from ...message import Rendering
from ..base import Context
from . import answers
from .aborts import abort_all, abort_one
from .info import metrics_text, model_card, model_info, server_info
from .load import load_list, loads
from .orders import input_of
from .route import Route
from .tokenizing import detokenize, tokenize
from .traits import Trait

if TYPE_CHECKING:
    from .station import SglangStation

_FLUSHED = (
    "Cache flushed.\nPlease check backend logs for more details. "
    "(When there are running or waiting requests, the operation will not be performed.)\n"
)


def _empty(request: Request, station: SglangStation, context: Context) -> Rendering:
    return answers.empty_answer()


def _greeting(request: Request, station: SglangStation, context: Context) -> Rendering:
    name = "SGLang" if station.traits.has(Trait.GREETING) else "Ollama"
    return answers.json_text(f'"{name} is running"')


def _models(request: Request, station: SglangStation, context: Context) -> Rendering:
    return answers.json_answer({"object": "list", "data": [model_card(station, int(context.now()))]})


def _model(request: Request, station: SglangStation, context: Context) -> Rendering:
    name = request.query["argument"]
    if name != station.settings.model_name:
        message = f"The model '{name}' does not exist"
        return answers.nested(message, "invalid_request_error", "model", "model_not_found", 404)
    return answers.json_answer(model_card(station, int(context.now())))


def _model_info(request: Request, station: SglangStation, context: Context) -> Rendering:
    return answers.json_answer(model_info(station))


def _server_info(request: Request, station: SglangStation, context: Context) -> Rendering:
    return answers.json_answer(server_info(station))


def _loads(request: Request, station: SglangStation, context: Context) -> Rendering:
    return answers.json_answer(loads(station.traits, context.now(), station.state.running))


def _load(request: Request, station: SglangStation, context: Context) -> Rendering:
    return answers.json_answer(load_list(station.traits, context.now(), station.state.running))


def _metrics(request: Request, station: SglangStation, context: Context) -> Rendering:
    if not station.settings.metrics:
        return answers.detail(404, "Not Found")
    return answers.text_answer(metrics_text(station), "text/plain; version=1.0.0; charset=utf-8")


def _flush(request: Request, station: SglangStation, context: Context) -> Rendering:
    return answers.plain_answer(_FLUSHED)


def _abort(request: Request, station: SglangStation, context: Context) -> Ask | Rendering:
    body = input_of(request, "AbortReq", station)
    if isinstance(body, Rendering):
        return body
    if isinstance(body.values["rid"], list):
        return answers.native_error("unhashable type: 'list'")
    if body.values["abort_all"]:
        abort_all(station)
    else:
        abort_one(station, body.values["rid"] or "")
    return answers.empty_answer()


def _pause(request: Request, station: SglangStation, context: Context) -> Ask | Rendering:
    mode = "abort"
    if station.traits.has(Trait.PAUSE_MODES):
        body = input_of(request, "PauseGenerationReqInput", station)
        if isinstance(body, Rendering):
            return body
        mode = body.values["mode"]
    station.state.change(paused=True)
    if mode == "abort":
        abort_all(station)
    return answers.json_answer({"message": "Generation paused successfully.", "status": "ok"})


def _continue(request: Request, station: SglangStation, context: Context) -> Ask | Rendering:
    if station.traits.has(Trait.PAUSE_MODES):
        body = input_of(request, "ContinueGenerationReqInput", station)
        if isinstance(body, Rendering):
            return body
    station.state.change(paused=False)
    return answers.json_answer({"message": "Generation continued successfully.", "status": "ok"})


def _update_from_disk(request: Request, station: SglangStation, context: Context) -> Ask | Rendering:
    body = input_of(request, "UpdateWeightFromDiskReqInput", station)
    if isinstance(body, Rendering):
        return body
    if body.values["abort_all_requests"]:
        abort_all(station)
    station.state.change(model_path=body.values["model_path"])
    message = "Succeeded to update model weights."
    version = body.values["weight_version"]
    if version is not None:
        station.state.change(weight_version=version)
        message += f" Weight version updated to {version}."
    return answers.json_answer({"success": True, "message": message, "num_paused_requests": 0})


def _update_version(request: Request, station: SglangStation, context: Context) -> Ask | Rendering:
    body = input_of(request, "UpdateWeightVersionReqInput", station)
    if isinstance(body, Rendering):
        return body
    version = body.values["new_version"]
    if body.values["abort_all_requests"]:
        abort_all(station)
    station.state.change(weight_version=version)
    message = f"Weight version updated to {version}"
    return answers.json_answer({"success": True, "message": message, "new_version": version})


CONTROL: Mapping[str, Route] = {
    "/": Route(("GET", "HEAD"), _greeting, Trait.OLLAMA),
    "/health": Route(("GET",), _empty, access="open"),
    "/health_generate": Route(("GET",), _empty, access="open"),
    "/ping": Route(("GET",), _empty),
    "/ready": Route(("GET",), _empty, Trait.READY, "open"),
    "/v1/models": Route(("GET",), _models),
    "/v1/models/*": Route(("GET",), _model),
    "/get_model_info": Route(("GET",), _model_info),
    "/model_info": Route(("GET",), _model_info, Trait.MODEL_INFO),
    "/get_server_info": Route(("GET",), _server_info),
    "/server_info": Route(("GET",), _server_info, Trait.MODEL_INFO),
    "/v1/loads": Route(("GET",), _loads, Trait.LOADS),
    "/get_load": Route(("GET",), _load, Trait.GET_LOAD),
    "/metrics": Route(("GET",), _metrics, access="open"),
    "/tokenize": Route(("POST",), tokenize, Trait.TOKENIZE),
    "/v1/tokenize": Route(("POST",), tokenize, Trait.TOKENIZE),
    "/detokenize": Route(("POST",), detokenize, Trait.TOKENIZE),
    "/v1/detokenize": Route(("POST",), detokenize, Trait.TOKENIZE),
    "/flush_cache": Route(("GET", "POST"), _flush, access="admin"),
    "/abort_request": Route(("POST",), _abort, access="admin"),
    "/pause_generation": Route(("POST",), _pause, access="admin"),
    "/continue_generation": Route(("POST",), _continue, access="admin"),
    "/update_weights_from_disk": Route(("POST",), _update_from_disk, access="admin"),
    "/update_weight_version": Route(("POST",), _update_version, access="admin"),
}
"""Path -> route."""
