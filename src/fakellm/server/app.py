"""The aiohttp application: every path goes to the Fake, ``/_fakellm/`` to the admin API.

One process, one event loop. A client that goes away is noticed and written into the journal; bodies are limited.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Final

from aiohttp import web

from ..ask import Request
from ..fake import Fake
from ..message import Wire
from ..problem import problem_wire
from .send import Gone, send

MAX_BODY_BYTES = 32 * 1024 * 1024
MAX_REQUESTS_IN_FLIGHT = 20_000
"""Beyond this a request is told so at once instead of waiting behind all others."""
FAKE: Final = web.AppKey("fake", Fake)
MAX_IN_FLIGHT: Final = web.AppKey("max_in_flight", int)


def make_app(
    fake: Fake,
    *,
    max_body_bytes: int = MAX_BODY_BYTES,
    max_in_flight: int = MAX_REQUESTS_IN_FLIGHT,
    into: web.Application | None = None,
) -> web.Application:
    """An application that serves this fake; ``into``: add to this one, after the routes it has. Larger bodies are
    answered 413, requests beyond ``max_in_flight`` 429."""
    app = into if into is not None else web.Application(client_max_size=max_body_bytes)
    app[FAKE] = fake
    app[MAX_IN_FLIGHT] = max_in_flight
    app.router.add_route("*", "/{path:.*}", handle)
    return app


async def read(request: web.Request) -> Request:
    """Our own view of an aiohttp request; raises HTTPRequestEntityTooLarge beyond the limit."""
    return Request(
        method=request.method,
        path=request.path,
        query=dict(request.query) if request.query_string else {},
        headers={name.lower(): value for name, value in request.headers.items()},
        body=await request.read() if request.body_exists else b"",
        pairs=tuple(request.query.items()) if request.query_string else (),
    )


async def handle(request: web.Request) -> web.StreamResponse:
    """Answer one request and keep its record."""
    fake = request.app[FAKE]
    loop = asyncio.get_running_loop()
    started = loop.time()
    try:
        heard = await read(request)
    except web.HTTPRequestEntityTooLarge:
        limit = request.app._client_max_size  # pyright: ignore[reportPrivateUsage]
        return _plain(problem_wire(413, f"the body is larger than {limit} bytes", "body_too_large"))
    if fake.in_flight >= request.app[MAX_IN_FLIGHT]:
        return _plain(busy_wire(fake.in_flight))
    answer, exchange = fake.answer(heard)
    try:
        response = await send(request, answer.wire, partial(fake.departs, answer, exchange))
    except Gone as gone:
        exchange.sent_bytes = gone.sent
        exchange.disconnected_ms = (loop.time() - started) * 1000.0
        fake.ended(exchange, None)
        if isinstance(gone.__cause__, asyncio.CancelledError):
            raise gone.__cause__ from None
        return web.Response(status=499)
    except asyncio.CancelledError:
        exchange.sent_bytes = 0
        exchange.disconnected_ms = (loop.time() - started) * 1000.0
        fake.ended(exchange, None)
        raise
    fake.ended(exchange, (loop.time() - started) * 1000.0)
    return response


def busy_wire(in_flight: int) -> Wire:
    """The answer to one request too many."""
    wire = problem_wire(429, f"{in_flight} requests are in flight, which is as many as this server takes", "overloaded")
    return replace(wire, headers=(*wire.headers, ("retry-after", "1")))


def _plain(wire: Wire) -> web.Response:
    response = web.Response(status=wire.status, body=b"".join(frame.data for frame in wire.frames))
    for name, value in wire.headers:
        response.headers[name] = value
    return response
