"""SGLang's routes: path and method to handler, with what the version has and who may come in.

``find`` gives the handler of a request, or one that says 401, 404 or 405. Knows no body and no answer but these three.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ...ask import Request
from ...message import Rendering
from . import answers
from .control import CONTROL
from .engine_routes import ENGINE
from .orders import ORDERS
from .route import Handler, Route, versions
from .texts import TEXTS
from .traits import Span, Traits
from .unfit import UNFIT
from .weights import WEIGHTS

if TYPE_CHECKING:
    from .station import SglangStation

ROUTES: Mapping[str, Route] = {**ENGINE, **CONTROL, **ORDERS, **WEIGHTS, **UNFIT, **TEXTS}
"""Every path; one that ends in ``/*`` takes the rest of the path as the query member ``argument``."""


LEFT_OUT: tuple[tuple[str, Span | None, str], ...] = (
    ("/v1/audio/transcriptions", versions(10), "speech models"),
    ("/v1/realtime", versions(13), "speech models, by WebSocket"),
    ("/v1/decisions", versions(23), "decision models"),
    ("/v1/systemone", versions(23), "decision models"),
    ("/generate_from_file", versions(0, 7), "prompts as embeddings, which no token ids stand for"),
    ("/add_external_corpus", versions(12), "speculative decoding from a corpus, which changes no answer"),
    ("/remove_external_corpus", versions(12), "speculative decoding from a corpus, which changes no answer"),
    ("/list_external_corpora", versions(12), "speculative decoding from a corpus, which changes no answer"),
    ("/scale_elastic_ep", versions(17), "experts on many cards"),
    ("/dumper/{method}", versions(9), "debugging; SGLang has it only under DUMPER_SERVER_PORT=reuse"),
)
"""Paths of SGLang's HTTP server that are answered by 404 here: path, versions, what they are for."""


def held(traits: Traits) -> tuple[str, ...]:
    """The paths that a version answers."""
    return tuple(sorted(path for path, route in ROUTES.items() if route.held_by(traits)))


def left_out(traits: Traits) -> dict[str, str]:
    """What the real server of a version answers besides, and why not here."""
    return {path: why for path, span, why in LEFT_OUT if span is None or span.holds(traits.version)}


def find(request: Request, station: SglangStation) -> tuple[Handler, Request]:
    """The handler of a request, and the request as it wants it."""
    path = request.path.rstrip("/") or "/"
    route, argument = _route(path)
    if route is None or not route.held_by(station.traits):
        denied = _denied(request, "api", station)
        return _saying(denied or answers.detail(404, "Not Found")), request
    denied = _denied(request, route.access, station)
    if denied is not None:
        return _saying(denied), request
    methods = route.methods_of(station.traits)
    if request.method not in methods:
        return _saying(answers.not_allowed(route.allowed or methods)), request
    if argument is not None:
        request = replace(request, query={**request.query, "argument": argument})
    return route.handler, replace(request, path=path)


def _saying(answer: Rendering) -> Handler:
    return lambda request, station, context: answer


def _route(path: str) -> tuple[Route | None, str | None]:
    """The route of a path, with the rest of the path where a route takes one."""
    if path in ROUTES:
        return ROUTES[path], None
    for prefix, route in ROUTES.items():
        if prefix.endswith("/*") and path.startswith(prefix[:-1]):
            return route, path[len(prefix) - 1 :]
    return None, None


def _denied(request: Request, access: str, station: SglangStation) -> Rendering | None:
    """401 without the key that the route wants: the admin's, where there is one, for control routes, else the key."""
    settings = station.settings
    if access == "open" or request.method == "OPTIONS":
        return None
    wanted = settings.admin_api_key if access == "admin" and settings.admin_api_key else settings.api_key
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if not wanted or (scheme.lower() == "bearer" and given == wanted):
        return None
    return answers.json_answer({"error": "Unauthorized"}, 401)
