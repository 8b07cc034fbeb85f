"""The aiohttp rim: what reaches a client over a real socket, and what the journal says of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import ClientSession, web
from aiohttp.client_exceptions import ClientPayloadError
from aiohttp.test_utils import TestClient, TestServer

from fakellm.fake import Fake
from fakellm.message import Frame, Wire
from fakellm.server.app import make_app
from fakellm.stage import Answer
from fakellm.timing import Dribble, Timing
from support.stages import NOON, Spoken, spoken, stage

CHAT = {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}]}
Serve = Callable[..., Any]


@dataclass
class WireStage:
    """A stage that always sends the same bytes."""

    wire: Wire
    name: str = "wire"

    def answer(self, request: object) -> Answer:
        return Answer(self.wire)


@pytest.fixture
async def serve() -> Any:
    """Serve a stage on a free port; gives the client and the fake."""
    clients: list[TestClient[web.Request, web.Application]] = []

    async def start(playing: Any, **options: Any) -> tuple[TestClient[web.Request, web.Application], Fake]:
        fake = Fake({"named": playing}, playing, now=lambda: NOON)
        server = TestServer(make_app(fake, **options))
        await server.start_server()
        client = TestClient(server)
        clients.append(client)
        return client, fake

    yield start
    for client in clients:
        await client.close()


def wire(*datas: bytes, due: Sequence[float] = (), **more: Any) -> Wire:
    frames = tuple(Frame(data, due[place] if due else 0.0) for place, data in enumerate(datas))
    return Wire(200, (("content-type", "text/event-stream"),), frames, stream=True, **more)


async def ended(fake: Fake, number: int = 1) -> Any:
    """The exchange, once the server is done with it."""
    for _ in range(1000):
        exchange = fake.journal.number(number)
        if exchange is not None and (exchange.finished_ms is not None or exchange.disconnected_ms is not None):
            return exchange
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
    raise AssertionError("the exchange never ended")


class TestAnswers:
    """Bytes and headers arrive as the layout has them."""

    async def test_a_whole_answer(self, serve: Serve) -> None:
        client, fake = await serve(stage(Spoken(spoken("Hello"))))

        response = await client.post("/v1/chat/completions", json=CHAT)

        assert "Hello" == (await response.json())["choices"][0]["message"]["content"]
        assert ("uvicorn", "application/json") == (response.headers["server"], response.headers["content-type"])
        assert await response.read() == (await ended(fake)).body

    async def test_a_stream_in_one_piece_when_nothing_waits(self, serve: Serve) -> None:
        client, fake = await serve(stage(Spoken(spoken("Hello"))))

        response = await client.post("/v1/chat/completions", json={**CHAT, "stream": True})
        body = await response.read()

        assert "chunked" == response.headers["transfer-encoding"]
        assert body.endswith(b"data: [DONE]\n\n")
        assert body == (await ended(fake)).body

    async def test_an_empty_answer(self, serve: Serve) -> None:
        client, _ = await serve(stage(Spoken(spoken("Hello"))))

        response = await client.get("/health")

        assert (200, b"") == (response.status, await response.read())

    async def test_timed_frames_arrive_in_order(self, serve: Serve) -> None:
        playing = stage(Spoken(spoken("Hello"), timing=Timing(first_token_ms=5, between_ms=5)))
        client, _ = await serve(playing)

        response = await client.post("/v1/chat/completions", json={**CHAT, "stream": True})

        assert (await response.read()).endswith(b"data: [DONE]\n\n")

    @pytest.mark.parametrize("streamed", [False, True])
    async def test_an_answer_that_dribbles_arrives_in_packets(self, serve: Serve, streamed: bool) -> None:
        playing = stage(Spoken(spoken("Hello"), timing=Timing(dribble=Dribble(bytes=40, every_ms=1.0))))
        client, fake = await serve(playing)

        response = await client.post("/v1/chat/completions", json={**CHAT, "stream": streamed})
        body = await response.read()

        exchange = await ended(fake)
        assert exchange.body == body
        assert len(body) > 40
        assert all(len(frame.data) <= 40 for frame in exchange.wire.frames)
        assert ("content-length" in response.headers) is not streamed

    async def test_each_frame_a_chunk_when_it_must_not_be_joined(self, serve: Serve) -> None:
        client, _ = await serve(WireStage(wire(b"data: 1\n\n", b"data: 2\n\n", coalesce=False)))

        response = await client.get("/")
        chunks = [data async for data, _ in response.content.iter_chunks()]

        assert [b"data: 1\n\n", b"data: 2\n\n"] == [chunk for chunk in chunks if chunk]


class TestBrokenFraming:
    """What transport faults ask for."""

    async def test_a_cut_stream_never_ends_properly(self, serve: Serve) -> None:
        client, _ = await serve(WireStage(wire(b"data: 1\n\n", cut=True)))

        response = await client.get("/")

        with pytest.raises(ClientPayloadError):
            await response.read()

    async def test_a_content_length_is_sent_as_it_stands(self, serve: Serve) -> None:
        lying = Wire(200, (("content-type", "application/json"), ("content-length", "99")), (Frame(b"{}"),))
        client, _ = await serve(WireStage(lying))

        response = await client.get("/")

        assert "99" == response.headers["content-length"]
        with pytest.raises(ClientPayloadError):
            await response.read()


class TestClients:
    """Clients that go away, and bodies beyond the limit."""

    async def test_a_disconnect_is_noticed_and_journalled(self, serve: Serve) -> None:
        slow = wire(b"data: 1\n\n", b"data: 2\n\n", due=(0.0, 60_000.0))
        client, fake = await serve(WireStage(slow))

        async with ClientSession() as session:
            response = await session.get(client.make_url("/"))
            assert b"data: 1\n\n" == await response.content.readexactly(9)
            response.close()

        exchange = await ended(fake)
        assert 9 == exchange.sent_bytes
        assert exchange.finished_ms is None

    async def test_a_disconnect_before_the_first_byte(self, serve: Serve) -> None:
        client, fake = await serve(WireStage(wire(b"data: 1\n\n", due=(60_000.0,))))

        async with ClientSession() as session:
            task = asyncio.create_task(session.get(client.make_url("/")))
            while fake.journal.number(1) is None:
                await asyncio.sleep(0.001)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        assert 0 == (await ended(fake)).sent_bytes

    async def test_a_body_beyond_the_limit_is_refused(self, serve: Serve) -> None:
        client, fake = await serve(stage(Spoken(spoken("Hello"))), max_body_bytes=100)

        response = await client.post("/v1/chat/completions", data=b"x" * 200)

        assert 413 == response.status
        assert "larger than 100 bytes" in (await response.json())["error"]["message"]
        assert 0 == len(fake.journal)

    async def test_a_flood_is_told_so_at_once(self, serve: Serve) -> None:
        client, fake = await serve(WireStage(wire(b"data: 1\n\n", due=(60_000.0,))), max_in_flight=1)
        waiting = asyncio.create_task(client.get("/"))
        while fake.journal.number(1) is None:
            await asyncio.sleep(0.001)

        refused = await client.get("/")

        assert (429, "1") == (refused.status, refused.headers["retry-after"])
        assert "in flight" in (await refused.json())["error"]["message"]
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


class TestAddresses:
    """How a request finds its scenario."""

    @pytest.mark.parametrize("path", ["/s/named/v1/chat/completions", "/v1/chat/completions"])
    async def test_by_path_or_by_default(self, serve: Serve, path: str) -> None:
        client, fake = await serve(stage(Spoken(spoken("Hello"))))

        response = await client.post(path, json=CHAT)

        assert 200 == response.status
        assert "/v1/chat/completions" == (await ended(fake)).request.path

    async def test_by_header(self, serve: Serve) -> None:
        client, _ = await serve(stage(Spoken(spoken("Hello"))))

        found = await client.post("/v1/chat/completions", json=CHAT, headers={"x-fakellm-scenario": "named"})
        missing = await client.post("/v1/chat/completions", json=CHAT, headers={"x-fakellm-scenario": "nobody"})

        assert (200, 404) == (found.status, missing.status)
        assert "loaded: named" in json.loads(await missing.read())["error"]["message"]

    async def test_by_model_the_last_at_sign_splits(self, serve: Serve) -> None:
        client, _ = await serve(stage(Spoken(spoken("Hello"))))

        response = await client.post("/v1/chat/completions", json={**CHAT, "model": "named@tiny"})
        other = await client.post("/v1/chat/completions", json={**CHAT, "model": "some@body"})

        assert "tiny" == (await response.json())["model"]
        assert "some@body" == (await other.json())["model"]
