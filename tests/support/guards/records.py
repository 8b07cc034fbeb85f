"""Probes of records: nothing that was recorded is lost, a full disk is told, memory has an end, secrets are blanked."""

from __future__ import annotations

import asyncio
import errno
import json
from contextlib import suppress
from io import RawIOBase
from pathlib import Path
from typing import Any

from fakellm.ask import Request
from fakellm.fake import Fake
from fakellm.house import House
from fakellm.journal import Journal
from fakellm.message import Wire
from fakellm.problem import problem_wire
from fakellm.record.file import Appender, read
from fakellm.record.proxy import recording
from fakellm.record.taken import Taken
from fakellm.scenario.load import from_text

from ..stages import NOON, Spoken, spoken, stage
from .arena import SCENARIO, WireStage, here
from .mechanism import Arena, Guard, answer_of, chat, connection, head_of, patience, post, until

KEY = "sk-0123456789"
OTHER = "gw-9876543210"


class Sink(RawIOBase):
    """A journal file on a disk with room for so many bytes."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.held = b""

    def write(self, data: Any) -> int:
        taken = bytes(data)[: self.room]
        if not taken:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= len(taken)
        self.held += taken
        return len(taken)


async def a_full_disk_is_told_and_answers_go_on(arena: Arena) -> None:
    """By the health page, by the exchange, at the end; and what is written when there is room again is whole."""
    sink, scenario = Sink(100), from_text(SCENARIO, "probe")
    async with here(house=House({"probe": scenario}, scenario, sink=sink)) as server:
        async with connection(server.address) as (reader, writer):
            for room in (1_000_000, 0):
                writer.write(post(chat()))
                assert b"Hello" in (await answer_of(reader))[1]
                sink.room += room
        await until(lambda: len(sink.held.splitlines()) == 2, "the second line is missing")
        journal = server.fake.journal
        first = journal.number(1)
        assert first is not None
        assert "the journal file takes no more: No space left on device" == first.problem == journal.unwritten_why
        assert 1 == journal.unwritten
        assert 2 == json.loads(sink.held.splitlines()[1])["number"]


async def a_journal_has_an_end(arena: Arena) -> None:
    """By number and by bytes, the oldest go first."""
    for limits in ({"max_exchanges": 10}, {"max_bytes": 20_000}):
        journal = Journal(**limits)
        for at in range(40):
            journal.answered(journal.begin(float(at), "probe", Request("POST", "/", {}, {}, b"x" * 1_000)))

        assert len(journal) < 20
        assert 40 == journal.total == len(journal) + journal.dropped


class Desk:
    """Keeps what it is given once ``gate`` is open."""

    def __init__(self) -> None:
        self.gate, self.asked = asyncio.Event(), asyncio.Event()

    def outgoing(self, method: str, target: str, body: bytes) -> bytes:
        return body

    def rewriter(self, taken: Taken, asked: bytes) -> None:
        return None

    async def keep(self, taken: Taken) -> None:
        self.asked.set()
        await self.gate.wait()


async def no_client_has_more_than_was_recorded(arena: Arena) -> None:
    """The last piece of an answer waits until the exchange is on the disk; so a killed recorder lost nothing that
    anybody has seen whole."""
    desk = Desk()
    playing = WireStage(Wire(200, (("content-type", "a/b"),), problem_wire(404, "x", "y").frames))
    async with here(playing) as server:
        host, port = server.address
        async with recording(f"http://{host}:{port}", desk) as url:
            address = url.removeprefix("http://").split(":")
            async with connection((address[0], int(address[1]))) as (reader, writer):
                writer.write(post(chat()))
                async with asyncio.timeout(patience()):
                    await desk.asked.wait()
                head = await head_of(reader)
                assert b"200" in head
                try:
                    async with asyncio.timeout(0.3):
                        await reader.readuntil(b"}}")
                except TimeoutError:
                    pass
                else:
                    raise AssertionError("the answer was there before its record")
                finally:
                    desk.gate.set()
                async with asyncio.timeout(patience()):
                    await reader.readuntil(b"}}")


async def a_torn_line_spoils_no_other(arena: Arena) -> None:
    """What a killed recorder left half written is skipped, and the next line begins anew."""
    file = arena.folder / "exchanges.jsonl"
    request = {"method": "GET", "path": "/x", "headers": []}
    response = {"status": 200, "headers": [], "body": "", "truncated": False}
    row = {"name": "a", "truth": None, "kind": None, "note": None, "ending": "complete"}
    row |= {"request": request, "response": response}
    file.write_bytes(json.dumps(row).encode() + b"\n" + json.dumps(row).encode()[:20])
    with Appender(file) as appender:
        appender.append(row)

    assert 2 == len(read(file).lines)
    assert (2,) == read(file).broken


async def a_recording_that_the_disk_does_not_take_is_no_answer(arena: Arena) -> None:
    """The client is cut off instead of believing that it was recorded; the command ends with words and not with 0."""
    file = arena.folder / "exchanges.jsonl"
    async with here() as server:
        host, port = server.address
        upstream = f"http://{host}:{port}"
        recorder = await asyncio.to_thread(arena.process, "record", "--upstream", upstream, "--file", str(file), room=4)
        for _ in range(3):
            async with connection(recorder.address) as (reader, writer):
                writer.write(post(chat(), "/v1/chat/completions", b"connection: close"))
                body = (await reader.read()).partition(b"\r\n\r\n")[2]
                if not body.endswith(b"}"):
                    break
        else:
            raise AssertionError("more was answered than the disk holds")
    code, errors = await asyncio.to_thread(recorder.stopped)
    assert code, errors
    assert "could not be written down" in errors, errors
    assert "Traceback" not in errors, errors


async def no_secret_is_in_a_journal(arena: Arena) -> None:
    """Nor in what quotes it: some vendors repeat the key that was wrong, some clients send it in the query."""
    sink = Sink(1_000_000)
    playing = stage(Spoken(spoken("Hello")))
    fake = Fake({}, playing, now=lambda: NOON, journal=Journal(sink=sink))
    headers = {"authorization": f"Bearer {KEY}", "x-gateway-api-key": OTHER}
    answer, exchange = fake.answer(
        Request("POST", "/v1/models", {"api_key": KEY}, headers, f"my key is {KEY}".encode())
    )
    exchange.wire = problem_wire(401, f"Incorrect API key provided: {KEY}", "auth")
    fake.ended(exchange, 1.0)

    assert KEY not in sink.held.decode()
    assert OTHER not in sink.held.decode()
    assert 3 <= sink.held.decode().count("[redacted]")
    assert answer is not None


async def no_secret_is_in_a_recording(arena: Arena) -> None:
    """The file is made to be kept and shared."""
    file = arena.folder / "exchanges.jsonl"
    async with here() as server:
        host, port = server.address
        recorder = await asyncio.to_thread(
            arena.process, "record", "--upstream", f"http://{host}:{port}", "--file", str(file)
        )
        async with connection(recorder.address) as (reader, writer):
            body = chat(user=KEY)
            lines = (f"authorization: Bearer {KEY}".encode(), f"cookie: sid={KEY}".encode())
            writer.write(post(body, f"/v1/chat/completions?token={OTHER}", *lines))
            assert (await head_of(reader)).startswith(b"HTTP/1.1 200 ")
        await until(lambda: _size(file) > 500, "nothing was recorded")
    assert KEY not in file.read_text()
    assert OTHER not in file.read_text()


def _size(file: Path) -> int:
    with suppress(OSError):
        return file.stat().st_size
    return 0


JOURNAL = "fakellm.journal:Journal."
GUARDS = (
    Guard(
        "journal-full", a_full_disk_is_told_and_answers_go_on, JOURNAL + "finish", "except OSError", "except KeyError"
    ),
    Guard(
        "journal-torn",
        a_full_disk_is_told_and_answers_go_on,
        JOURNAL + "_write",
        'b"\\n" + line if self._torn else line',
        "line",
    ),
    Guard(
        "journal-number",
        a_journal_has_an_end,
        JOURNAL + "answered",
        "len(self._exchanges) > self._max_exchanges or ",
        "",
    ),
    Guard("journal-bytes", a_journal_has_an_end, JOURNAL + "answered", "self._bytes > self._max_bytes", "False"),
    Guard(
        "recorded-first",
        no_client_has_more_than_was_recorded,
        "fakellm.record.proxy:Proxy._answer",
        "held = out ",
        "await response.write(out) ",
    ),
    Guard(
        "torn-line",
        a_torn_line_spoils_no_other,
        "fakellm.record.file:Appender.append",
        'b"\\n" + spelled(line) if self._torn else spelled(line)',
        "spelled(line)",
    ),
    Guard(
        "recorder-full",
        a_recording_that_the_disk_does_not_take_is_no_answer,
        "fakellm.record.proxy:Proxy._answer",
        "answer.close()\n        _hang_up(passage.request)",
        "await response.write(held)",
    ),
    Guard("secrets-journal", no_secret_is_in_a_journal, "fakellm.hiding:Hiding.data", "data.replace", "str"),
    Guard("secrets-names", no_secret_is_in_a_journal, "fakellm.hiding:SECRET_ENDINGS", "", "('nothing',)"),
    Guard("secrets-query", no_secret_is_in_a_recording, "fakellm.hiding:Hiding.target", "_IN_QUERY.sub", "str"),
    Guard("secrets-recording", no_secret_is_in_a_recording, "fakellm.hiding:is_secret", "return name in", "return not"),
)
