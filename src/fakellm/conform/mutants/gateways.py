"""Gateways that are wrong in one way each, and benign ones that only look it; small reverse proxies on loopback.

    python -m fakellm.conform.mutants.gateways drop-usage --upstream http://127.0.0.1:9000 --port 9001

A mutant overrides one step: ``request`` (path, headers, body on the way in), ``answer`` (status, headers, body on the
way back). What overrides ``answer`` is buffered; the others pass chunks on as they come. Needs aiohttp.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from aiohttp import ClientPayloadError, ClientSession, ClientTimeout, web

HOP = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "content-encoding"})


@dataclass(frozen=True, slots=True)
class Passing:
    """A request or an answer on its way. ``status`` means something for answers only."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    status: int = 200

    def json(self) -> dict[str, Any] | None:
        """The body as JSON object, None where it is none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return None
        return cast("dict[str, Any]", value) if isinstance(value, dict) else None

    def saying(self, value: Any) -> Passing:
        """The same with this JSON value as body."""
        return replace(self, body=json.dumps(value).encode())


class Gateway:
    """A gateway that changes nothing."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream.rstrip("/")

    def request(self, passing: Passing) -> Passing:
        """Side A to side B."""
        return passing

    def answer(self, passing: Passing) -> Passing:
        """Side C to side D."""
        return passing

    def app(self) -> web.Application:
        """The proxy."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self.handle)
        return app

    async def handle(self, incoming: web.Request) -> web.StreamResponse:
        """One call through the gateway."""
        headers = {name.lower(): value for name, value in incoming.headers.items() if name.lower() not in HOP}
        asked = self.request(Passing(incoming.rel_url.path_qs, headers, await incoming.read()))
        async with self.session() as session:
            return await self.call(session, incoming, asked)

    def session(self) -> ClientSession:
        """The client towards the server; it offers to take gzip, as HTTP libraries do."""
        return ClientSession(timeout=ClientTimeout(total=30))

    async def call(self, session: ClientSession, incoming: web.Request, asked: Passing) -> web.StreamResponse:
        """Ask the upstream and hand its answer back."""
        url = self.upstream + asked.path
        async with session.request(incoming.method, url, data=asked.body or None, headers=asked.headers) as upstream:
            headers = {name: value for name, value in upstream.headers.items() if name.lower() not in HOP}
            if type(self).answer is Gateway.answer:
                return await self.passed_on(incoming, upstream, headers)
            body, cut = await self.whole(upstream)
            answer = self.answer(Passing(asked.path, headers, body, upstream.status))
            if cut and incoming.transport is not None:
                return await self.cut_off(incoming, answer)
            return web.Response(status=answer.status, headers=answer.headers, body=answer.body)

    async def passed_on(self, incoming: web.Request, upstream: Any, headers: Mapping[str, str]) -> web.StreamResponse:
        """Chunk by chunk, as they come; a break on one side is a break on the other."""
        response = web.StreamResponse(status=upstream.status, headers=headers)
        await response.prepare(incoming)
        try:
            async for chunk in upstream.content.iter_any():
                await response.write(chunk)
        except ClientPayloadError:
            if incoming.transport is not None:
                incoming.transport.abort()
            return response
        await response.write_eof()
        return response

    async def whole(self, upstream: Any) -> tuple[bytes, bool]:
        """The whole body, and whether it broke off."""
        body = bytearray()
        try:
            async for chunk in upstream.content.iter_any():
                body += chunk
        except ClientPayloadError:
            return bytes(body), True
        return bytes(body), False

    async def cut_off(self, incoming: web.Request, answer: Passing) -> web.StreamResponse:
        """Hand on what there was, and break off."""
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        await response.prepare(incoming)
        await response.write(answer.body)
        if incoming.transport is not None:
            incoming.transport.abort()
        return response


class Running:
    """``async with Running(gateway, port) as url``: a gateway that listens on loopback."""

    def __init__(self, gateway: Gateway, port: int = 0) -> None:
        self.gateway = gateway
        self.port = port
        self._runner = web.AppRunner(gateway.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.2)

    async def __aenter__(self) -> str:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return f"http://127.0.0.1:{self.port}"

    async def __aexit__(self, *error: object) -> None:
        await self._runner.cleanup()


async def serve(gateway: Gateway, port: int) -> None:
    """Listen until the task is cancelled."""
    async with Running(gateway, port):
        await asyncio.Event().wait()


def main() -> None:
    """The command: a gateway by its name."""
    from .gateway_mutants import GATEWAYS

    parser = argparse.ArgumentParser(description="A gateway that is wrong in one way.")
    parser.add_argument("name", choices=sorted(GATEWAYS))
    parser.add_argument("--upstream", required=True)
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    try:
        asyncio.run(serve(GATEWAYS[given.name](given.upstream), given.port))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
