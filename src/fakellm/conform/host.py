"""The fake as the suite runs it: one loopback server in this process, one stage per case, addressed by token.

``mount`` puts a case under ``/c/TOKEN``; ``exchanges`` gives what came in there. Everything lives on the caller's event
loop, so nothing is shared between threads. Needs aiohttp, imported when the host starts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import LayoutError
from ..fake import Fake
from ..journal import Exchange, Journal
from ..layouts import registry
from ..stage import Stage
from .. import tokenizer as tokenizers
from ..tokenizer import Tokenizer
from .case import AUTO, Case

SETTLE_SECONDS = 2.0
"""How long an exchange may take to end after the client has answered: a stall lasts at most 1 s."""
StageBuilder = Callable[[str, Mapping[str, Any], int], Stage]
"""(name, scenario as a mapping, seed) -> a stage ready to play it."""


class Host:
    """Start it with ``async with``; then mount, run, unmount."""

    def __init__(self, build: StageBuilder, *, seed: int = 0, host: str = "127.0.0.1") -> None:
        self.tokenizer: Tokenizer = tokenizers.load()
        self.seed = seed
        self.root_url = ""
        self._build = build
        self._bind = host
        self._runner: Any = None
        self._fake: Fake | None = None

    async def __aenter__(self) -> Host:
        from aiohttp import web

        from ..server.app import make_app

        default = self._build("conform-default", {"replies": [{"say": AUTO}]}, self.seed)
        self._fake = Fake({}, default, now=time.time, journal=Journal(max_exchanges=10_000))
        self._runner = web.AppRunner(make_app(self._fake), access_log=None, handle_signals=False)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._bind, 0, shutdown_timeout=0.5)
        await site.start()
        port = self._runner.addresses[0][1]
        self.root_url = f"http://{self._bind}:{port}"
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._runner.cleanup()

    @property
    def fake(self) -> Fake:
        assert self._fake is not None
        return self._fake

    def mount(self, token: str, case: Case) -> None:
        """Play the case's scenario under ``/c/TOKEN`` until ``unmount``."""
        self.fake.mount(token, self._build(token, case.scenario, self.seed))

    def unmount(self, token: str) -> None:
        self.fake.unmount(token)

    def exchanges(self, token: str) -> Sequence[Exchange]:
        """What came in under this token so far, in order."""
        return self.fake.journal.by_token(token)

    async def settled(self, token: str, seen: int = 0) -> Sequence[Exchange]:
        """The exchanges after the first ``seen``, once all of them have ended (or the patience has)."""
        end = time.monotonic() + SETTLE_SECONDS
        while True:
            exchanges = self.exchanges(token)[seen:]
            open_ = [one for one in exchanges if one.finished_ms is None and one.disconnected_ms is None]
            if not open_ or time.monotonic() > end:
                return exchanges
            await asyncio.sleep(0.002)

    def plays(self, case: Case) -> str | None:
        """None when every fault of the case applies to its call there, else why not."""
        return None

    def accessors(self, layout: str, api: str, stream: bool) -> Sequence[Any]:
        """The layout's accessor rows for an api and mode; empty when it does not serve them."""
        return registry.find(layout).layout.accessors.get((api, stream), ())


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


def scenario_stage(name: str, scenario: Mapping[str, Any], seed: int) -> Stage:
    from ..generation import Choice, Generation, Token
    from ..layouts.base import Launch
    from ..stage import Reply
    from ..capture import float32
    tok = tokenizers.load()
    layout = registry.find(scenario.get("server", {}).get("layout") or "vllm").layout
    replies = scenario["replies"]
    class S:
        def reply(self, ask):
            def gen(a):
                out=[]
                for pi, pr in enumerate(a.prompts):
                    chs=[]
                    for c in range(a.n):
                        ids = list(tok.encode(f"Hello, world number {c}!"))+[tok.eos_ids[0]]
                        chs.append(Choice(tuple(Token(i, tok.piece(i), float32(-0.1-0.01*k-0.3*c), 1) for k,i in enumerate(ids))))
                    out.append(Generation(pr.token_ids, tuple(chs)))
                return tuple(out)
            return Reply(gen, tuple(replies[0].get("faults", ())))
    return Stage(name, layout, layout.start(Launch(tokenizer=tok, max_model_len=32768)), S(), now=time.time, seed=seed)
