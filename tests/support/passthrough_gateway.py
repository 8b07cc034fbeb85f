"""The smallest honest gateway: every request goes upstream as it came, every answer back as it came.

python passthrough_gateway.py UPSTREAM PORT
"""

from __future__ import annotations

import asyncio
import sys

from aiohttp import ClientSession, TCPConnector, web

HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "host", "keep-alive", "content-encoding"}


def app(upstream: str) -> web.Application:
    async def forward(request: web.Request) -> web.StreamResponse:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP}
        session = request.app[SESSION]
        async with session.request(
            request.method, upstream + request.path_qs, headers=headers, data=await request.read()
        ) as answer:
            response = web.StreamResponse(status=answer.status)
            for name, value in answer.headers.items():
                if name.lower() not in HOP_BY_HOP:
                    response.headers[name] = value
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response

    async def opened(made: web.Application):  # type: ignore[no-untyped-def]
        made[SESSION] = ClientSession(connector=TCPConnector(force_close=True))
        yield
        await made[SESSION].close()

    made = web.Application(client_max_size=64 * 2**20)
    made.cleanup_ctx.append(opened)
    made.router.add_route("*", "/{path:.*}", forward)
    return made


SESSION = web.AppKey("session", ClientSession)


async def main(upstream: str, port: int) -> None:
    runner = web.AppRunner(app(upstream), handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
