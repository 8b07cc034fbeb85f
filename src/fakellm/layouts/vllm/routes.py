"""The table of routes that need no engine. The engine's own routes come from the APIs (``station.py``)."""

from __future__ import annotations

from .dev import DEV_ROUTES
from .messages import COUNT_ROUTES
from .orders import ORDER_ROUTES
from .renders import RENDER_ROUTES
from .responses import RESPONSE_ROUTES
from .route import Route
from .utility import (
    detokenize,
    health,
    kv_events,
    load,
    metrics,
    models,
    openapi,
    ping,
    tokenize,
    tokenizer_info,
    version,
)

ROUTES: tuple[Route, ...] = (
    Route(("GET",), "/health", health),
    Route(("GET", "POST"), "/ping", ping),
    Route(("GET",), "/load", load),
    Route(("GET",), "/version", version),
    Route(("GET",), "/metrics", metrics),
    Route(("GET",), "/openapi.json", openapi, lambda running: not running.settings.disable_fastapi_docs),
    Route(("GET",), "/v1/models", models),
    Route(("POST",), "/tokenize", tokenize),
    Route(("POST",), "/detokenize", detokenize),
    Route(("GET",), "/tokenizer_info", tokenizer_info, lambda running: running.settings.enable_tokenizer_info_endpoint),
    Route(("GET",), "/kv_event_sources", kv_events, lambda running: running.traits.version >= (0, 32, 0)),
    *RESPONSE_ROUTES,
    *COUNT_ROUTES,
    *DEV_ROUTES,
    *ORDER_ROUTES,
    *RENDER_ROUTES,
)
