"""The yardstick: an aiohttp server that answers constant bytes.

Router, no access log, body read and JSON-parsed, stock event loop; streams write one event at a time. The answers are
given as files, so that both servers send the same bytes. Prints the readiness line that fakellm prints.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from aiohttp import web


async def main(whole: bytes, events: list[bytes]) -> None:
    async def chat(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        if not body.get("stream"):
            return web.Response(body=whole, content_type="application/json")
        response = web.StreamResponse(headers={"content-type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        for event in events:
            await response.write(event)
        await response.write_eof()
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", chat)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    print(json.dumps({"event": "listening", "url": f"http://127.0.0.1:{port}", "pid": os.getpid()}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    stream = Path(sys.argv[2]).read_bytes()
    asyncio.run(main(Path(sys.argv[1]).read_bytes(), [event + b"\n\n" for event in stream.split(b"\n\n") if event]))
