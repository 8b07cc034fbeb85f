"""The fake as the suite runs it: one loopback server in this process, one stage per case, addressed by token.

``mount`` puts a case under ``/c/TOKEN``; ``exchanges`` gives what came in there. Everything lives on the caller's event
loop, so nothing is shared between threads. Needs aiohttp, imported when the host starts.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from ..ask import Ask, Request
from ..context import RequestContext, SeededIds
from ..errors import FakellmError, LayoutError, UsageError
from ..fake import Fake
from ..faults.registry import FaultCall
from ..faults.registry import parse as parse_fault
from ..house import Choices, House
from ..journal import Exchange, Journal
from ..layouts import registry
from ..layouts.base import Accessor, Layout
from ..scenario.load import from_data
from ..scenario.model import ServerSettings
from ..scenario.plain import plain_auto
from ..tokenizer import Tokenizer
from . import globs
from .case import Case
from .request import MODEL, PATHS, Body, body_of

SETTLE_SECONDS = 2.0
"""How long an exchange may take to end after the client has answered: a stall lasts at most 1 s."""

LAUNCH: Mapping[tuple[str, str, tuple[int, ...]], Mapping[str, Any]] = {
    ("vllm", "tito", (0, 32)): {"enable-scale-out": True}
}
"""(vendor, API, from this version on) -> the options without which the server answers no such call."""

OTHER_CALLS = frozenset({("lmdeploy", "generate")})
"""(vendor, API) whose path is one that cases call, and whose bodies are others: they stay uncalled."""

KEPT_EXCHANGES = 256
"""An exchange is read when its case ends; so many may be open at once at most (``max_parallel``)."""


class Host:
    """Start it with ``async with``; then mount, run, unmount. ``layout``: what answers when no case is played, such as
    a gateway that asks its worker who it is before it is ready (None = the newest vLLM)."""

    def __init__(self, *, seed: int = 0, host: str = "127.0.0.1", port: int = 0, layout: str | None = None) -> None:
        self.seed = seed
        self.root_url = ""
        idle = plain_auto() if layout is None else replace(plain_auto(), server=ServerSettings(layout=layout))
        self.house = House({}, idle, Choices(seed=seed, plans=False))
        self.house.fake.journal = Journal(max_exchanges=KEPT_EXCHANGES)
        self.tokenizer: Tokenizer = self.house.tokenizer(None)
        self._bind = host
        self._port = port
        self._unaddressed = self.house.fake.default
        self._runner: Any = None
        self._layouts: dict[str, Layout] = {}

    async def __aenter__(self) -> Host:
        from aiohttp import web

        from ..server.app import make_app

        app = make_app(self.fake)
        self._runner = web.AppRunner(
            app, access_log=None, handle_signals=False, handler_cancellation=True, auto_decompress=False
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._bind, self._port)
        try:
            await site.start()
        except OSError as failure:
            await self._runner.cleanup()
            raise UsageError(f"cannot listen on {self._bind}:{self._port}: {failure.strerror or failure}") from None
        self.port: int = self._runner.addresses[0][1]
        self.root_url = f"http://{'127.0.0.1' if self._bind == '0.0.0.0' else self._bind}:{self.port}"
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._runner.cleanup()

    @property
    def fake(self) -> Fake:
        return self.house.fake

    def mount(self, token: str, case: Case) -> None:
        """Play the case's scenario under ``/c/TOKEN`` until ``unmount``.

        ``plays`` has seen that every fault applies to the call as it was asked for; where a client sends another one
        (it omits the flag for ids), what does not apply is left out, so that the mistake is told as the client's own.
        """
        scenario = from_data(self._started(case), scenario_name(case), read_fault=_where_it_applies)
        self.fake.mount(token, self.house.stage(scenario))

    def unmount(self, token: str) -> None:
        self.fake.unmount(token)

    def play(self, case: Case | None) -> int:
        """Play the case for every request without an address (a gateway forwards to one fixed root); None = as before.
        Gives the number of the last exchange so far, for ``arrived``."""
        stage = self._unaddressed
        if case is not None:
            scenario = from_data(self._started(case), scenario_name(case), read_fault=_where_it_applies)
            stage = self.house.stage(scenario)
        self.fake.default = stage
        return self.fake.journal.total

    async def arrived(self, after: int) -> Sequence[Exchange]:
        """The unaddressed exchanges after that number, once all of them have ended (or the patience has)."""
        return await self._ended(lambda: [one for one in self.fake.journal if one.token is None and one.number > after])

    def exchanges(self, token: str) -> Sequence[Exchange]:
        """What came in under this token so far, in order."""
        return self.fake.journal.by_token(token)

    async def settled(self, token: str, seen: int = 0) -> Sequence[Exchange]:
        """The exchanges after the first ``seen``, once all of them have ended (or the patience has)."""
        return await self._ended(lambda: self.exchanges(token)[seen:])

    async def _ended(self, look: Callable[[], Sequence[Exchange]]) -> Sequence[Exchange]:
        end = time.monotonic() + SETTLE_SECONDS
        while True:
            exchanges = look()
            open_ = [one for one in exchanges if one.finished_ms is None and one.disconnected_ms is None]
            if not open_ or time.monotonic() > end:
                return exchanges
            await asyncio.sleep(0.002)

    def body(self, case: Case, model: str | None = None) -> Body:
        """The request that the case's first call asks for. ``model``: the name that a gateway knows."""
        accessors = self.accessors(case.layout, case.api, case.stream)
        return body_of(case.call, case.api, case.stream, accessors, self.tokenizer.encode, model or MODEL)

    def plays(self, case: Case) -> str | None:
        """None when the layout takes the case's call and every one of its faults applies there, else why not."""
        if not case.faults:
            return None
        try:
            stage = self.house.stage(from_data(self._started(case), scenario_name(case), read_fault=parse_fault))
            context = RequestContext(time.time, SeededIds("plays"))
            body = orjson.dumps(self.body(case).body)
            headers = {"content-type": "application/json"}
            ask = stage.station.receive(Request("POST", PATHS[case.api], headers=headers, body=body), context)
            entries = [entry for reply in case.scenario["replies"] for entry in reply.get("faults", ())]
            reasons = [parse_fault(entry).fault.applies(ask, stage.layout) for entry in entries if isinstance(ask, Ask)]
        except FakellmError as problem:
            return str(problem)
        return next((reason for reason in reasons if reason is not None), None)

    def accessors(self, layout: str, api: str, stream: bool) -> Sequence[Accessor]:
        """The layout's accessor rows for an api and mode; empty when it does not serve them."""
        if layout not in self._layouts:
            self._layouts[layout] = registry.find(layout).layout
        return self._layouts[layout].accessors.get((api, stream), ())

    def _started(self, case: Case) -> Mapping[str, Any]:
        """The case's scenario with the launch options that its API needs beside the case's own."""
        layout = registry.find(case.layout).layout
        needed = {
            name: value
            for (vendor, api, since), options in LAUNCH.items()
            for name, value in options.items()
            if (vendor, api) == (layout.vendor, case.api) and layout.version >= since
        }
        return {**case.scenario, "server": {**needed, **case.scenario.get("server", {})}}

    def serves(self, layout: str, api: str, stream: bool) -> bool:
        """Whether the layout answers this api in this mode."""
        rows = self.accessors(layout, api, stream)
        return bool(rows) and (self._layouts[layout].vendor, api) not in OTHER_CALLS


def needed(layout: Layout, apis: Collection[str]) -> tuple[str, ...]:
    """The launch words without which a server of this layout does not answer these APIs."""
    rows = [options for (vendor, api, since), options in LAUNCH.items()
            if vendor == layout.vendor and api in apis and layout.version >= since]  # fmt: skip
    return tuple(f"--{name}" for options in rows for name, value in options.items() if value is True)


def _where_it_applies(entry: Any, where: str) -> FaultCall:
    return replace(parse_fault(entry, where), optional=True)


def scenario_name(case: Case) -> str:
    """The same for all variants of a case, so that a stream and a whole answer tell the same tokens."""
    return re.sub(r"[^a-z0-9]+", "-", globs.slug(case.id)).strip("-")


def built(layouts: Sequence[str]) -> list[str]:
    """Those of the named layouts that are there."""
    known = {layout.name for layout in registry.all_layouts()}
    return [name for name in layouts if name in known or _stands_in(name)]


def _stands_in(name: str) -> bool:
    try:
        registry.find(name)
    except LayoutError:
        return False
    return True
