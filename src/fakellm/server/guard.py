"""Who may speak to the admin API: whoever has its token, or, on loopback without one, this machine's own programs.

Without a token a web page must not get in: a page of somebody else's in the developer's browser can send requests to
loopback, and by DNS rebinding read the answers. So the ``Host`` must be a loopback name, and an ``Origin``, which
browsers add, must be the API's own.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from aiohttp import web

TOKEN_HEADER = "x-fakellm-admin-token"
PASSED_ON = (TOKEN_HEADER, "authorization", "host", "origin")
"""Headers that a worker hands on to the admin process, which decides by them."""

Answer = Awaitable[web.StreamResponse]
Handler = Callable[[web.Request], Answer]


def json_answer(value: Any, status: int = 200) -> web.Response:
    body = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    return web.Response(
        status=status, body=body, content_type="application/json", headers={"cache-control": "no-store"}
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def guarded(handler: Handler, token: str | None) -> Handler:
    """The handler behind the admin token; ``token`` None = behind the checks of the module's paragraph."""

    async def checked(request: web.Request) -> web.StreamResponse:
        refusal = foreign(request) if token is None else _wrong_token(request, token)
        return refusal if refusal is not None else await handler(request)

    return checked


def foreign(request: web.Request) -> web.Response | None:
    """The refusal of a request that did not come from this machine's own programs and pages, or None."""
    host = request.headers.get("host", "")
    if host and not is_loopback(_name(host)):  # browsers always send one
        words = f"the admin API is called by a loopback name such as 127.0.0.1 or localhost, not by {host[:200]!r}"
        return json_answer({"error": words, "hint": "give the server an --admin-token to call it by other names"}, 403)
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2].lower() != host.lower():
        return json_answer({"error": f"pages of {origin[:200]!r} may not call the admin API"}, 403)
    return None


def _name(host: str) -> str:
    """A host header without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def _wrong_token(request: web.Request, token: str) -> web.Response | None:
    given = request.headers.get(TOKEN_HEADER) or request.headers.get("authorization", "").removeprefix("Bearer ")
    if hmac.compare_digest(token.encode(), given.encode("utf-8", "replace")):
        return None
    return json_answer({"error": f"the admin API wants its token in {TOKEN_HEADER}"}, 401)
