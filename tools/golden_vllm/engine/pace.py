"""Keeps an engine from being faster than its server: what a request got before must be taken before it gets more.

vLLM joins the steps of a request that its server has not taken yet, so a busy machine would change what a stream shows.
``watch`` notes every output that is put down for a request and taken up again.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

PATIENCE_SECONDS = 5.0
"""An output that nobody takes (its client left) is not waited for longer, and never again."""

TURNS = 40
"""Turns of the event loop in which a server that took an output sends it on."""

_untaken: set[int] = set()


def watch() -> None:
    """From now on every output is noted."""
    collector: Any = import_module("vllm.v1.engine.output_processor").RequestOutputCollector
    put, get, get_nowait = collector.put, collector.get, collector.get_nowait

    def noted_put(self: Any, output: Any) -> Any:
        _untaken.add(id(self))
        return put(self, output)

    async def noted_get(self: Any) -> Any:
        taken = await get(self)
        _untaken.discard(id(self))
        return taken

    def noted_get_nowait(self: Any) -> Any:
        _untaken.discard(id(self))
        return get_nowait(self)

    collector.put, collector.get, collector.get_nowait = noted_put, noted_get, noted_get_nowait


async def taken(seconds: float) -> None:
    """Wait so long, then until the server has taken what was put down and had time to send it."""
    await asyncio.sleep(seconds)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_SECONDS
    await _turns()
    while _untaken and loop.time() < deadline:
        await asyncio.sleep(0.002)
    _untaken.clear()
    await _turns()


async def _turns() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)
