"""Bytes that are written, cut, timed and labelled otherwise, on hand-made frames."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from fakellm.errors import FaultError
from fakellm.message import Frame, Wire
from support.faulty import ask, body_wire, distorted, sent, stream_wire

EVENTS = ('{"id":"a","n":1}', '{"id":"b","n":"é"}', "[DONE]")
STREAM = ask(stream=True)


def after(entry: Any, wire: Wire | None = None) -> Wire:
    return distorted(entry, wire or stream_wire(*EVENTS), STREAM)


class TestEvents:
    @pytest.mark.parametrize(
        ("name", "first"),
        [
            ("sse-crlf", b'data: {"id":"a","n":1}\r\n\r\n'),
            ("sse-cr", b'data: {"id":"a","n":1}\r\r'),
            ("sse-no-space", b'data:{"id":"a","n":1}\n\n'),
            ("sse-multi-line-data", b'data: {\ndata: "id":"a","n":1\ndata: }\n\n'),
            ("sse-comments", b": keep-alive\n\n"),
            ("sse-empty-data", b"data:\n\n"),
            ("sse-event-fields", b'id: 1\nretry: 1000\nx-origin: gateway\ndata: {"id":"a","n":1}\n\n'),
            ("sse-byte-order-mark", b'\xef\xbb\xbfdata: {"id":"a","n":1}\n\n'),
        ],
    )
    def test_the_first_event(self, name: str, first: bytes) -> None:
        assert first == after(name).frames[0].data

    def test_comments_after_every_second_event(self) -> None:
        assert 2 == sent(after({"sse-comments": {"every": 2}})).count(b": keep-alive")

    @pytest.mark.parametrize(
        ("name", "count", "end"),
        [
            ("done-missing", 0, b'"\xc3\xa9"}\n\n'),
            ("done-twice", 2, b"data: [DONE]\n\n"),
            ("text-after-done", 1, b'"cost":0.0}\n\n'),
        ],
    )
    def test_the_end(self, name: str, count: int, end: bytes) -> None:
        data = sent(after(name))

        assert (count, True) == (data.count(b"[DONE]"), data.endswith(end))

    def test_an_api_without_done_gets_one_before_something_follows_it(self) -> None:
        data = sent(after("text-after-done", stream_wire("{}")))

        assert data.startswith(b"data: {}\n\ndata: [DONE]\n\ndata: ")

    def test_a_stream_that_became_a_body_is_left_alone(self) -> None:
        body = body_wire("{}")

        assert body == after("sse-crlf", body)


class TestPackets:
    def test_characters_are_cut(self) -> None:
        wire = after("split-inside-utf8")

        assert sent(stream_wire(*EVENTS)) == sent(wire)
        assert any(frame.data.endswith(b"\xc3") for frame in wire.frames)
        assert not wire.coalesce

    def test_cr_and_lf_come_apart(self) -> None:
        wire = after("split-inside-crlf")

        assert sent(after("sse-crlf")) == sent(wire)
        assert all(b"\r\n" not in frame.data for frame in wire.frames)

    def test_everything_at_once(self) -> None:
        wire = after("many-events-in-one-packet", stream_wire("1", "2", due=(0.0, 30.0)))

        assert [(b"data: 1\n\ndata: 2\n\n", 30.0)] == [(frame.data, frame.due_ms) for frame in wire.frames]

    def test_a_dribble(self) -> None:
        wire = after({"slow-dribble": {"size": 10, "every_ms": 2.0}}, body_wire('{"a":"1234567890"}'))

        assert [(10, 0.0), (8, 2.0)] == [(len(frame.data), frame.due_ms) for frame in wire.frames]

    def test_a_dribble_of_many_packets_takes_no_longer_than_it_may(self) -> None:
        wire = after({"slow-dribble": {"size": 1, "every_ms": 100.0, "longest_ms": 500.0}})

        assert wire.frames[-1].due_ms < 500.0

    def test_a_stall_delays_what_follows(self) -> None:
        wire = after({"stall": {"at": 1, "ms": 250.0}}, stream_wire("1", "2", "3", due=(0.0, 10.0, 20.0)))

        assert [0.0, 260.0, 270.0] == [frame.due_ms for frame in wire.frames]

    def test_a_stall_behind_the_end(self) -> None:
        with pytest.raises(FaultError, match="position 9 is outside of the answer's 3 packets"):
            after({"stall": {"at": 9}})

    @pytest.mark.parametrize(("at", "left"), [(0, b""), (4, b"data"), (-1, b"data: 1\n\ndata: 2\n"), (10**9, None)])
    def test_a_cut(self, at: int, left: bytes | None) -> None:
        wire = after({"connection-cut": {"at": at}}, stream_wire("1", "2"))

        assert (b"data: 1\n\ndata: 2\n" if left is None else left, True) == (sent(wire), wire.cut)

    def test_a_whole_body_promises_all_its_bytes(self) -> None:
        body = distorted({"connection-cut": {"at": 3}}, Wire(200, (), (Frame(b'{"a": 12}'),)))

        assert (b'{"a', (("content-length", "9"),), True) == (sent(body), body.headers, body.cut)

    @pytest.mark.parametrize("entry", ["split-inside-utf8", {"slow-dribble": {"size": 2}}])
    def test_packets_of_a_whole_body_are_sent_as_they_are(self, entry: Any) -> None:
        body = distorted(entry, Wire(200, (), (Frame("é".encode() * 4),)))

        assert 1 < len(body.frames)
        assert (("content-length", "8"),) == body.headers


class TestHeaders:
    def headers(self, entry: Any, wire: Wire) -> dict[str, str]:
        return dict(distorted(entry, wire).headers)

    @pytest.mark.parametrize(("more", "told"), [(10, "17"), (-3, "4")])
    def test_a_wrong_length(self, more: int, told: str) -> None:
        assert told == self.headers({"content-length-wrong": {"more": more}}, body_wire('{"a":1}'))["content-length"]

    def test_a_wrong_type(self) -> None:
        assert "text/plain; charset=utf-8" == self.headers("content-type-wrong", body_wire("{}"))["content-type"]

    def test_gzip(self) -> None:
        wire = distorted("gzip", body_wire('{"a":1}'))

        assert b'{"a":1}' == gzip.decompress(sent(wire))
        assert ("gzip", str(len(sent(wire)))) == (
            dict(wire.headers)["content-encoding"],
            dict(wire.headers)["content-length"],
        )

    def test_gzip_of_a_large_body(self) -> None:
        large = "[" + "1," * 100_000 + "1]"

        assert large.encode() == gzip.decompress(sent(distorted("gzip", body_wire(large))))

    def test_gzip_twice_is_gzip_once(self) -> None:
        once = distorted("gzip", body_wire('{"a":1}'))

        assert once == distorted("gzip", once)


class TestJson:
    body = '{"id":"x","choices":[{"index":0,"logprobs":{"top_logprobs":[{"b":-1,"a":-2}]}}]}'

    def after(self, entry: Any) -> bytes:
        wire = distorted(entry, body_wire(self.body))
        assert str(len(sent(wire))) == dict(wire.headers)["content-length"]
        return sent(wire)

    @pytest.mark.parametrize(
        "entry",
        [
            "json-line-separators",
            "json-duplicate-keys",
            "json-duplicate-keys-differ",
            "huge-body",
            "deep-nesting",
            "json-whitespace",
            "json-key-order",
        ],
    )
    def test_a_parser_finds_the_same_values(self, entry: str) -> None:
        data = self.after(entry)

        assert self.body.encode() != data
        assert json.loads(self.body) == {key: v for key, v in json.loads(data).items() if not key.startswith("x_")}

    def test_line_separators_are_raw(self) -> None:
        assert "a\u2028b\u2029c\x85d".encode() in self.after("json-line-separators")

    def test_a_doubled_key(self) -> None:
        assert self.after("json-duplicate-keys").startswith(b'{"id":"x","id":"x",')
        assert self.after("json-duplicate-keys-differ").startswith(b'{"id":"other","id":"x",')

    def test_sizes(self) -> None:
        assert 300_000 < len(self.after("huge-body")) < 301_000
        assert b"[" * 50 + b"]" * 50 in self.after("deep-nesting")

    def test_objects_keyed_by_token_keep_their_order(self) -> None:
        assert b'{"b":-1,"a":-2}' in self.after("json-key-order")
        assert self.after("json-key-order").startswith(b'{"choices":[{"logprobs":')

    def test_only_one_event_is_huge(self) -> None:
        assert len(sent(after({"huge-body": {"bytes": 1000}}))) < 1200

    def test_garbage_behind_the_body(self) -> None:
        assert self.after("trailing-garbage").endswith(b"}<!-- proxied -->\n")
        assert sent(after("trailing-garbage")).endswith(b"[DONE]\n\n<!-- proxied -->\n")


class TestJudgement:
    @pytest.mark.parametrize(
        ("entry", "may"),
        [
            ("stall", ("recover",)),
            ({"stall": {"ms": 1500.0}}, ("recover", "refuse")),
            ("huge-body", ("recover",)),
            ({"huge-body": {"bytes": 2_000_000}}, ("recover", "refuse")),
            ("deep-nesting", ("recover",)),
            ({"deep-nesting": {"depth": 200}}, ("recover", "refuse")),
            ("gzip", ("recover", "refuse")),
        ],
    )
    def test_what_a_client_may_do(self, entry: Any, may: tuple[str, ...]) -> None:
        from fakellm.faults.registry import parse

        assert may == parse(entry).may(ask())
