"""What browsers ask before they send, and what answers tell them: vLLM's CORS, which 0.32 opens to no origin by itself.

Source: Starlette's CORSMiddleware with vLLM's arguments (all methods, all headers, no credentials).
"""

from __future__ import annotations

from dataclasses import replace

from ...ask import Request
from ...message import Message, Rendering
from .launch import Settings
from .options import V32
from .traits import Version

METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY")
_VARY = ", ".join(("Origin", *(f"Access-Control-Request-{name}" for name in ("Method", "Headers", "Private-Network"))))


def _origins(settings: Settings, version: Version) -> tuple[str, ...]:
    if settings.allowed_origins is not None:
        return settings.allowed_origins
    return () if version >= V32 else ("*",)


def preflight(request: Request, settings: Settings, version: Version) -> Rendering | None:
    """The answer to a browser that asks first, or None for any other request."""
    origin, method = request.headers.get("origin"), request.headers.get("access-control-request-method")
    if request.method != "OPTIONS" or origin is None or method is None:
        return None
    origins = _origins(settings, version)
    headers = {"vary": _VARY}
    if "*" in origins:
        headers["access-control-allow-origin"] = "*"
    headers.update({"access-control-allow-methods": ", ".join(METHODS), "access-control-max-age": "600"})
    failures = [] if "*" in origins or origin in origins else ["origin"]
    if origin in origins and "*" not in origins:
        headers["access-control-allow-origin"] = origin
    if method not in METHODS:
        failures.append("method")
    wanted = request.headers.get("access-control-request-headers")
    if wanted is not None:
        headers["access-control-allow-headers"] = wanted
    if "access-control-request-private-network" in request.headers:
        failures.append("private-network")
    text = f"Disallowed CORS {', '.join(failures)}" if failures else "OK"
    rows = (("server", "uvicorn"), *headers.items(), ("content-type", "text/plain; charset=utf-8"))
    return Rendering(400 if failures else 200, rows, (Message("body", text),))


def opened(rendering: Rendering, request: Request, settings: Settings, version: Version) -> Rendering:
    """An answer to a page of an origin that may read it."""
    origin = request.headers.get("origin")
    origins = _origins(settings, version)
    if origin is None or not ("*" in origins or origin in origins):
        return rendering
    told = "*" if "*" in origins else origin
    return replace(rendering, headers=(*rendering.headers, ("access-control-allow-origin", told)))
