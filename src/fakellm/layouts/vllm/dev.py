"""Development, reinforcement-learning and LoRA routes: sleep, pause, weights, caches, adapters, by version.

They exist only with VLLM_SERVER_DEV_MODE=1 (LoRA: VLLM_ALLOW_RUNTIME_LORA_UPDATING). State lives in ``Running.state``;
what changes later answers (the weight version) raises ``Running.epoch``. A paused or sleeping fake still answers:
nothing is ever stuck in a test. What is on its way when it pauses ends as the version ends it (``aborts.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from ...ask import Request
from ...message import Rendering
from ..base import Context
from .aborts import abort_by_ids, abort_requests, pauses, scale_out, sleeps, tokens_only
from .api import Handler, Running
from .bodies import empty_answer, error_value, json_answer
from .route import Route
from .traits import Version
from .validate.flaws import Flaw
from .validate.places import place_of
from .validate.spelling import spell_flaws

Parameters = Mapping[str, str]
Body = Mapping[str, Any]

QUIET: Version = (0, 32, 0)
"""Before this version sleep and wake_up answer with an empty 200."""
PAUSE_MODES = ("abort", "wait", "keep")


def _dev(since: Version, until: Version | None = None) -> Callable[[Running], bool]:
    def there(running: Running) -> bool:
        version = running.traits.version
        return running.settings.dev_mode and since <= version and (until is None or version < until)

    return there


def _lora(running: Running) -> bool:
    return running.settings.runtime_lora


def _said(value: Any) -> Handler:
    def handler(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
        return json_answer(value)

    return handler


def _flawed(flaw: Flaw, request: Request, running: Running) -> Rendering:
    place = place_of(request.method, request.path, running.traits.version)
    return spell_flaws([flaw], place, running.traits).rendering()


# ------------------------------------------------------------------- sleeping


def sleep(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    level: Any = request.query.get("level", "1")
    if running.traits.version < QUIET:
        running.state["sleeping"] = True
        sleeps(request, running)
        return empty_answer()
    flaw = _level_flaw(level) or _mode_flaw(request)
    if flaw is not None:
        return _flawed(flaw, request, running)
    running.state["sleeping"] = True
    sleeps(request, running)
    return json_answer({"status": "sleeping", "level": int(level)})


def _level_flaw(level: str) -> Flaw | None:
    path = ("query", "level")
    try:
        number = int(level)
    except ValueError:
        return Flaw("int_parsing", path, "Input should be a valid integer, unable to parse string as an integer", level)
    if number < 0:
        words = "Input should be greater than or equal to 0"
        return Flaw("greater_than_equal", path, words, level, {"ge": 0})
    if number > 2:
        return Flaw("less_than_equal", path, "Input should be less than or equal to 2", level, {"le": 2})
    return None


def _mode_flaw(request: Request) -> Flaw | None:
    mode = request.query.get("mode", "abort")
    if mode in PAUSE_MODES:
        return None
    words = "'abort', 'wait' or 'keep'"
    return Flaw("literal_error", ("query", "mode"), f"Input should be {words}", mode, {"expected": words})


def wake_up(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    running.state["sleeping"] = False
    if running.traits.version < QUIET:
        return empty_answer()
    tags = [value for name, value in request.pairs if name == "tags"]
    return json_answer({"status": "awake", "tags": tags or None})


def is_sleeping(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    return json_answer({"is_sleeping": bool(running.state.get("sleeping"))})


def pause(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    flaw = _mode_flaw(request) if "mode" in request.query else None
    if flaw is not None:
        return _flawed(flaw, request, running)
    running.state["paused"] = True
    pauses(request, running)
    return json_answer({"status": "paused"})


def resume(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    running.state["paused"] = False
    return json_answer({"status": "resumed"})


def is_paused(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    return json_answer({"is_paused": bool(running.state.get("paused"))})


def reset_cache(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    if running.traits.version < (0, 28, 0):
        return empty_answer()
    return json_answer({"success": True})


def reset_other_cache(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    return empty_answer()


# -------------------------------------------------------------------- weights


def weight_version(running: Running) -> Any:
    """The version that the engine reports now; None = it never reported one."""
    return running.state.get("weight_version", running.launch.engine.get("weight_version"))


def weight_info(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    return json_answer({"weight_version": weight_version(running)})


def update_weight_version(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    body = _body(request, running)
    if isinstance(body, Rendering):
        return body
    version = body.get("new_version")
    if not isinstance(version, str):
        return _flawed(_needs_text("new_version", body), request, running)
    _set_weights(running, version)
    return json_answer({"success": True, "new_version": version})


def finish_weight_update(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    body = _body(request, running, empty=True)
    if isinstance(body, Rendering):
        return body
    if isinstance(body.get("weight_version"), str):
        _set_weights(running, str(body["weight_version"]))
    return json_answer({"message": "Weight update finished"})


def _set_weights(running: Running, version: str) -> None:
    running.state["weight_version"] = version
    running.epoch += 1


def needs(field: str, message: str) -> Handler:
    """A weight route whose body must hold an object under this name."""

    def handler(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
        body = _body(request, running)
        if isinstance(body, Rendering):
            return body
        if field not in body:
            return _flawed(Flaw("missing", ("body", field), "Field required", None), request, running)
        return json_answer({"message": message})

    return handler


def _needs_text(field: str, body: Body) -> Flaw:
    if field not in body:
        return Flaw("missing", ("body", field), "Field required", None)
    return Flaw("string_type", ("body", field), "Input should be a valid string", body[field])


def world_size(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    settings = running.settings
    size = settings.tensor_parallel_size * settings.pipeline_parallel_size
    if request.query.get("include_dp", "true").lower() not in ("false", "0", "no"):
        size *= settings.data_parallel_size
    return json_answer({"world_size": size})


# ----------------------------------------------------------------------- LoRA


def load_lora(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    body = _body(request, running)
    if isinstance(body, Rendering):
        return body
    name, path = body.get("lora_name"), body.get("lora_path")
    loaded: dict[str, str] = running.state.setdefault("lora", {})
    if not name or not path:
        return _lora_problem("Both 'lora_name' and 'lora_path' must be provided.")
    if name in running.settings.served_names:
        return _lora_problem(f"The lora adapter '{name}' conflicts with a served base model.")
    if not body.get("load_inplace") and name in loaded:
        return _lora_problem(
            f"The lora adapter '{name}' has already been loaded. If you want to load the adapter in place, set "
            "'load_inplace' to True."
        )
    loaded[str(name)] = str(path)
    return _text(f"Success: LoRA adapter '{name}' added successfully.")


def unload_lora(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    body = _body(request, running)
    if isinstance(body, Rendering):
        return body
    name = body.get("lora_name")
    loaded: dict[str, str] = running.state.setdefault("lora", {})
    if not name:
        return _lora_problem("'lora_name' needs to be provided to unload a LoRA adapter.")
    if name not in loaded:
        problem = error_value(f"The lora adapter '{name}' cannot be found.", "NotFoundError", None, 404)
        return json_answer(problem, status=404)
    del loaded[str(name)]
    return _text(f"Success: LoRA adapter '{name}' removed successfully.")


def _lora_problem(message: str) -> Rendering:
    return json_answer(error_value(message, "InvalidUserInput", None, 400), status=400)


def _text(words: str) -> Rendering:
    answer = empty_answer()
    message = answer.messages[0]
    return Rendering(200, answer.headers, (type(message)("body", words),))


def _body(request: Request, running: Running, *, empty: bool = False) -> Body | Rendering:
    if empty and not request.body:
        return {}
    try:
        body: Any = json.loads(request.body)
    except RecursionError:
        problem = error_value("There was an error parsing the body", "Bad Request", None, 400)
        return json_answer(problem, status=400)
    except ValueError as problem:
        flaw = Flaw(
            "json_invalid", ("body", getattr(problem, "pos", 0)), "JSON decode error", {}, {"error": _words(problem)}
        )
        return _flawed(flaw, request, running)
    if not isinstance(body, dict):
        return _flawed(Flaw("dict_type", ("body",), "Input should be a valid dictionary", body), request, running)
    return cast(Body, body)


def _words(problem: ValueError) -> str:
    return str(getattr(problem, "msg", problem))


V0_10, V0_12, V0_16, V0_24, V0_28, V0_32 = (0, 10, 2), (0, 12, 0), (0, 16, 0), (0, 24, 0), (0, 28, 0), (0, 32, 0)
POST, GET = ("POST",), ("GET",)

DEV_ROUTES: tuple[Route, ...] = (
    Route(POST, "/sleep", sleep, _dev(V0_10)),
    Route(POST, "/wake_up", wake_up, _dev(V0_10)),
    Route(GET, "/is_sleeping", is_sleeping, _dev(V0_10)),
    Route(POST, "/reset_prefix_cache", reset_cache, _dev(V0_10)),
    Route(POST, "/reset_mm_cache", reset_other_cache, _dev(V0_12)),
    Route(POST, "/reset_encoder_cache", reset_other_cache, _dev(V0_16)),
    Route(POST, "/release_kv_cache_memory", reset_other_cache, _dev(V0_32)),
    Route(POST, "/pause", pause, _dev(V0_12)),
    Route(POST, "/resume", resume, _dev(V0_12)),
    Route(GET, "/is_paused", is_paused, _dev(V0_12)),
    Route(GET, "/get_world_size", world_size, _dev(V0_16)),
    Route(POST, "/init_weight_transfer_engine", needs("init_info", "Weight transfer initialized"), _dev(V0_16)),
    Route(POST, "/shutdown_weight_transfer_engine", _said({"message": "Weight transfer shut down"}), _dev(V0_32)),
    Route(POST, "/start_weight_update", _said({"message": "Weight update started"}), _dev(V0_24)),
    Route(POST, "/start_draft_weight_update", _said({"message": "Draft weight update started"}), _dev(V0_28)),
    Route(POST, "/update_weights", needs("update_info", "Weights updated"), _dev(V0_16)),
    Route(POST, "/finish_weight_update", finish_weight_update, _dev(V0_24)),
    Route(POST, "/update_weight_version", update_weight_version, _dev(V0_28)),
    Route(GET, "/weight_info", weight_info, _dev(V0_28)),
    Route(POST, "/abort_requests", abort_requests, _dev(V0_28)),
    Route(POST, "/abort_requests", abort_by_ids, tokens_only),
    Route(POST, "/inference/v1/abort_requests", abort_by_ids, scale_out),
    Route(POST, "/v1/load_lora_adapter", load_lora, _lora),
    Route(POST, "/v1/unload_lora_adapter", unload_lora, _lora),
)

__all__ = ["DEV_ROUTES", "weight_version"]
