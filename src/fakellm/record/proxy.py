"""The proxy: every byte of a request goes to the upstream, every byte of its answer comes back, as it arrives.

Bodies are not decoded, re-chunked in meaning, or delayed but for the last piece of an answer, which leaves only after
the exchange is on the disk: what a client has seen whole is never lost, and an answer that could not be written down is
broken off. Hop-by-hop headers belong to each connection;
all others pass. A client that goes away takes the call to the upstream with it, and an answer that the upstream breaks
off is broken off here. Knows sockets and no tokens: a :class:`Desk` says what to write down.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, TCPConnector, web
from multidict import CIMultiDict
from yarl import URL

from .taken import COMPLETE, CUT, LEFT, Pairs, Taken

HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""RFC 9110, section 7.6.1: they speak of one connection, not of the message."""
ADDED_BY_US = ("content-type", "date", "server")
"""Headers that our server writes where a handler sets none."""
LARGEST_REQUEST_BYTES = 256 * 1024 * 1024
READ_BYTES = 256 * 1024


class Unkept(Exception):
    """An exchange could not be written down; the desk has said why."""


class Desk(Protocol):
    """What happens to an exchange besides being passed on."""

    def outgoing(self, method: str, target: str, body: bytes) -> bytes:
        """The request's body as the upstream is to get it."""
        ...

    def rewriter(self, taken: Taken, asked: bytes) -> Rewriter | None:
        """How the answer changes on its way back; None = not at all. ``taken`` has no chunks yet; ``asked``: the body
        that the client sent."""
        ...

    async def keep(self, taken: Taken) -> None:
        """Write an exchange down; returns when it cannot be lost any more. Raises Unkept."""
        ...


class Rewriter(Protocol):
    """Changes an answer piece by piece; what it holds back comes out at the end."""

    def feed(self, data: bytes) -> bytes: ...

    def close(self) -> bytes: ...


class Proxy:
    """One upstream. ``app()`` serves it; ``upstream`` may have a path of its own, which goes before every path."""

    def __init__(self, upstream: str, desk: Desk) -> None:
        self.upstream = upstream.rstrip("/")
        self.desk = desk
        self.count = 0
        self._session: ClientSession | None = None

    def app(self) -> web.Application:
        app = web.Application(client_max_size=LARGEST_REQUEST_BYTES)
        app.router.add_route("*", "/{path:.*}", self.handle)
        app.on_response_prepare.append(_without_additions)
        app.cleanup_ctx.append(self._connected)
        return app

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Pass one exchange on and have it written down."""
        self.count += 1
        at, began = time.time(), asyncio.get_running_loop().time()
        asked = await request.read()
        passage = _Passage(self.count, at, began, request, self.desk.outgoing(request.method, request.raw_path, asked))
        try:
            answer = await self._ask(request, passage.body, changed=passage.body is not asked)
        except (ClientError, OSError) as unreachable:
            message = f"the upstream cannot be reached: {unreachable}"
            return web.json_response({"error": {"message": message, "type": "fakellm_record"}}, status=502)
        except asyncio.CancelledError:
            with suppress(Unkept):
                await asyncio.shield(self.desk.keep(passage.taken(LEFT)))
            raise
        async with answer:
            passage.answered(answer)
            return await self._answer(passage, answer, self.desk.rewriter(passage.taken(COMPLETE), asked))

    async def _ask(self, request: web.Request, body: bytes, *, changed: bool) -> ClientResponse:
        assert self._session is not None
        left_out = {"host", "content-length", "accept-encoding"} if changed else {"host"}
        return await self._session.request(
            request.method,
            URL(self.upstream + request.raw_path, encoded=True),
            headers=CIMultiDict(_passing(request.headers.items(), left_out)),
            data=body if body or "content-length" in request.headers else None,
            allow_redirects=False,
            skip_auto_headers=("user-agent", "accept", "accept-encoding", "content-type"),
        )

    async def _answer(self, passage: _Passage, answer: ClientResponse, rewriter: Rewriter | None) -> web.StreamResponse:
        response = _begun(answer, rewritten=rewriter is not None)
        try:
            await response.prepare(passage.request)
            held = b""
            async for data in _pieces(passage, answer):
                out = data if rewriter is None else rewriter.feed(data)
                if passage.received == answer.content_length:
                    held = out  # the last byte of a whole answer: the client gets it when it is written down
                elif out:
                    await response.write(out)
            await self.desk.keep(passage.taken(CUT if passage.cut else COMPLETE))
            passage.kept = True
            if passage.cut:
                _hang_up(passage.request)
                return response
            held += b"" if rewriter is None else rewriter.close()
            if held:
                await response.write(held)
            await response.write_eof()
        except Unkept:
            answer.close()
            _hang_up(passage.request)
        except (ConnectionError, asyncio.CancelledError):
            answer.close()
            if not passage.kept:
                with suppress(Unkept):
                    await asyncio.shield(self.desk.keep(passage.taken(LEFT)))
            raise
        return response

    async def _connected(self, app: web.Application) -> AsyncGenerator[None, None]:
        async with ClientSession(
            connector=TCPConnector(limit=0), auto_decompress=False, timeout=ClientTimeout()
        ) as session:
            self._session = session
            yield
        self._session = None


async def _pieces(passage: _Passage, answer: ClientResponse) -> AsyncGenerator[bytes, None]:
    """The answer as it arrives; one that the upstream breaks off is marked as cut."""
    while True:
        try:
            data = await answer.content.read(READ_BYTES)
        except ClientError:
            passage.cut = True
            return
        if not data:
            return
        passage.arrived(data)
        yield data


class _Passage:
    """What is known of an exchange while it goes by."""

    def __init__(self, number: int, at: float, began: float, request: web.Request, body: bytes) -> None:
        self.request = request
        self.body = body
        self.cut = False
        self.kept = False
        self.received = 0
        self._number = number
        self._at = at
        self._began = began
        self._chunks: list[tuple[float, bytes]] = []
        self._status = 0
        self._headers: Pairs = ()

    def answered(self, answer: ClientResponse) -> None:
        self._status = answer.status
        self._headers = tuple(answer.headers.items())

    def arrived(self, data: bytes) -> None:
        self.received += len(data)
        self._chunks.append(((asyncio.get_running_loop().time() - self._began) * 1000.0, data))

    def taken(self, ending: str) -> Taken:
        return Taken(
            number=self._number,
            at=self._at,
            method=self.request.method,
            target=self.request.raw_path,
            request_headers=tuple(self.request.headers.items()),
            request_body=self.body,
            status=self._status,
            response_headers=self._headers,
            chunks=tuple(self._chunks),
            ending=ending,
        )


class _Faithful(web.StreamResponse):
    """An answer that has the headers of its upstream and no others. ``passed``: their names, in lower case."""

    passed: frozenset[str] = frozenset()


def _begun(answer: ClientResponse, *, rewritten: bool) -> _Faithful:
    """The head of the answer as the client gets it: with a length where the upstream gave one."""
    passing = _passing(answer.headers.items(), {"content-length"} if rewritten else set())
    response = _Faithful(status=answer.status, reason=answer.reason, headers=CIMultiDict(passing))
    response.passed = frozenset(name.lower() for name, _ in passing)
    return response


def _passing(headers: Iterable[tuple[str, str]], left_out: set[str]) -> list[tuple[str, str]]:
    """The headers that go on: all but those of the connection itself, and those that it names."""
    pairs = list(headers)
    named = {word.strip().lower() for name, value in pairs if name.lower() == "connection" for word in value.split(",")}
    stays = HOP_BY_HOP | named | left_out
    return [(name, value) for name, value in pairs if name.lower() not in stays]


async def _without_additions(request: web.Request, response: web.StreamResponse) -> None:
    """Take back the headers that our server puts into an answer whose upstream did not send them."""
    if isinstance(response, _Faithful):
        for name in ADDED_BY_US:
            if name not in response.passed:
                response.headers.popall(name, None)


def _hang_up(request: web.Request) -> None:
    """Close the connection without a proper end of the answer."""
    if request.transport is not None:
        request.transport.close()


@asynccontextmanager
async def recording(upstream: str, desk: Desk, host: str = "127.0.0.1", port: int = 0) -> AsyncGenerator[str, None]:
    """The proxy on a port for as long as the context lasts; gives its root URL."""
    app = Proxy(upstream, desk).app()
    runner = web.AppRunner(
        app, access_log=None, handler_cancellation=True, shutdown_timeout=10.0, auto_decompress=False
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield f"http://{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
