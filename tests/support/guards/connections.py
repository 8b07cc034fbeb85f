"""Probes of connections: readers that are slow, clients that vanish, floods, streams by the thousand, odd heads."""

from __future__ import annotations

import asyncio
import itertools
import os

from .arena import here, stream
from .mechanism import Arena, Guard, chat, chunked, connection, head_of, patience, post, until

STREAMS = int(os.environ.get("FAKELLM_STREAMS", "300"))
"""Idle streams held open at once; `make soak` asks for 5,000."""
COUNT = itertools.count()
DIRECT = "fakellm.server.direct:Direct."


async def who_does_not_read_is_not_read_from(arena: Arena) -> None:
    """Answers to everything that somebody asks without reading would pile up in memory."""
    async with here(stream((b"x" * 500_000, 0.0))) as server, connection(server.address) as (_, writer):
        for _ in range(60):
            writer.write(post(chat()))
            await asyncio.sleep(0.005)

        assert server.fake.journal.total < 20


async def a_paced_stream_waits_for_its_reader(arena: Arena) -> None:
    """A reader that stops in mid-stream holds a quarter of a megabyte, not the rest of the answer."""
    frames = [(b"x" * 100_000, 0.0), *((b"x" * 100_000, 5.0 + place) for place in range(200))]
    async with here(stream(*frames)) as server, connection(server.address) as (reader, writer):
        writer.write(post(chat()))
        await head_of(reader)
        (direct,) = server.desk.connections
        await asyncio.sleep(0.6)

        assert direct._transport.get_write_buffer_size() < 1_000_000


async def who_is_silent_is_hung_up_on(arena: Arena) -> None:
    """Connections that nobody uses would add up."""
    async with here() as server, connection(server.address) as (reader, writer):
        writer.write(post(chat()))
        await head_of(reader)
        server.listener._keep_alive = -1.0
        server.listener.sweep()

        async with asyncio.timeout(patience()):
            await reader.read()


async def who_vanishes_is_counted_out(arena: Arena) -> None:
    """In every phase; else the places of those who vanished are never free again."""
    async with here(stream((b"one", 0.0), (b"two", 60_000.0))) as server:
        for sent in (b"", b"POST /v1", post(chat())[:-3], post(chat()), chunked(chat())):
            async with connection(server.address) as (reader, writer):
                writer.write(sent)
                if sent in (post(chat()), chunked(chat())):
                    await reader.readuntil(b"one")
        await until(lambda: not server.fake.in_flight, f"{server.fake.in_flight} requests of nobody are in flight")
        assert [3, 3] == [exchange.sent_bytes for exchange in server.fake.journal]


async def who_vanishes_before_the_first_byte_is_counted_out(arena: Arena) -> None:
    """While aiohttp holds the connection and the answer is not due for a minute."""
    async with here(text="replies: [{say: Hello, timing: {first_token_ms: 60000}}]") as server:
        async with connection(server.address) as (_, writer):
            writer.write(chunked(chat()))
            await until(lambda: server.fake.in_flight == 1, "the request did not arrive")
        await until(lambda: not server.fake.in_flight, "a request of nobody is in flight")


async def a_flood_is_refused_and_nobody_stalls(arena: Arena) -> None:
    """Beyond the limit: 429 at once with words, by either way in; who is inside gets the answer."""
    async with here(stream((b"one", 0.0), (b"two", 1_500.0)), max_in_flight=4) as server:
        inside = [await asyncio.open_connection(*server.address) for _ in range(4)]
        for reader, writer in inside:
            writer.write(post(chat()))
            await reader.readuntil(b"one")
        async with asyncio.timeout(2 + patience()):
            for request in [post(chat()), chunked(chat())] * 40:
                async with connection(server.address) as (reader, writer):
                    writer.write(request)
                    head = (await head_of(reader)).lower()
                    assert head.startswith(b"http/1.1 429 "), head
                    assert b"retry-after: 1" in head
                    assert b"4 requests are in flight" in await reader.readuntil(b"}")
            for reader, writer in inside:
                await reader.readuntil(b"two")
                writer.transport.abort()


async def thousands_of_idle_streams(arena: Arena) -> None:
    """Each gets its beginning, others are answered meanwhile, and all places are free when they vanish. The process
    begins with few file handles, as many systems give."""
    scenario = arena.folder / "slow.yaml"
    scenario.write_text("replies: [{say: Hello there, timing: {between_ms: 600000}}]")
    server = arena.process("serve", "--scenario", str(scenario), handles=(128, max(STREAMS + 500, 1_000)))
    opened = []
    async with asyncio.timeout(patience() + STREAMS / 100):
        for _ in range(STREAMS):
            reader, writer = await asyncio.open_connection(*server.address)
            writer.write(post(chat(stream=True)))
            opened.append((reader, writer))
        for reader, _ in opened:
            try:
                await reader.readuntil(b"data: ")
            except (ConnectionError, asyncio.IncompleteReadError) as reset:
                raise AssertionError("a stream was cut off") from reset
        async with connection(server.address) as (reader, writer):
            writer.write(b"GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
            assert STREAMS == await _running(await reader.read())
        for _, writer in opened:
            writer.transport.abort()
        while True:
            async with connection(server.address) as (reader, writer):
                writer.write(b"GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                if not await _running(await reader.read()):
                    break
            await asyncio.sleep(0.05)
    code, errors = server.stopped()
    assert code == 0, errors
    assert "warning" not in errors, errors


async def _running(page: bytes) -> int:
    line = next(row for row in page.decode().splitlines() if row.startswith("vllm:num_requests_running{"))
    return int(float(line.rpartition(" ")[2]))


async def when_handles_run_out_the_longest_silent_make_room(arena: Arena) -> None:
    """And it is said in a line, not in tracebacks."""
    server = arena.process("serve", handles=(64, 64))
    opened = [await asyncio.open_connection(*server.address) for _ in range(90)]
    reader, writer = opened[-1]
    writer.write(b"GET /health HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
    assert (await head_of(reader)).startswith(b"HTTP/1.1 200 ")
    for _, each in opened:
        each.transport.abort()
    _, errors = server.stopped()
    assert "no connection can be accepted: Too many open files" in errors, errors
    assert "Traceback" not in errors, errors


async def bytes_that_are_no_http_are_refused_in_a_line(arena: Arena) -> None:
    """With 400 to who sent them; a log full of tracebacks would hide what matters."""
    server = arena.process("serve")
    for sent in (
        b"\x16\x03\x01\x02\x00\x01\x01",
        b"GET /health HTTP/1.1\r\nhost : a\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ):
        async with connection(server.address) as (reader, writer):
            writer.write(sent)
            assert b" 400 " in await head_of(reader)
    _, errors = server.stopped()
    assert "a request that is no HTTP was refused" in errors, errors
    assert "Traceback" not in errors, errors


async def one_request_has_one_reading(arena: Arena) -> None:
    """Two lengths, or a length and chunks, are how requests are smuggled past a proxy."""
    twice = b"POST /v1/models HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\ncontent-length: 33\r\n\r\n"
    both = b"POST /v1/models HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n"
    async with here() as server:
        for head in (twice, both):
            head = head.replace(b"host: a", b"host: %d" % next(COUNT))  # heads are remembered
            async with connection(server.address) as (reader, writer):
                writer.write(head + b"GET /health HTTP/1.1\r\nhost: a\r\n\r\n")
                answer = await head_of(reader)
                assert b" 400 " in answer, answer
        assert not server.fake.journal.total


async def a_head_without_end_is_refused(arena: Arena) -> None:
    """Somebody who sends header after header gets 400 after some kilobytes."""
    async with here() as server, connection(server.address) as (reader, writer):
        writer.write(b"GET /health HTTP/1.1\r\n" + b"x-y: " + b"z" * 30_000)
        assert b" 400 " in await head_of(reader)


GUARDS = (
    Guard(
        "silent-reader", who_does_not_read_is_not_read_from, DIRECT + "pause_writing", "self._clogged = True", "pass"
    ),
    Guard("paced-reader", a_paced_stream_waits_for_its_reader, "fakellm.server.pace:MAX_BUFFERED", "", "2**60"),
    Guard(
        "silent-connection",
        who_is_silent_is_hung_up_on,
        "fakellm.server.listen:Listener.sweep",
        "connection.close()",
        "pass",
    ),
    Guard("vanished", who_vanishes_is_counted_out, DIRECT + "connection_lost", "self._gone()", "pass"),
    Guard(
        "vanished-early",
        who_vanishes_before_the_first_byte_is_counted_out,
        "fakellm.server.run:_runner",
        "handler_cancellation=True",
        "handler_cancellation=False",
    ),
    Guard(
        "flood",
        a_flood_is_refused_and_nobody_stalls,
        DIRECT + "_answer",
        "desk.fake.in_flight >= desk.max_in_flight",
        "False",
    ),
    Guard(
        "flood-by-aiohttp",
        a_flood_is_refused_and_nobody_stalls,
        "fakellm.server.app:handle",
        "fake.in_flight >= request.app[MAX_IN_FLIGHT]",
        "False",
    ),
    Guard(
        "handle-limit",
        thousands_of_idle_streams,
        "fakellm.server.trouble:raise_handle_limit",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))",
        "pass",
    ),
    Guard(
        "make-room",
        when_handles_run_out_the_longest_silent_make_room,
        "fakellm.server.listen:Listener.make_room",
        "connection.close()",
        "pass",
    ),
    Guard(
        "no-tracebacks",
        when_handles_run_out_the_longest_silent_make_room,
        "fakellm.server.run:install",
        "    loop.set_exception_handler(heard)",
        "    pass",
    ),
    Guard(
        "no-http",
        bytes_that_are_no_http_are_refused_in_a_line,
        "fakellm.server.run:_runner",
        "logger=LOGGER,",
        "",
    ),
    Guard(
        "one-reading",
        one_request_has_one_reading,
        "fakellm.server.heads:_read",
        "if name in headers or name in _ODD:",
        "if False:",
    ),
    Guard(
        "endless-head",
        a_head_without_end_is_refused,
        "fakellm.server.direct:may_become_plain",
        "len(data) < MAX_HEAD",
        "True",
    ),
)
