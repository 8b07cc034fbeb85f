"""Starting and stopping a server: bind, print the readiness line, drain on SIGTERM or SIGINT.

``serving`` is the asynchronous context that tests and the pytest plugin use too; ``run_forever`` is what the command
line calls. The readiness line is the first line on stdout (DESIGN section 6).
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from aiohttp import web

from ..errors import UsageError
from ..house import House
from .admin import add_admin
from .app import MAX_BODY_BYTES, MAX_REQUESTS_IN_FLIGHT, make_app
from .direct import MAX_BODY, Desk
from .listen import BACKLOG, Listener
from .trouble import LOGGER, install

DRAIN_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Bound:
    """Where a server listens. ``port`` 0 = any free one; ``admin_port`` None = the admin API shares the port."""

    host: str = "127.0.0.1"
    port: int = 0
    admin_port: int | None = None
    admin_token: str | None = None
    max_body_bytes: int = MAX_BODY_BYTES
    max_in_flight: int = MAX_REQUESTS_IN_FLIGHT


@dataclass(frozen=True, slots=True)
class Listening:
    """A server that accepts. ``url`` is the root (no ``/v1``)."""

    url: str
    admin_url: str

    def line(self) -> str:
        """The readiness line."""
        return json.dumps({"event": "listening", "url": self.url, "admin_url": self.admin_url, "pid": os.getpid()})


def bound_socket(host: str, port: int) -> socket.socket:
    """A bound socket; raises UsageError when the port is taken or the address is not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except (OSError, OverflowError) as problem:
        bound.close()
        words = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise UsageError(
            f"cannot listen on {host}:{port}: {words}", hint="choose another --port, or 0 for any free one"
        ) from None
    return bound


def url_of(host: str, bound: socket.socket) -> str:
    shown = host if host not in ("0.0.0.0", "::", "") else "127.0.0.1"
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{bound.getsockname()[1]}"


@contextlib.asynccontextmanager
async def serving(
    house: House,
    bound: Bound = Bound(),
    accepting: socket.socket | None = None,
    app: web.Application | None = None,
    quick: bool = True,
) -> AsyncGenerator[Listening, None]:
    """A server for as long as the context lasts; on leaving, answers in flight get ``DRAIN_SECONDS`` to end.

    ``accepting``: a bound socket that is already there (workers share one); ``app``: what it serves, if not the usual;
    ``quick``: plain requests go straight to the house's fake (``direct.py``).
    """
    main_socket = accepting or bound_socket(bound.host, bound.port)
    admin_socket: socket.socket | None = None
    app = app or (
        make_app_with_admin(house, bound)
        if bound.admin_port is None
        else make_app(house.fake, max_body_bytes=bound.max_body_bytes, max_in_flight=bound.max_in_flight)
    )
    runners = [_runner(app)]
    listener: Listener | None = None
    try:
        if bound.admin_port is not None:
            admin_socket = bound_socket(bound.host, bound.admin_port)
            admin_app = web.Application()
            add_admin(admin_app, house, bound.admin_token)
            runners.append(_runner(admin_app))
        for runner in runners:
            await runner.setup()
        if admin_socket is not None:
            await web.SockSite(runners[1], admin_socket, backlog=BACKLOG).start()
        if quick:
            listener = Listener(_desk(house, bound, runners[0]))
            await listener.start(main_socket)
        else:
            await web.SockSite(runners[0], main_socket, backlog=BACKLOG).start()
        url = url_of(bound.host, main_socket)
        yield Listening(url, (url_of(bound.host, admin_socket) if admin_socket else url) + "/_fakellm")
    finally:
        if listener is not None:
            await listener.stop(DRAIN_SECONDS)
        for runner in runners:
            await runner.cleanup()
        for opened in (main_socket, admin_socket):
            if opened is not None:
                opened.close()


def make_app_with_admin(house: House, bound: Bound = Bound()) -> web.Application:
    """One application with everything: the fake, and the admin API under ``/_fakellm/``."""
    app = web.Application(client_max_size=bound.max_body_bytes)
    add_admin(app, house, bound.admin_token)
    return make_app(house.fake, into=app, max_in_flight=bound.max_in_flight)


def _desk(house: House, bound: Bound, runner: web.AppRunner) -> Desk:
    server = runner.server
    assert server is not None
    return Desk(house.fake, bound.max_in_flight, server, max_body=min(MAX_BODY, bound.max_body_bytes))


def _runner(app: web.Application) -> web.AppRunner:
    """Compressed bodies stay as they are, as with the servers that are played: none of them unpacks a body, and none of
    ours can be made to unpack gigabytes."""
    return web.AppRunner(
        app,
        access_log=None,
        handler_cancellation=True,
        shutdown_timeout=DRAIN_SECONDS,
        keepalive_timeout=75.0,
        logger=LOGGER,
        auto_decompress=False,
    )


async def until_signal(alive: int | None = None) -> None:
    """Wait for SIGTERM or SIGINT. ``alive``: the reading end of a pipe whose writing end lives as long as whoever
    started this process; when that is killed, wait no longer."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    if alive is not None:
        loop.add_reader(alive, stop.set)
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # Windows: a plain handler, which the loop wakes up for
            signal.signal(number, lambda number, frame: loop.call_soon_threadsafe(stop.set))
    await stop.wait()
    if alive is not None:
        loop.remove_reader(alive)


def run_forever(house: House, bound: Bound) -> None:
    """Serve until SIGTERM or SIGINT; the readiness line goes to stdout."""

    async def main() -> None:
        async with serving(house, bound) as listening:
            sys.stdout.write(listening.line() + "\n")
            sys.stdout.flush()
            await until_signal()

    run_loop(main())


def run_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run a server's main coroutine on the fastest loop that is there.

    What was loaded by now lives as long as the process: the collector need not look at it again and again. Nor need it
    come every few requests (an answer to a new prompt makes hundreds of objects, none of them in a cycle): looking
    after 20,000 instead of 700 took a sixth off such an answer.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    with asyncio.Runner(loop_factory=_fast_loop()) as runner:
        install(runner.get_loop())
        runner.run(main)


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's event loop where the extra ``fast`` is installed, else the stock one."""
    try:
        uvloop = import_module("uvloop")
    except ImportError:
        return None
    return uvloop.new_event_loop
