"""The yardstick for paced streams: aiohttp that sleeps once per token and writes once per token."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from aiohttp import web

EVENT = (
    b'data: {"id":"chatcmpl-0","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
)


async def main(tokens: int, between: float) -> None:
    async def chat(request: web.Request) -> web.StreamResponse:
        json.loads(await request.read())
        response = web.StreamResponse(headers={"content-type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        for _ in range(tokens):
            await asyncio.sleep(between)
            await response.write(EVENT)
        await response.write_eof()
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", chat)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=4096).start()
    port = runner.addresses[0][1]
    print(json.dumps({"event": "listening", "url": f"http://127.0.0.1:{port}", "pid": os.getpid()}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2]) / 1000.0))
