"""Orders to the engine that RL clients send and that change nothing here: calls to every worker, elastic scaling.

``/collective_rpc`` exists with VLLM_SERVER_DEV_MODE=1 alone. No worker runs, so each answers null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ...ask import Request
from ...message import Rendering
from ..base import Context
from .api import Running
from .bodies import error_value, json_answer
from .invocations import invoke, json_body
from .route import Route

Parameters = Mapping[str, str]


def collective_rpc(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    """One null for each worker."""
    body = json_body(request)
    if isinstance(body, Rendering):
        return body
    if _member(body, "method") is None:
        return _bad("Missing 'method' in request body")
    workers = running.settings.tensor_parallel_size * running.settings.pipeline_parallel_size
    return json_answer({"results": [None] * workers})


def is_scaling(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    """Never: nothing takes time here."""
    return json_answer({"is_scaling_elastic_ep": False})


def scale(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    """Done at once, and without effect."""
    body = json_body(request)
    if isinstance(body, Rendering):
        return body
    wanted = _member(body, "new_data_parallel_size")
    if wanted is None:
        return _bad("new_data_parallel_size is required")
    if not isinstance(wanted, int) or wanted <= 0:
        return _bad("new_data_parallel_size must be a positive integer")
    return json_answer({"message": f"Scaled to {wanted} data parallel engines"})


def _member(body: Any, name: str) -> Any:
    return cast("dict[str, Any]", body).get(name) if isinstance(body, dict) else None


def _bad(text: str) -> Rendering:
    return json_answer(error_value(text, "Bad Request", None, 400), status=400)


ORDER_ROUTES = (
    Route(("POST",), "/invocations", invoke),
    Route(("POST",), "/collective_rpc", collective_rpc, lambda running: running.settings.dev_mode),
    Route(("POST",), "/is_scaling_elastic_ep", is_scaling),
    Route(("POST",), "/scale_elastic_ep", scale),
)
