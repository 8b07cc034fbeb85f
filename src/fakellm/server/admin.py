"""The admin API under ``/_fakellm/``: journal, truth, near misses, scenarios, reset. Never needed through a gateway.

Bound elsewhere than loopback it wants its own token (header ``x-fakellm-admin-token``, or as bearer). Every answer is
JSON; an unknown thing is a 404 that says what there is.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import orjson
from aiohttp import web

from .. import __version__
from ..errors import FakellmError
from ..fake import Fake
from ..house import House

PREFIX = "/_fakellm"
TOKEN_HEADER = "x-fakellm-admin-token"
HOUSE: Final = web.AppKey("house", House)

Answer = Awaitable[web.StreamResponse]


def add_admin(app: web.Application, house: House, token: str | None) -> None:
    """Put the admin routes before everything else of this application. ``token`` None = none is asked for."""
    app[HOUSE] = house
    for method, path, handler in ROUTES:
        app.router.add_route(method, PREFIX + path, wants_token(_guarded(handler), token))
    app.router.add_route("*", PREFIX + "/{rest:.*}", wants_token(_unknown, token))


def _guarded(handler: Callable[[web.Request], Answer]) -> Callable[[web.Request], Answer]:
    async def guarded(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except FakellmError as problem:
            return json_answer({"error": problem.message, "where": problem.where, "hint": problem.hint}, 400)
        except web.HTTPException:
            raise
        except Exception as broken:  # noqa: BLE001 - a defect of ours is told, not shown as a traceback
            return json_answer({"error": f"fakellm broke down: {type(broken).__name__}: {broken}"}, 500)

    return guarded


def wants_token(handler: Callable[[web.Request], Answer], token: str | None) -> Callable[[web.Request], Answer]:
    """The handler behind the admin token; None = none is asked for."""

    async def guarded(request: web.Request) -> web.StreamResponse:
        given = request.headers.get(TOKEN_HEADER) or request.headers.get("authorization", "").removeprefix("Bearer ")
        if token and not hmac.compare_digest(token.encode(), given.encode("utf-8", "replace")):
            return json_answer({"error": f"the admin API wants its token in {TOKEN_HEADER}"}, 401)
        return await handler(request)

    return guarded


def json_answer(value: Any, status: int = 200) -> web.Response:
    body = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    return web.Response(status=status, body=body, content_type="application/json")


def _fake(request: web.Request) -> Fake:
    return request.app[HOUSE].fake


async def _health(request: web.Request) -> web.StreamResponse:
    fake = _fake(request)
    return json_answer({"status": "ok", "exchanges": fake.journal.total, "unmatched": fake.journal.unmatched})


async def _version(request: web.Request) -> web.StreamResponse:
    return json_answer({"version": __version__})


async def _layouts(request: web.Request) -> web.StreamResponse:
    from ..layouts.listing import layout_rows

    return json_answer({"layouts": layout_rows()})


async def _faults(request: web.Request) -> web.StreamResponse:
    from ..faults.pages import catalogue

    return json_answer(catalogue())


async def _scenarios(request: web.Request) -> web.StreamResponse:
    return json_answer({"scenarios": request.app[HOUSE].scenario_rows()})


async def _journal(request: web.Request) -> web.StreamResponse:
    shared = request.app[HOUSE].state.journal()
    if shared is not None:
        return json_answer(
            {"total": len(shared), "dropped": 0, "shared": True, "exchanges": [_line(row) for row in shared]}
        )
    journal = _fake(request).journal
    since = int(request.query.get("since", "0") or 0) if request.query.get("since", "0").isdigit() else 0
    rows = [exchange.summary() for exchange in journal if exchange.number > since]
    return json_answer({"total": journal.total, "dropped": journal.dropped, "exchanges": rows})


def _line(row: Mapping[str, Any]) -> dict[str, Any]:
    """One line of the journal out of a whole entry."""
    return {name: value for name, value in row.items() if name not in ("request", "response", "ask", "truth")}


async def _exchange(request: web.Request) -> web.StreamResponse:
    number = request.match_info["number"]
    for row in request.app[HOUSE].state.journal() or ():
        if str(row.get("number")) == number:
            return json_answer(row)
    exchange = _fake(request).journal.number(int(number)) if number.isdigit() else None
    if exchange is None:
        return json_answer({"error": f"the journal has no exchange {number}", "kept": len(_fake(request).journal)}, 404)
    return json_answer(exchange.detail())


async def _truth(request: web.Request) -> web.StreamResponse:
    wanted = request.match_info["response_id"]
    exchange = _fake(request).journal.by_response_id(wanted)
    played = exchange.behind() if exchange is not None else None
    if exchange is None or played is None:
        return json_answer({"error": f"no answer in the journal shows the id {wanted!r}"}, 404)
    truth = [generation.to_truth() for generation in played.generations]
    return json_answer({"number": exchange.number, "response_id": wanted, "truth": truth})


async def _near_misses(request: web.Request) -> web.StreamResponse:
    rows = [
        {"number": exchange.number, "path": exchange.request.path, "answer": orjson.loads(exchange.body or b"null")}
        for exchange in _fake(request).journal
        if exchange.unmatched
    ]
    return json_answer({"near_misses": rows})


async def _put_scenario(request: web.Request) -> web.StreamResponse:
    name = request.match_info["name"]
    request.app[HOUSE].put(name, await request.text())
    return json_answer({"scenario": name, "loaded": True})


async def _delete_scenario(request: web.Request) -> web.StreamResponse:
    name = request.match_info["name"]
    if not request.app[HOUSE].remove(name):
        return json_answer({"error": f"there is no scenario {name!r}"}, 404)
    return json_answer({"scenario": name, "loaded": False})


async def _reset(request: web.Request) -> web.StreamResponse:
    request.app[HOUSE].reset()
    return json_answer({"reset": True})


async def _verdict(request: web.Request) -> web.StreamResponse:
    return json_answer(request.app[HOUSE].verdict())


async def _unknown(request: web.Request) -> web.StreamResponse:
    known = sorted({f"{method} {PREFIX}{path}" for method, path, _ in ROUTES})
    return json_answer({"error": f"the admin API has no {request.method} {request.path}", "known": known}, 404)


ROUTES: tuple[tuple[str, str, Callable[[web.Request], Answer]], ...] = (
    ("GET", "/health", _health),
    ("GET", "/version", _version),
    ("GET", "/layouts", _layouts),
    ("GET", "/faults", _faults),
    ("GET", "/scenarios", _scenarios),
    ("GET", "/journal", _journal),
    ("GET", "/journal/{number}", _exchange),
    ("GET", "/truth/{response_id}", _truth),
    ("GET", "/near-misses", _near_misses),
    ("GET", "/verdict", _verdict),
    ("PUT", "/scenarios/{name}", _put_scenario),
    ("DELETE", "/scenarios/{name}", _delete_scenario),
    ("POST", "/reset", _reset),
)
