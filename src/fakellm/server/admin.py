"""The admin API under ``/_fakellm/``: journal, truth, near misses, scenarios, reset. Never needed through a gateway.

Who may call it is ``guard.py``'s business. Every answer is JSON; an unknown thing is a 404 that says what there is.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final, cast

import orjson
from aiohttp import web

from .. import __version__
from ..beside import strips
from ..errors import FakellmError, UsageError, did_you_mean
from ..fake import Fake
from ..house import House
from .guard import Handler, guarded, json_answer
from .inspector import add_inspector
from .openapi import describe

PREFIX = "/_fakellm"
HOUSE: Final = web.AppKey("house", House)


def add_admin(app: web.Application, house: House, token: str | None) -> None:
    """Put the admin routes before everything else of this application. ``token`` None = none is asked for."""
    app[HOUSE] = house
    for method, path, handler in ROUTES:
        app.router.add_route(method, PREFIX + path, guarded(told(handler), token))
    add_inspector(app, PREFIX)
    app.router.add_route("*", PREFIX + "/{rest:.*}", guarded(_unknown, token))


def told(handler: Handler) -> Handler:
    """The handler with its errors as JSON."""

    async def telling(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except FakellmError as problem:
            return json_answer({"error": problem.message, "where": problem.where, "hint": problem.hint}, 400)
        except web.HTTPException as refusal:
            return json_answer({"error": refusal.text or refusal.reason}, refusal.status)
        except Exception as broken:  # noqa: BLE001 - a defect of ours is told, not shown as a traceback
            return json_answer({"error": f"fakellm broke down: {type(broken).__name__}: {broken}"}, 500)

    return telling


def _fake(request: web.Request) -> Fake:
    return request.app[HOUSE].fake


async def _health(request: web.Request) -> web.StreamResponse:
    """Whether it answers, how many exchanges there were, and how many a journal file did not take (and why)."""
    journal = _fake(request).journal
    lost = {"unwritten": journal.unwritten, "why": journal.unwritten_why} if journal.unwritten else {}
    return json_answer({"status": "ok", "exchanges": journal.total, "unmatched": journal.unmatched, **lost})


async def _version(request: web.Request) -> web.StreamResponse:
    """fakellm's own version."""
    return json_answer({"version": __version__})


async def _layouts(request: web.Request) -> web.StreamResponse:
    """Every layout: how it is known, where its values stand."""
    from ..layouts.listing import layout_rows

    return json_answer({"layouts": layout_rows()})


async def _faults(request: web.Request) -> web.StreamResponse:
    """Every fault with its parameters."""
    from ..faults.pages import catalogue

    return json_answer(catalogue())


async def _scenarios(request: web.Request) -> web.StreamResponse:
    """The loaded scenarios, and replies of each that are still to be played."""
    return json_answer({"scenarios": request.app[HOUSE].scenario_rows()})


async def _journal(request: web.Request) -> web.StreamResponse:
    """``since``: exchanges after that number; ``changed``: that began or ended from then on (seconds since 1970, as
    ``now`` of an answer before); ``limit``: only the newest so many."""
    fake = _fake(request)
    now = fake.now()
    changed, limit = _number(request, "changed"), int(_number(request, "limit"))
    shared = request.app[HOUSE].state.journal()
    if shared is not None:
        rows = [_line(row) for row in shared if changed_at(row) >= changed]
        return json_answer({"total": len(shared), "dropped": 0, "now": now, "shared": True, "exchanges": rows[-limit:]})
    journal, since = fake.journal, _number(request, "since")
    found = [one for one in journal if one.number > since and one.changed_at >= changed]
    rows = [exchange.summary() for exchange in found[-limit:]]
    return json_answer({"total": journal.total, "dropped": journal.dropped, "now": now, "exchanges": rows})


def _number(request: web.Request, name: str) -> float:
    """A number from 0 on out of the query; 0 where there is none."""
    try:
        return min(max(float(request.query.get(name, "0")), 0.0), 1e15)
    except ValueError:
        return 0.0


def changed_at(row: Mapping[str, Any]) -> float:
    """When an exchange last changed: its end, or its beginning."""
    ended = row.get("finished_ms") or row.get("disconnected_ms") or 0.0
    return float(row["at"]) + ended / 1000.0


def _line(row: Mapping[str, Any]) -> dict[str, Any]:
    """One line of the journal out of a whole entry."""
    return {name: value for name, value in row.items() if name not in ("request", "response", "ask", "truth")}


async def _exchange(request: web.Request) -> web.StreamResponse:
    """One exchange: request, answer, what was asked, the truth behind it. Secrets are blanked."""
    number = request.match_info["number"]
    for row in request.app[HOUSE].state.journal() or ():
        if str(row.get("number")) == number:
            return json_answer(row)
    exchange = _fake(request).journal.number(int(number)) if number.isdigit() else None
    if exchange is None:
        return json_answer({"error": f"the journal has no exchange {number}", "kept": len(_fake(request).journal)}, 404)
    return json_answer(exchange.detail())


async def _beside(request: web.Request) -> web.StreamResponse:
    """Alignment strips of one exchange: the truth beside what was sent."""
    number = request.match_info["number"]
    if request.app[
        HOUSE
    ].state.publishes:  # numbers are those of the shared journal, and the truth lives in one replica
        return json_answer({"error": "a journal that is shared keeps no strips; its entries hold truth and bytes"}, 404)
    exchange = _fake(request).journal.number(int(number)) if number.isdigit() else None
    if exchange is None:
        return json_answer({"error": f"the journal has no exchange {number}"}, 404)
    return json_answer({"number": exchange.number, "strips": strips(exchange)})


async def _truth(request: web.Request) -> web.StreamResponse:
    """The truth behind the answer that shows this id."""
    wanted = request.match_info["response_id"]
    exchange = _fake(request).journal.by_response_id(wanted)
    played = exchange.behind() if exchange is not None else None
    if exchange is None or played is None:
        return json_answer({"error": f"no answer in the journal shows the id {wanted!r}"}, 404)
    truth = [generation.to_truth() for generation in played.generations]
    return json_answer({"number": exchange.number, "response_id": wanted, "truth": truth})


async def _near_misses(request: web.Request) -> web.StreamResponse:
    """Requests that found no reply, and the replies that came closest."""
    rows = [
        {"number": exchange.number, "path": exchange.request.path, "answer": orjson.loads(exchange.body or b"null")}
        for exchange in _fake(request).journal
        if exchange.unmatched
    ]
    return json_answer({"near_misses": rows})


async def _put_scenario(request: web.Request) -> web.StreamResponse:
    """Load a scenario under this name; the body is its YAML."""
    name = request.match_info["name"]
    request.app[HOUSE].put(name, await request.text())
    return json_answer({"scenario": name, "loaded": True})


async def _delete_scenario(request: web.Request) -> web.StreamResponse:
    """Unload a scenario."""
    name = request.match_info["name"]
    if not request.app[HOUSE].remove(name):
        return json_answer({"error": f"there is no scenario {name!r}"}, 404)
    return json_answer({"scenario": name, "loaded": False})


async def _arm_scenario(request: web.Request) -> web.StreamResponse:
    """Let this scenario answer what has no address, from the next request on."""
    name = request.match_info["name"]
    request.app[HOUSE].arm(name)
    return json_answer({"scenario": name, "default": True})


async def _arm_fault(request: web.Request) -> web.StreamResponse:
    """Play a fault on the next answers: ``fault``, ``times``, ``scenario``."""
    house = request.app[HOUSE]
    given = _body(await request.read(), ("fault", "times", "scenario"))
    if "fault" not in given:
        raise UsageError("the body names no fault", hint='for example {"fault": "late-eos-score", "times": 1}')
    scenario = given.get("scenario")
    if scenario is not None and scenario not in [row["name"] for row in house.scenario_rows()]:
        raise UsageError(f"there is no scenario {scenario!r}", where="scenario")
    armory = house.armory
    return json_answer({"armed": armory.row(armory.arm(given["fault"], given.get("times", 1), scenario))})


def _body(data: bytes, known: tuple[str, ...]) -> dict[str, Any]:
    try:
        body: Any = orjson.loads(data or b"{}")
    except ValueError as problem:
        raise UsageError(f"the body is not JSON: {problem}") from None
    if not isinstance(body, dict):
        raise UsageError("the body is a JSON object", hint=f"its members: {', '.join(known)}")
    given = cast(dict[str, Any], body)
    for name in given:
        if name not in known:
            raise UsageError(f"there is no {name!r}", hint=did_you_mean(name, known) or f"known: {', '.join(known)}")
    return given


async def _armed(request: web.Request) -> web.StreamResponse:
    """The faults that are armed now."""
    return json_answer({"armed": request.app[HOUSE].armory.rows()})


async def _disarm(request: web.Request) -> web.StreamResponse:
    """Take an armed fault back."""
    number = request.match_info["number"]
    if not (number.isdecimal() and request.app[HOUSE].armory.disarm(int(number))):
        return json_answer({"error": f"no fault is armed under the number {number}"}, 404)
    return json_answer({"number": int(number), "armed": False})


async def _reset(request: web.Request) -> web.StreamResponse:
    """Counters, ordinals and journal as freshly started; what was loaded stays."""
    request.app[HOUSE].reset()
    return json_answer({"reset": True})


async def _verdict(request: web.Request) -> web.StreamResponse:
    """Unmatched requests, replies that were to be played and were not, what could not be played; ``ok`` when none."""
    return json_answer(request.app[HOUSE].verdict())


async def _openapi(request: web.Request) -> web.StreamResponse:
    """What the fake serves, as OpenAPI; ``scenario``: the server of that one, under its own address."""
    house = request.app[HOUSE]
    name = request.query.get("scenario")
    stage = house.fake.default if name is None else house.fake.stages.get(name)
    if stage is None:
        return json_answer({"error": f"there is no scenario {name!r}"}, 404)
    admin = [(method, path, inspect.getdoc(handler) or "") for method, path, handler in ROUTES]
    return json_answer(describe(stage, admin, PREFIX, "" if name is None else f"/s/{name}"))


async def _unknown(request: web.Request) -> web.StreamResponse:
    known = sorted({f"{method} {PREFIX}{path}" for method, path, _ in ROUTES})
    return json_answer({"error": f"the admin API has no {request.method} {request.path}", "known": known}, 404)


ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/health", _health),
    ("GET", "/version", _version),
    ("GET", "/layouts", _layouts),
    ("GET", "/faults", _faults),
    ("GET", "/scenarios", _scenarios),
    ("GET", "/journal", _journal),
    ("GET", "/journal/{number}", _exchange),
    ("GET", "/journal/{number}/strips", _beside),
    ("GET", "/truth/{response_id}", _truth),
    ("GET", "/near-misses", _near_misses),
    ("GET", "/verdict", _verdict),
    ("GET", "/openapi.json", _openapi),
    ("PUT", "/scenarios/{name}", _put_scenario),
    ("DELETE", "/scenarios/{name}", _delete_scenario),
    ("POST", "/scenarios/{name}/arm", _arm_scenario),
    ("POST", "/faults/arm", _arm_fault),
    ("GET", "/faults/armed", _armed),
    ("DELETE", "/faults/armed/{number}", _disarm),
    ("POST", "/reset", _reset),
)
