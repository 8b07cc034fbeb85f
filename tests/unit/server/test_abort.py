"""An answer on its way ends when a route of the server says so: over a socket, both ways, with an hour between tokens.

Nothing here waits for a clock: the first token is due at once, the next one in an hour, and only the abort ends it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fakellm.journal import Exchange
from fakellm.message import Frame
from fakellm.server.pace import Pump
from fakellm.stage import Stage
from fakellm.timing import Timing
from support.stages import NOON, TOKENIZER, Spoken, spoken, station
from unit.server.test_direct import PATIENCE_SECONDS, Way, chat, request

HOUR = 3_600_000.0
SLOW = Timing(first_token_ms=0.0, between_ms=HOUR)
QUEUED = Timing(first_token_ms=HOUR, between_ms=1.0)
DEV = {"VLLM_SERVER_DEV_MODE": "1"}
ABORT_ALL = request({}, "/abort_requests", "connection: close")
WAYS = pytest.mark.parametrize("quick", [True, False], ids=["quick", "aiohttp"])


def playing(layout: str = "vllm-0.32.0", timing: Timing = SLOW, **launch: Any) -> Stage:
    found, started = station(layout, **launch)
    source = Spoken(spoken("one two three"), timing=timing)
    return Stage("test", found, started, source, now=lambda: NOON, tokenizer=TOKENIZER)


def unchunked(data: bytes) -> bytes:
    """The body of a chunked answer."""
    _, _, rest = data.partition(b"\r\n\r\n")
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            return body
        body, rest = body + rest[:length], rest[length + 2 :]
    raise AssertionError("the last chunk is missing")


def events(body: bytes) -> list[Any]:
    lines = [line[6:] for line in body.decode().splitlines() if line.startswith("data: {")]
    assert body.endswith(b"data: [DONE]\n\n"), body
    return [json.loads(line) for line in lines]


async def begun(way: Way) -> Exchange:
    """The exchange, when its answer is on its way."""
    stage_of_way = way.fake.default
    while not len(stage_of_way.flights):
        await asyncio.sleep(0)
    return next(iter(way.fake.journal))


@asynccontextmanager
async def aloft(way: Way, asked: bytes) -> AsyncIterator[tuple[asyncio.StreamReader, Exchange]]:
    """A request whose answer is on its way: what reads it, and its record."""
    async with asyncio.timeout(PATIENCE_SECONDS), way.connected() as (reader, writer):
        writer.write(asked)
        yield reader, await begun(way)


async def aborted(way: Way, asked: bytes, order: bytes) -> tuple[bytes, bytes, Exchange]:
    """(the answer, what the abort route said, the record) of a request that is aborted on its way."""
    async with aloft(way, asked) as (reader, exchange):
        said = await way.said(order)
        return await reader.read(), said, exchange


@WAYS
async def test_a_stream_ends_with_what_it_has(quick: bool) -> None:
    asked = chat("connection: close", stream=True, return_token_ids=True, logprobs=True)

    async with Way(playing(env=DEV), quick=quick) as way:
        answer, said, exchange = await aborted(way, asked, ABORT_ALL)

    rows = [event["choices"][0] for event in events(unchunked(answer))]
    assert ["abort"] == [row["finish_reason"] for row in rows if row["finish_reason"]]
    assert [1, 0] == [len(row["token_ids"]) for row in rows if row.get("token_ids") is not None]
    assert said.endswith(b'{"status":"aborted","aborted":1}')
    assert exchange.aborted_ms is not None
    assert exchange.body == unchunked(answer)


@WAYS
async def test_a_whole_answer_is_woken_up(quick: bool) -> None:
    async with Way(playing(env=DEV), quick=quick) as way:
        answer, _, exchange = await aborted(way, chat("connection: close", return_token_ids=True), ABORT_ALL)

    body = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert ("abort", 1) == (body["choices"][0]["finish_reason"], len(body["choices"][0]["token_ids"]))
    assert {"prompt_tokens", "completion_tokens"} < body["usage"].keys()
    assert 1 == body["usage"]["completion_tokens"]
    assert exchange.body == answer.partition(b"\r\n\r\n")[2]


@WAYS
async def test_what_waits_in_the_queue_ends_without_tokens(quick: bool) -> None:
    async with Way(playing(timing=QUEUED, env=DEV), quick=quick) as way:
        answer, _, _ = await aborted(way, chat("connection: close", return_token_ids=True), ABORT_ALL)

    choice = json.loads(answer.partition(b"\r\n\r\n")[2])["choices"][0]
    assert ("abort", [], "") == (choice["finish_reason"], choice["token_ids"], choice["message"]["content"])


@WAYS
async def test_only_the_request_that_is_named_ends(quick: bool) -> None:
    asked = chat("connection: close", "x-request-id: mine", stream=True)
    other = request({"request_ids": ["chatcmpl-other"]}, "/abort_requests", "connection: close")
    mine = request({"request_ids": ["chatcmpl-mine", "chatcmpl-other"]}, "/abort_requests", "connection: close")

    async with Way(playing(env=DEV), quick=quick) as way, aloft(way, asked) as (reader, exchange):
        missed = await way.said(other)
        assert exchange.aborted_ms is None
        hit = await way.said(mine)
        answer = await reader.read()

    assert (b'"aborted":1}', b'"aborted":2}') == (missed[-12:], hit[-12:])  # it says how many were named
    assert "abort" == events(unchunked(answer))[-1]["choices"][0]["finish_reason"]


@WAYS
async def test_the_id_that_was_drawn_is_the_id_that_ends_it(quick: bool) -> None:
    """The client reads the id off the stream's first event; the second time the answer comes from its plan."""
    async with Way(playing(env=DEV), quick=quick) as way:
        for _ in range(2):
            async with aloft(way, chat("connection: close", stream=True)) as (reader, _):
                first = (await reader.readuntil(b"\n\n")).partition(b"data: ")[2]
                named = {"request_ids": [json.loads(first)["id"]]}
                await way.said(request(named, "/abort_requests", "connection: close"))
                assert b'"finish_reason":"abort"' in await reader.read()


async def test_a_prompt_of_several_ends_alone() -> None:
    """The engine has one request per prompt; the others are still on their way."""
    body = {"model": "tiny", "prompt": ["Hi", "Ho"], "stream": True, "return_token_ids": True}
    asked = request(body, "/v1/completions", "connection: close", "x-request-id: x")
    one = request({"request_ids": ["cmpl-x-1"]}, "/abort_requests", "connection: close")

    async with Way(playing(env=DEV), quick=True) as way, aloft(way, asked) as (reader, exchange):
        await way.said(one)
        played = exchange.behind()
        assert 1 == len(way.fake.default.flights)
        await way.said(ABORT_ALL)
        answer = await reader.read()

    assert played is not None
    assert ["stop", "abort"] == [each.choices[0].finish_reason for each in played.generations]
    ends = [event["choices"][0] for event in events(unchunked(answer)) if event["choices"][0]["finish_reason"]]
    assert {(0, "abort"), (1, "abort")} == {(row["index"], row["finish_reason"]) for row in ends}


async def test_the_journal_and_the_numbers_know_of_it() -> None:
    async with Way(playing(env=DEV), quick=True) as way:
        _, _, exchange = await aborted(way, chat("connection: close", stream=True), ABORT_ALL)
        metrics = (await way.said(request(None, "/metrics", "connection: close", method="GET"))).decode()

    detail = exchange.detail()
    choice = detail["truth"][0]["choices"][0]
    assert ("abort", 1) == (choice["finish_reason"], len(choice["tokens"]))
    assert detail["aborted_ms"] == exchange.aborted_ms
    assert 'finished_reason="abort"} 1.0' in metrics
    assert 'finished_reason="stop"} 0.0' in metrics
    assert 'vllm:generation_tokens_total{engine="0",model_name="tiny"} 1.0' in metrics


async def test_nothing_on_its_way_is_nothing_to_abort() -> None:
    async with Way(playing(env=DEV), quick=True) as way:
        assert (await way.said(ABORT_ALL)).endswith(b'"aborted":0}')


async def test_samples_count_with_their_parent() -> None:
    async with Way(playing(env=DEV), quick=True) as way:
        _, said, _ = await aborted(way, chat("connection: close", stream=True, n=2, temperature=1.0), ABORT_ALL)

    assert said.endswith(b'"aborted":3}')


@pytest.mark.parametrize(
    ("version", "order", "ends"),
    [
        ("0.32.0", "/pause", True),
        ("0.32.0", "/pause?mode=wait", False),
        ("0.32.0", "/pause?mode=keep", False),
        ("0.12.0", "/pause", True),
        ("0.12.0", "/pause?wait_for_inflight_requests=true", False),
        ("0.32.0", "/sleep", True),
        ("0.32.0", "/sleep?mode=keep", False),
        ("0.20.2", "/sleep", True),
        ("0.16.0", "/sleep", False),
    ],
)
async def test_pausing_and_sleeping_end_what_the_version_ends(version: str, order: str, ends: bool) -> None:
    async with Way(playing(f"vllm-{version}", env=DEV), quick=True) as way, aloft(way, chat(stream=True)) as aloft_one:
        await way.said(request({}, order, "connection: close"))
        exchange = aloft_one[1]

    assert ends == (exchange.aborted_ms is not None)


async def test_a_client_that_left_is_out_of_reach() -> None:
    async with Way(playing(env=DEV), quick=True) as way:
        async with aloft(way, chat(stream=True)):
            pass
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(way.fake.default.flights):
                await asyncio.sleep(0)
            assert (await way.said(ABORT_ALL)).endswith(b'"aborted":0}')


class Transport(asyncio.Transport):
    """A transport that keeps what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.buffered = 0

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return self.buffered


async def test_a_pump_sends_the_new_frames_at_once() -> None:
    transport = Transport()
    started = asyncio.get_running_loop().time()
    pump = Pump(transport, [Frame(b"never", HOUR)], started, chunked=False)
    pump.start()

    reached = pump.reach()
    pump.replace([Frame(b"abort", 0.0)])
    await pump.done

    assert reached is not None
    assert ([b"abort"], 5, None) == (transport.written, pump.sent, pump.reach())


async def test_a_reader_that_is_slow_gets_them_later() -> None:
    transport = Transport()
    pump = Pump(transport, [Frame(b"never", HOUR)], asyncio.get_running_loop().time(), chunked=False)
    pump.start()

    transport.buffered = 10_000_000
    pump.replace([Frame(b"abort", 0.0)])
    assert [] == transport.written
    transport.buffered = 0
    async with asyncio.timeout(PATIENCE_SECONDS):
        await pump.done

    assert [b"abort"] == transport.written


# ------------------------------------------------------------------- SGLang


def generate(rid: Any, **body: Any) -> bytes:
    return request({"text": "Hi", "rid": rid, **body}, "/generate", "connection: close")


def abort_one(rid: str) -> bytes:
    return request({"rid": rid}, "/abort_request", "connection: close")


@WAYS
async def test_sglang_makes_one_step_more(quick: bool) -> None:
    """The scheduler lets the forward pass that runs end."""
    async with Way(playing("sglang-0.5.23"), quick=quick) as way:
        answer, said, _ = await aborted(way, generate("a", return_logprob=True), abort_one("a"))

    body = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert {"type": "abort", "message": "Aborted", "status_code": None, "err_type": None} == body["meta_info"][
        "finish_reason"
    ]
    assert (2, 2) == (len(body["output_ids"]), len(body["meta_info"]["output_token_logprobs"]))
    assert said.startswith(b"HTTP/1.1 200")


async def test_sglang_takes_an_id_for_a_prefix_when_it_is_in_flight() -> None:
    asked = request({"text": ["Hi", "Ho"], "rid": ["ab", "abc"]}, "/generate", "connection: close")

    async with Way(playing("sglang-0.5.23"), quick=True) as way, aloft(way, asked) as (reader, exchange):
        await way.said(abort_one("a"))
        assert exchange.aborted_ms is None
        await way.said(abort_one("ab"))
        body = json.loads((await reader.read()).partition(b"\r\n\r\n")[2])

    assert ["abort", "abort"] == [each["meta_info"]["finish_reason"]["type"] for each in body]


@pytest.mark.parametrize(
    ("version", "members", "message"),
    [
        ("0.5.3", {"id", "finish_reason", "prompt_tokens", "completion_tokens"}, "Abort before prefill"),
        (
            "0.5.23",
            {
                "id",
                "finish_reason",
                "weight_version",
                "e2e_latency",
                "completion_tokens",
                "response_sent_to_client_ts",
            },
            "Abort in waiting queue",
        ),
    ],
)
async def test_sglang_tells_little_of_what_never_began(version: str, members: set[str], message: str) -> None:
    async with Way(playing(f"sglang-{version}", QUEUED), quick=True) as way:
        answer, _, _ = await aborted(way, generate("a"), abort_one("a"))

    body = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert members == body["meta_info"].keys()
    assert {"type": "abort", "message": message} == body["meta_info"]["finish_reason"]
    assert "" == body["text"]


@pytest.mark.parametrize(
    ("path", "body", "ends"),
    [
        ("/pause_generation", {}, True),
        ("/pause_generation", {"mode": "in_place"}, False),
        ("/update_weight_version", {"new_version": "2"}, True),
        ("/update_weight_version", {"new_version": "2", "abort_all_requests": False}, False),
        ("/update_weights_from_disk", {"model_path": "m"}, False),
        ("/update_weights_from_disk", {"model_path": "m", "abort_all_requests": True}, True),
        (
            "/update_weights_from_distributed",
            {"names": ["a"], "dtypes": ["float16"], "shapes": [[1]], "abort_all_requests": True},
            True,
        ),
        ("/abort_request", {"abort_all": True}, True),
        ("/abort_request", {}, False),
    ],
)
async def test_sglang_routes_end_what_they_end(path: str, body: dict[str, Any], ends: bool) -> None:
    asked = generate("a", stream=True)

    async with Way(playing("sglang-0.5.23"), quick=True) as way, aloft(way, asked) as (_, exchange):
        await way.said(request(body, path, "connection: close"))

    assert ends == (exchange.aborted_ms is not None)


async def test_sglang_shows_the_stored_response_as_it_was_aborted() -> None:
    asked = request({"model": "tiny", "input": "Hi", "request_id": "resp_a"}, "/v1/responses", "connection: close")

    async with Way(playing("sglang-0.5.12"), quick=True) as way:
        answer, _, _ = await aborted(way, asked, abort_one("resp_a"))
        kept = await way.said(request(None, "/v1/responses/resp_a", "connection: close", method="GET"))

    assert answer.partition(b"\r\n\r\n")[2] == kept.partition(b"\r\n\r\n")[2]


@WAYS
async def test_a_stream_that_breaks_is_hung_up_on(quick: bool) -> None:
    """SGLang up to 0.5.9 fails on a chat that was aborted in the queue: no event, no end, no connection."""
    order = request({"abort_all": True}, "/abort_request", "connection: close")

    async with Way(playing("sglang-0.5.9", QUEUED), quick=quick) as way:
        answer, _, _ = await aborted(way, chat(stream=True), order)

    head, _, body = answer.partition(b"\r\n\r\n")
    assert (True, b"") == (head.startswith(b"HTTP/1.1 200"), body)
