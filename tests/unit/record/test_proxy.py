"""The proxy over real sockets: no byte lost, none altered, none late; and an exchange is kept before it ends."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientSession, ClientTimeout
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakellm.record.proxy import Rewriter, recording
from fakellm.record.taken import COMPLETE, CUT, LEFT, Taken

Head = bytes
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Desk:
    """Keeps what it is given; ``gate`` holds the keeping up."""

    def __init__(self) -> None:
        self.kept: list[Taken] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = asyncio.Event()

    def outgoing(self, method: str, target: str, body: bytes) -> bytes:
        return body

    def rewriter(self, taken: Taken, asked: bytes) -> Rewriter | None:
        return None

    async def keep(self, taken: Taken) -> None:
        self.asked.set()
        await self.gate.wait()
        self.kept.append(taken)


@asynccontextmanager
async def upstream(serve: Serve) -> AsyncGenerator[str, None]:
    """A server that is nothing but a socket: what it sends is decided byte by byte."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def between(serve: Serve, path: str = "") -> AsyncGenerator[tuple[str, Desk], None]:
    """The proxy before such a server."""
    desk = Desk()
    async with upstream(serve) as root, recording(root + path, desk) as url:
        yield url, desk


def answering(head: bytes, *chunks: bytes, seen: list[bytes] | None = None, abrupt: bool = False) -> Serve:
    """Read one request, send the head and then each chunk as a write of its own."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        length = next((int(x.split(b":")[1]) for x in request.lower().split(b"\r\n") if x.startswith(b"content-l")), 0)
        if seen is not None:
            seen.append(request + await reader.readexactly(length))
        writer.write(head)
        for chunk in chunks:
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(0)
        if not abrupt:
            await writer.drain()
        writer.close()

    return serve


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece) + b"0\r\n\r\n"


def split(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    marks = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[first:last] for first, last in itertools.pairwise(marks)]


STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


async def fetched(url: str, **more: Any) -> tuple[Any, bytes]:
    async with (
        ClientSession(auto_decompress=False, timeout=ClientTimeout(10)) as session,
        session.post(url, **more) as answer,
    ):
        return answer, await answer.read()


@given(
    st.lists(st.binary(max_size=50), max_size=6),
    st.lists(st.integers(0, 10_000), max_size=8),
    st.sampled_from(["chunked", "length", "close"]),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_byte_is_lost_or_altered_however_it_is_cut(pieces: list[bytes], cuts: list[int], framing: str) -> None:
    async def main() -> None:
        body = b"".join(pieces)
        framed = {
            "chunked": STREAM_HEAD + chunked(*pieces),
            "length": b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body),
            "close": b"HTTP/1.1 200 OK\r\n\r\n" + body,
        }[framing]
        async with between(answering(b"", *split(framed, cuts))) as (url, desk):
            _, got = await fetched(f"{url}/x", data=b"ask")

        assert body == got
        (kept,) = desk.kept
        assert (body, b"ask", COMPLETE) == (kept.response_body, kept.request_body, kept.ending)

    asyncio.run(main())


class TestHeads:
    """What goes on and what belongs to a connection."""

    async def test_requests_go_on_as_they_came(self) -> None:
        seen: list[bytes] = []
        serve = answering(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", seen=seen)

        async with between(serve, "/deep") as (url, _):
            headers = {"X-One": "1", "Authorization": "Bearer k", "Connection": "close, x-hop", "X-Hop": "no"}
            await fetched(f"{url}/v1/a%20b?q=%C3%A9&q=2", data=b"{}", headers=headers)

        head = seen[0].partition(b"\r\n\r\n")[0].decode()
        assert head.startswith("POST /deep/v1/a%20b?q=%C3%A9&q=2 HTTP/1.1\r\n")
        assert "X-One: 1" in head
        assert "Authorization: Bearer k" in head
        assert "X-Hop" not in head
        assert 1 == head.lower().count("\r\nhost:")
        assert "deep" not in head.lower().partition("\r\nhost:")[2].partition("\r\n")[0]

    async def test_an_answer_has_the_headers_of_its_upstream_and_no_others(self) -> None:
        head = b"HTTP/1.1 418 I'm odd\r\nX-Two: a\r\nX-Two: b\r\nContent-Length: 2\r\n\r\n"

        async with between(answering(head, b"hi")) as (url, desk):
            answer, body = await fetched(f"{url}/x")

        assert (418, "I'm odd", b"hi") == (answer.status, answer.reason, body)
        assert ["a", "b"] == answer.headers.getall("x-two")
        assert {"x-two", "content-length"} == {name.lower() for name in answer.headers}
        assert (("X-Two", "a"), ("X-Two", "b")) == desk.kept[0].response_headers[:2]

    async def test_a_compressed_answer_stays_compressed(self) -> None:
        import gzip

        data = gzip.compress(b"hello")
        head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(data)

        async with between(answering(head, data)) as (url, desk):
            answer, body = await fetched(f"{url}/x", headers={"accept-encoding": "gzip"})

        assert (data, "gzip") == (body, answer.headers["content-encoding"])
        assert b"hello" == desk.kept[0].readable_body

    async def test_a_redirect_is_the_clients_business(self) -> None:
        head = b"HTTP/1.1 307 Go\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n"

        async with (
            between(answering(head)) as (url, _),
            ClientSession() as session,
            session.get(f"{url}/x", allow_redirects=False) as answer,
        ):
            assert (307, "/elsewhere") == (answer.status, answer.headers["location"])

    async def test_an_upstream_that_is_not_there_is_told(self) -> None:
        async with recording("http://127.0.0.1:9", Desk()) as url:
            answer, body = await fetched(f"{url}/x")

        assert 502 == answer.status
        assert b"the upstream cannot be reached" in body


class TestEndings:
    """Streams pass as they come; whoever breaks off is seen, on both sides."""

    async def test_each_piece_comes_before_the_next_is_made(self) -> None:
        made: list[asyncio.Event] = [asyncio.Event() for _ in range(3)]

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(STREAM_HEAD)
            for event in made:
                await event.wait()
                writer.write(b"6\r\ndata\n\n\r\n")
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            writer.close()

        async with between(serve) as (url, desk), ClientSession() as session, session.get(f"{url}/x") as answer:
            for event in made:
                event.set()
                assert b"data\n\n" == await answer.content.readexactly(6)
            assert b"" == await answer.content.read()

        assert [6, 6, 6] == [len(data) for _, data in desk.kept[0].chunks]

    @pytest.mark.parametrize(
        "head, body",
        [
            (STREAM_HEAD, chunked(b"data: 1\n\n")),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", b"data: 1\n\n"),
        ],
        ids=["chunked", "length"],
    )
    async def test_what_a_client_has_seen_whole_is_kept_already(self, head: bytes, body: bytes) -> None:
        async with between(answering(head, body)) as (url, desk):
            desk.gate.clear()
            reading = asyncio.create_task(fetched(f"{url}/x"))
            await desk.asked.wait()
            for _ in range(20):
                await asyncio.sleep(0.001)
            assert not reading.done()
            desk.gate.set()
            _, got = await reading

        assert b"data: 1\n\n" == got
        assert COMPLETE == desk.kept[0].ending

    @pytest.mark.parametrize(
        "head, body",
        [(STREAM_HEAD, b"9\r\ndata: 1\n\n\r\n"), (b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n", b"data: 1\n\n")],
        ids=["chunked", "length"],
    )
    async def test_an_answer_that_breaks_off_breaks_off_here(self, head: bytes, body: bytes) -> None:
        async with between(answering(head, body, abrupt=True)) as (url, desk):
            with pytest.raises(Exception, match=r"not completed|payload"):
                await fetched(f"{url}/x")

        assert (CUT, b"data: 1\n\n") == (desk.kept[0].ending, desk.kept[0].response_body)

    @pytest.mark.parametrize("begun", [True, False], ids=["in the middle", "before the first byte"])
    async def test_a_client_that_goes_away_takes_the_call_with_it(self, begun: bool) -> None:
        gone = asyncio.Event()
        came = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            if begun:
                writer.write(STREAM_HEAD + b"6\r\ndata\n\n\r\n")
            came.set()
            assert b"" == await reader.read()
            gone.set()
            writer.close()

        async with between(serve) as (url, desk):
            host, _, port = url.removeprefix("http://").partition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"GET /x HTTP/1.1\r\nhost: x\r\n\r\n")
            await (reader.readuntil(b"data\n\n") if begun else came.wait())
            writer.transport.abort()
            await asyncio.wait_for(gone.wait(), 10)

        assert [LEFT] == [kept.ending for kept in desk.kept]
        assert (b"data\n\n" if begun else b"") == desk.kept[0].response_body

    async def test_streams_pass_side_by_side(self) -> None:
        waiting = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            if b"/slow" in head:
                await waiting.wait()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            await writer.drain()
            writer.close()

        async with between(serve) as (url, desk):
            slow = asyncio.create_task(fetched(f"{url}/slow"))
            await fetched(f"{url}/quick")
            waiting.set()
            await slow

        assert ["/quick", "/slow"] == [kept.path for kept in desk.kept]
