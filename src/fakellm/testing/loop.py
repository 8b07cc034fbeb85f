"""A server in a background thread with an event loop of its own, so that blocking and asynchronous clients both reach
it.

One thread serves every handle of a test session; a :class:`Site` is one listening port on it. What is served is an
aiohttp application; this module knows nothing of scenarios.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import UsageError

if TYPE_CHECKING:
    from aiohttp import web

Value = TypeVar("Value")
PATIENCE_SECONDS = 30.0
"""No start or stop of a server takes longer, even on a machine that runs eight test workers."""


class LoopThread:
    """An event loop that runs in a daemon thread from the first ``call`` to ``stop``."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def call(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Run a coroutine on the loop and wait for what it gives."""
        return asyncio.run_coroutine_threadsafe(work, self._started()).result(PATIENCE_SECONDS)

    def stop(self) -> None:
        """End the loop and its thread; a stopped loop starts anew at the next ``call``."""
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_SECONDS)
        self._loop.close()
        self._loop = self._thread = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="fakellm", daemon=True)
            self._thread.start()
        return self._loop


class Site:
    """One listening port: ``url`` is the root."""

    def __init__(self, thread: LoopThread) -> None:
        self._thread = thread
        self._runner: web.AppRunner | None = None
        self.url = ""

    def start(self, app: web.Application, host: str = "127.0.0.1") -> str:
        """Listen on a free port and give the root URL."""
        self.url = self._thread.call(self._start(app, host))
        return self.url

    def stop(self) -> None:
        """Close the port; answers in flight are cut, whatever they were waiting for."""
        if self._runner is not None:
            self._thread.call(self._runner.cleanup())
            self._runner = None
            self.url = ""

    async def _start(self, app: web.Application, host: str) -> str:
        from aiohttp import web

        self._runner = web.AppRunner(
            app,
            access_log=None,
            handle_signals=False,
            handler_cancellation=True,
            shutdown_timeout=0.1,
            auto_decompress=False,
        )
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, 0).start()
        except OSError as failure:
            raise UsageError(f"cannot listen on {host}: {failure.strerror or failure}") from None
        return f"http://{host}:{self._runner.addresses[0][1]}"
