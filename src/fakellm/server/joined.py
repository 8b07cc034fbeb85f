"""One admin view over several workers: ask all of them, join what they say; and the way there from each worker.

Numbers of exchanges become ``<worker>-<number>``. Knows the workers only by their private admin URLs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import ClientSession, ClientTimeout, web

from ..house import House
from .admin import PREFIX
from .app import make_app
from .guard import PASSED_ON, TOKEN_HEADER, guarded, json_answer
from .inspector import add_inspector
from .run import Bound

URLS: Final = web.AppKey("urls", list[str])
WORKER_TOKEN: Final = web.AppKey("worker_token", str)
TURN: Final = web.AppKey("turn", asyncio.Lock)
PATIENCE = ClientTimeout(total=10.0)
Row = dict[str, Any]


def forwarding_app(house: House, bound: Bound, admin_url: str | None) -> web.Application:
    """A worker's own application: the fake, and ``/_fakellm/`` handed on to the admin process."""
    app = web.Application(client_max_size=bound.max_body_bytes)
    if admin_url is not None:

        async def forward(request: web.Request) -> web.StreamResponse:
            headers = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
            async with (
                ClientSession(timeout=PATIENCE) as session,
                session.request(
                    request.method, admin_url + request.path_qs, data=await request.read(), headers=headers
                ) as answer,
            ):
                body = await answer.read()
                return web.Response(status=answer.status, body=body, content_type=answer.content_type)

        app.router.add_route("*", PREFIX + "/{rest:.*}", forward)
    return make_app(house.fake, into=app, max_in_flight=bound.max_in_flight)


def joined_app(house: House, urls: Sequence[str], worker_token: str, token: str | None) -> web.Application:
    """The admin process: every route of the admin API, over all workers."""
    app = web.Application()
    app[URLS] = list(urls)
    app[WORKER_TOKEN] = worker_token
    app[TURN] = asyncio.Lock()
    for method, path, handler in (
        ("GET", "/journal", _journal),
        ("GET", "/journal/{number}", _exchange),
        ("GET", "/health", _health),
        ("GET", "/verdict", _verdict),
        ("GET", "/near-misses", _near_misses),
        ("GET", "/journal/{number}/strips", _exchange),
        ("GET", "/truth/{response_id}", _first),
        ("POST", "/{rest:.*}", _everywhere),
        ("PUT", "/{rest:.*}", _everywhere),
        ("DELETE", "/{rest:.*}", _everywhere),
    ):
        app.router.add_route(method, PREFIX + path, guarded(handler, token))
    add_inspector(app, PREFIX)
    app.router.add_route("*", PREFIX + "/{rest:.*}", guarded(_any, token))
    return app


async def _ask(request: web.Request, path: str | None = None) -> list[tuple[int, Any]]:
    """The same call to every worker: (status, JSON) of each, in their order; a worker that is away gives 503."""
    body = await request.read()
    headers = {TOKEN_HEADER: request.app[WORKER_TOKEN]}

    async def one(url: str) -> tuple[int, Any]:
        try:
            async with session.request(
                request.method, url + (path or request.path_qs), data=body, headers=headers
            ) as got:
                return got.status, await got.json(content_type=None)
        except (TimeoutError, OSError, ValueError) as problem:
            return 503, {"error": f"a worker does not answer: {problem}"}

    async with ClientSession(timeout=PATIENCE) as session:
        return await asyncio.gather(*(one(url) for url in request.app[URLS]))


def _numbered(worker: int, row: Mapping[str, Any]) -> Row:
    return {**row, "number": f"{worker}-{row['number']}", "worker": worker}


async def _journal(request: web.Request) -> web.StreamResponse:
    answers = await _ask(request)
    rows = [
        _numbered(worker, row)
        for worker, (status, answer) in enumerate(answers)
        if status == 200
        for row in answer["exchanges"]
    ]
    rows.sort(key=lambda row: row["at"])
    limit = request.query.get("limit", "")
    rows = rows[-int(limit) :] if limit.isdecimal() else rows
    total = sum(answer.get("total", 0) for _, answer in answers)
    dropped = sum(answer.get("dropped", 0) for _, answer in answers)
    now = min((answer["now"] for status, answer in answers if status == 200), default=0.0)
    return json_answer({"total": total, "dropped": dropped, "now": now, "workers": len(answers), "exchanges": rows})


async def _exchange(request: web.Request) -> web.StreamResponse:
    worker, _, number = request.match_info["number"].partition("-")
    strips = "/strips" if request.path.endswith("/strips") else ""
    answers = await _ask(request, f"{PREFIX}/journal/{number}{strips}")
    if not worker.isdigit() or int(worker) >= len(answers):
        return json_answer({"error": f"no worker {worker!r}; numbers are <worker>-<number>"}, 404)
    status, answer = answers[int(worker)]
    return json_answer(_numbered(int(worker), answer) if status == 200 else answer, status)


async def _health(request: web.Request) -> web.StreamResponse:
    answers = await _ask(request)
    fine = all(status == 200 for status, _ in answers)
    sums = {name: sum(answer.get(name, 0) for _, answer in answers) for name in ("exchanges", "unmatched")}
    return json_answer({"status": "ok" if fine else "degraded", "workers": len(answers), **sums}, 200 if fine else 503)


async def _verdict(request: web.Request) -> web.StreamResponse:
    answers = [answer for status, answer in await _ask(request) if status == 200]
    exchanges = sum(answer["exchanges"] for answer in answers)
    unmatched = sum(answer["unmatched"] for answer in answers)
    unused: Any = answers[0]["unused"] if answers else {}  # counters are shared: every worker says the same
    problems = [problem for answer in answers for problem in answer["problems"]]
    ok = exchanges > 0 and not unmatched and not unused and not problems
    verdict = {"exchanges": exchanges, "unmatched": unmatched, "unused": unused, "problems": problems, "ok": ok}
    return json_answer(verdict)


async def _near_misses(request: web.Request) -> web.StreamResponse:
    rows = [
        _numbered(worker, row)
        for worker, (status, answer) in enumerate(await _ask(request))
        if status == 200
        for row in answer["near_misses"]
    ]
    return json_answer({"near_misses": rows})


async def _first(request: web.Request) -> web.StreamResponse:
    """The first worker that knows it."""
    answers = await _ask(request)
    status, answer = next((one for one in answers if one[0] == 200), answers[0])
    return json_answer(answer, status)


async def _everywhere(request: web.Request) -> web.StreamResponse:
    """All workers must agree; the first that does not is the answer. One change at a time, in one order everywhere."""
    async with request.app[TURN]:
        answers = await _ask(request)
    status, answer = next((one for one in answers if one[0] != 200), answers[0])
    return json_answer(answer, status)


async def _any(request: web.Request) -> web.StreamResponse:
    status, answer = (await _ask(request))[0]
    return json_answer(answer, status)
