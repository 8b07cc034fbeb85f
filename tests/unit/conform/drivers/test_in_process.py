"""Clients in this process: one that hangs ends its own call and nothing else."""

import asyncio
import threading
from typing import Any

import pytest

from fakellm.conform.drivers.base import Errand, Patience
from fakellm.conform.drivers.in_process import ExtractDriver, InProcessDriver
from fakellm.conform.observation import Kind
from fakellm.conform.protocol import RunnerError

SHORT = Patience(answer=-9.8, stop=0.2)
"""A fifth of a second per errand: its deadline is 10 s at least."""


def errand(port: int = 9, **request: Any) -> Errand:
    url = f"http://127.0.0.1:{port}/c/t"
    return Errand(
        seq=1,
        case="c",
        api="chat",
        stream=False,
        base_url=f"{url}/v1",
        root_url=url,
        request=request,
        deadline_ms=10_000,
    )


class HangsAsync:
    async def run(self, message: Any) -> Any:
        await asyncio.Event().wait()


class HangsSync:
    released = threading.Event()

    def run(self, message: Any) -> Any:
        self.released.wait()

    def stop(self) -> None:
        self.released.wait()


class RaisesTimeout:
    def run(self, message: Any) -> Any:
        raise TimeoutError("the client's own")


@pytest.mark.parametrize("adapter", [HangsAsync, HangsSync])
async def test_an_adapter_that_hangs_gives_no_answer(adapter: type) -> None:
    driver = InProcessDriver(adapter, SHORT)

    with pytest.raises(RunnerError, match="no answer within") as caught:
        await driver.run(errand())

    assert "no-answer" == caught.value.name


async def test_an_adapter_that_hangs_on_stop_is_told() -> None:
    with pytest.raises(RunnerError, match="stop did not return"):
        await InProcessDriver(HangsSync, SHORT).stop()


async def test_a_timeout_of_the_clients_own_is_its_crash() -> None:
    reply = await InProcessDriver(RaisesTimeout, SHORT).run(errand())

    assert Kind.ERRORED == reply.ending.kind
    assert "the client's own" in reply.ending.message


async def test_an_extractor_that_hangs_gives_no_answer(aiohttp_server: Any) -> None:
    from aiohttp import web

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({})

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    server = await aiohttp_server(app)
    driver = ExtractDriver(lambda body, kind: HangsSync.released.wait(), "hangs", SHORT)

    with pytest.raises(RunnerError, match="no answer within"):
        await driver.run(errand(server.port))


async def test_a_body_shorter_than_announced_never_reaches_the_extractor(aiohttp_server: Any) -> None:
    from aiohttp import web

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-length": "64"})
        await response.prepare(request)
        await response.write(b"{}")
        assert request.transport is not None
        request.transport.close()
        return response

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    server = await aiohttp_server(app)
    read: list[bytes] = []
    driver = ExtractDriver(lambda body, kind: read.append(body), "reads", Patience())

    reply = await driver.run(errand(server.port))

    assert (Kind.REFUSED, "transport") == (reply.ending.kind, reply.ending.refusal)
    assert [] == read


async def test_an_extractor_with_three_arguments_is_handed_the_request(aiohttp_server: Any) -> None:
    from aiohttp import web

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({})

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    server = await aiohttp_server(app)
    seen: list[Any] = []

    def extract(body: bytes, content_type: str, request: Any) -> Any:
        seen.append((body, request))
        return {"refused": {"kind": "test", "message": "enough"}}

    await ExtractDriver(extract, "asks", Patience()).run(errand(server.port, n=2))

    assert [(b"{}", {"n": 2})] == seen
