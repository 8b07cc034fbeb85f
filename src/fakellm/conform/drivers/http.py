"""The reference client's transport: one POST, every byte kept, nothing repaired and nothing retried.

Used where the suite itself calls: extractors, gateway mode, server mode. It never raises for what a peer does; a
refused or broken connection stands in ``error``. Needs aiohttp, imported when first used.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back. ``status`` 0 and ``error``: no answer at all; ``error`` with a body: broken off in the middle.
    Header names are lower case. ``sent_body``: the bytes of the request."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    error: str | None = None
    cut: bool = False
    elapsed_ms: float = 0.0
    sent_body: bytes = b""
    sent_headers: tuple[tuple[str, str], ...] = ()


async def post(
    url: str,
    body: Mapping[str, Any] | bytes,
    *,
    headers: Mapping[str, str] | None = None,
    timeout: float = 10.0,
    cancel_after: float | None = None,
    method: str = "POST",
) -> HttpAnswer:
    """Send one request and read it to its end, to its break, or until ``cancel_after`` seconds, then hang up."""
    import aiohttp

    data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    sent = {"content-type": "application/json", **(headers or {})}
    began = time.monotonic()
    status, got, chunks, error, cut = 0, (), bytearray(), None, False
    connector = aiohttp.TCPConnector(force_close=True)
    try:
        async with aiohttp.ClientSession(connector=connector, auto_decompress=True) as session:
            async with asyncio.timeout(cancel_after if cancel_after is not None else timeout):
                async with session.request(method, url, data=data or None, headers=sent) as response:
                    status = response.status
                    got = tuple((name.lower(), value) for name, value in response.headers.items())
                    async for chunk in response.content.iter_any():
                        chunks += chunk
    except TimeoutError:
        error = "cancelled by the client" if cancel_after is not None else f"no end within {timeout:g} s"
        cut = cancel_after is None
    except aiohttp.ClientPayloadError as broken:
        error, cut = f"the answer broke off: {broken}", True
    except (aiohttp.ClientError, OSError) as broken:
        error = f"{type(broken).__name__}: {broken}"
    elapsed = (time.monotonic() - began) * 1000
    return HttpAnswer(status, got, bytes(chunks), error, cut, elapsed, data, tuple(sent.items()))
