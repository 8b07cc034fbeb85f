"""The quick way answers with the same bytes as aiohttp, however requests arrive, and never runs ahead of a reader."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from fakellm.fake import Fake
from fakellm.message import Frame, Wire
from fakellm.server.app import make_app
from fakellm.server.direct import Desk, Direct
from fakellm.server.listen import Listener
from fakellm.stage import Answer
from fakellm.timing import Timing
from support.examples import EXAMPLES, SOAKING
from support.stages import NOON, Spoken, spoken, stage

PATIENCE_SECONDS = 20.0
VARYING = re.compile(rb"(?im)^(?:date|server: python)[^\r]*\r\n")
"""Header lines in which the two ways may differ: the time, and aiohttp's own name where the layout has none."""


def request(body: Any = None, path: str = "/v1/chat/completions", *lines: str, method: str = "POST") -> bytes:
    data = b"" if body is None else json.dumps(body).encode()
    head = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", *lines]
    if body is not None:
        head += ["content-type: application/json", f"content-length: {len(data)}"]
    return "\r\n".join([*head, "", ""]).encode() + data


def chat(*lines: str, **body: Any) -> bytes:
    messages = [{"role": "user", "content": "Hi"}]
    return request({"model": "tiny", "messages": messages, **body}, "/v1/chat/completions", *lines)


def chunked(body: Any) -> bytes:
    data = json.dumps(body).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
    return head + b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(data), data)


class WireStage:
    """A stage that always sends the same bytes."""

    def __init__(self, wire: Wire) -> None:
        self.wire, self.name = wire, "wire"

    def answer(self, request: object) -> Answer:
        return Answer(self.wire)


class Way:
    """A server that one connects to without a port. ``quick``: the way under test; else aiohttp alone."""

    def __init__(self, playing: Any, *, quick: bool, max_in_flight: int = 100) -> None:
        self.fake = Fake({}, playing, now=lambda: NOON)
        app = make_app(self.fake, max_in_flight=max_in_flight)
        self.runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
        self.quick = quick
        self.limit = max_in_flight
        self.desk: Desk

    async def __aenter__(self) -> Way:
        await self.runner.setup()
        assert self.runner.server is not None
        self.desk = Desk(self.fake, self.limit, self.runner.server)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.runner.cleanup()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        made = (lambda: Direct(self.desk, loop)) if self.quick else self.runner.server
        assert made is not None
        await loop.connect_accepted_socket(made, theirs)
        reader, writer = await asyncio.open_connection(sock=ours)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def said(self, *pieces: bytes) -> bytes:
        """Everything that comes back until the server hangs up."""
        async with self.connected() as (reader, writer), asyncio.timeout(PATIENCE_SECONDS):
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(0)
            return VARYING.sub(b"", await reader.read())


async def both(playing: Any, *pieces: bytes, **more: Any) -> tuple[bytes, bytes]:
    """What the quick way says, and what aiohttp says. ``playing``: makes the stage, so that both begin alike."""
    said: list[bytes] = []
    for quick in (True, False):
        async with Way(playing(), quick=quick, **more) as way:
            said.append(await way.said(*pieces))
    return said[0], said[1]


def plain() -> Any:
    return stage(Spoken(spoken("Hello")))


CLOSE = "connection: close"
REQUESTS = {
    "whole": chat(logprobs=True),
    "stream": chat(stream=True),
    "refused": request({"model": "tiny"}),
    "not json": request().replace(b"\r\n\r\n", b"\r\ncontent-length: 1\r\n\r\n{"),
    "get": request(None, "/v1/models", method="GET"),
    "empty answer": request(None, "/health", method="GET"),
    "no such path": request(None, "/nowhere", method="GET"),
    "query": request(None, "/v1/models?a=b", method="GET"),
    "chunked": chunked({"model": "tiny", "messages": [{"role": "user", "content": "Hi"}]}),
    "expects": chat("expect: 100-continue"),
    "head": request(None, "/health", method="HEAD"),
}
LAST = {
    "whole": chat(CLOSE),
    "stream": chat(CLOSE, stream=True),
    "old": b"GET /health HTTP/1.0\r\n\r\n",
    "garbage": b"\x16\x03\x01\x02\x00\x01",
    "bare lines": b"GET /health HTTP/1.1\nhost: a\nconnection: close\n\n",
    "space before the colon": b"GET /health HTTP/1.1\r\nhost : a\r\nconnection: close\r\n\r\n",
    "two lengths": b"POST /health HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
    "length and chunks": chunked({}).replace(b"host: a", b"content-length: 3"),
    "long head": b"GET /health HTTP/1.1\r\nx: " + b"y" * 20_000 + b"\r\nconnection: close\r\n\r\n",
    "many headers": b"GET /health HTTP/1.1\r\n" + b"x: y\r\n" * 3000 + b"connection: close\r\n\r\n",
}


class TestTheSameBytes:
    """Whatever comes in, in whatever pieces."""

    @pytest.mark.parametrize("name", REQUESTS)
    async def test_one_request(self, name: str) -> None:
        quick, slow = await both(plain, REQUESTS[name], chat(CLOSE))

        assert slow == quick
        assert quick.count(b"HTTP/1.1 ") >= 2

    @pytest.mark.parametrize("name", LAST)
    async def test_a_last_request(self, name: str) -> None:
        quick, slow = await both(plain, LAST[name])

        assert slow == quick
        assert quick

    @settings(max_examples=min(EXAMPLES, 2000), deadline=None, derandomize=not SOAKING)
    @given(
        names=st.lists(st.sampled_from(sorted(REQUESTS)), max_size=4),
        last=st.sampled_from(sorted(set(LAST) - {"many headers"})),  # refused before its end: the rest meets a reset
        cuts=st.lists(st.integers(0, 3000), max_size=8),
    )
    def test_any_requests_in_any_pieces(self, names: list[str], last: str, cuts: list[int]) -> None:
        data = b"".join([*(REQUESTS[name] for name in names), LAST[last]])
        at = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]

        quick, slow = asyncio.run(both(plain, *(data[start:end] for start, end in pairwise(at))))

        refused = b"HTTP/1.0 400"  # from here on aiohttp quotes what it had in hand when it refused
        assert slow.partition(refused)[:2] == quick.partition(refused)[:2]

    @pytest.mark.parametrize("streamed", [False, True])
    async def test_an_answer_that_takes_its_time(self, streamed: bool) -> None:
        def slowly() -> Any:
            return stage(Spoken(spoken("Hello"), timing=Timing(first_token_ms=10, between_ms=10)))

        quick, slow = await both(slowly, chat(stream=streamed), chat(CLOSE, stream=streamed))

        assert slow == quick

    @pytest.mark.parametrize(
        "wire",
        [
            Wire(200, (("content-type", "a/b"),), (Frame(b"one"), Frame(b"two", 5.0)), stream=True, cut=True),
            Wire(200, (("content-type", "a/b"),), (Frame(b"one"), Frame(b"two")), stream=True, coalesce=False),
            Wire(200, (("content-type", "a/b"),), (Frame(b"one"), Frame(b"two", 5.0)), coalesce=False),
            Wire(200, (("content-length", "99"),), (Frame(b"short"),)),
            Wire(200, (("content-type", "a/b"),), (Frame(b"half"),), cut=True),
            Wire(200, (("content-type", "a/b"),), (Frame(b""), Frame(b"", 5.0)), stream=True),
            Wire(204, (("server", "x"),), ()),
            Wire(304, (("server", "x"),), (Frame(b"none"),)),
            Wire(200, (), (Frame(b"typeless"),)),
            Wire(429, (("date", "never"), ("connection", "close")), (Frame(b"x"),)),
        ],
    )
    async def test_any_answer(self, wire: Wire) -> None:
        quick, slow = await both(lambda: WireStage(wire), request({}, "/a", CLOSE))

        assert slow == quick

    async def test_a_flood_is_told_so(self) -> None:
        quick, slow = await both(plain, chat(CLOSE), max_in_flight=0)

        assert slow == quick
        assert b"429 Too Many Requests" in quick


class TestTheRecord:
    """What the journal says of an answer."""

    async def test_a_plain_request_takes_the_quick_way_and_is_journalled(self) -> None:
        async with Way(plain(), quick=True) as way:
            await way.said(chat(CLOSE))

            exchange = way.fake.journal.number(1)
            assert exchange is not None
            assert exchange.finished_ms is not None
            assert 0 == way.fake.in_flight
            assert set() == way.desk.connections

    @pytest.mark.parametrize(
        "sent",
        [b"", b"POST /v1", chat()[:-3], chat(), chat(stream=True)],
        ids=["nothing", "half a head", "half a body", "before the first token", "in mid-stream"],
    )
    async def test_a_client_may_vanish_in_every_phase(self, sent: bytes) -> None:
        slow = Wire(200, (), (Frame(b"one"), Frame(b"two", 60_000.0)), stream=b"stream" in sent)
        async with Way(WireStage(slow), quick=True) as way:
            async with way.connected() as (reader, writer), asyncio.timeout(PATIENCE_SECONDS):
                writer.write(sent)
                if slow.stream:
                    await reader.readuntil(b"one")
                elif sent == chat():
                    while not len(way.fake.journal):
                        await asyncio.sleep(0)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while way.desk.connections:
                    await asyncio.sleep(0)

            assert 0 == way.fake.in_flight
            for exchange in way.fake.journal:
                assert exchange.disconnected_ms is not None
                assert (3 if slow.stream else 0) == exchange.sent_bytes

    async def test_who_does_not_read_is_not_read_from(self) -> None:
        """Guard: without it the answers to everything that was asked would pile up in memory."""
        big = WireStage(Wire(200, (), (Frame(b"x" * 500_000),)))
        async with Way(big, quick=True) as way, way.connected() as (_, writer):
            for _ in range(100):
                writer.write(request({}, "/a"))
                for _ in range(20):
                    await asyncio.sleep(0)

            assert way.fake.journal.total <= 3


class TestTheEnd:
    """Connections that are silent, and a server that stops."""

    async def test_who_is_silent_too_long_is_hung_up_on(self) -> None:
        async with Way(plain(), quick=True) as way, way.connected() as (reader, writer):
            writer.write(chat())
            await reader.readuntil(b"}")
            listener = Listener(way.desk, keep_alive=-1.0)

            listener.sweep()

            async with asyncio.timeout(PATIENCE_SECONDS):
                await reader.read()
            await listener.stop(0.0)

    async def test_a_stop_lets_an_answer_end_and_closes_what_is_idle(self) -> None:
        timed = Wire(200, (), (Frame(b"one"), Frame(b"two", 50.0)), stream=True)
        async with (
            Way(WireStage(timed), quick=True) as way,
            way.connected() as (busy, writer),
            way.connected() as (idle, _),
        ):
            writer.write(request({}, "/a"))
            await busy.readuntil(b"one")

            await Listener(way.desk).stop(PATIENCE_SECONDS)

            assert (await busy.read()).endswith(b"two\r\n0\r\n\r\n")
            assert b"" == await idle.read()

    async def test_a_stop_without_patience_cuts(self) -> None:
        endless = Wire(200, (), (Frame(b"one"), Frame(b"two", 60_000.0)), stream=True)
        async with Way(WireStage(endless), quick=True) as way, way.connected() as (reader, writer):
            writer.write(request({}, "/a"))
            await reader.readuntil(b"one")

            await Listener(way.desk).stop(0.0)

            assert b"two" not in await reader.read()


def test_what_varies_is_only_time_and_name() -> None:
    """The comparison above must not leave out more than it says."""
    text = b"HTTP/1.1 200 OK\r\nServer: Python/3.11 aiohttp/3\r\nserver: uvicorn\r\nDate: x\r\nx-date: y\r\n\r\n"

    assert b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\nx-date: y\r\n\r\n" == VARYING.sub(b"", text)
