"""Heads that have one reading are read; everything else is left to aiohttp."""

from __future__ import annotations

import pytest

from fakellm.server.heads import answer_lines, bodiless, raw_lines, read_head

PLAIN = b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nX-Odd:  spaced \t value \r\n\r\n"


class TestRequests:
    """What is read, and what is not."""

    def test_a_plain_head(self) -> None:
        head = read_head(PLAIN)

        assert head is not None
        assert ("POST", "/v1/chat/completions", 2, True) == (head.method, head.path, head.length, head.keep_alive)
        assert {"host": "a", "content-length": "2", "x-odd": "spaced \t value"} == dict(head.headers)

    @pytest.mark.parametrize(("said", "kept"), [("keep-alive", True), ("Close", False)])
    def test_whether_the_connection_stays(self, said: str, kept: bool) -> None:
        head = read_head(f"GET / HTTP/1.1\r\nconnection: {said}\r\n\r\n".encode())

        assert head is not None
        assert kept is head.keep_alive

    @pytest.mark.parametrize(
        "line",
        [
            b"PUT / HTTP/1.1",
            b"get / HTTP/1.1",
            b"GET / HTTP/1.0",
            b"GET  / HTTP/1.1",
            b"GET /a?b HTTP/1.1",
            b"GET /a%20b HTTP/1.1",
            b"GET /../a HTTP/1.1",
            b"GET //a HTTP/1.1",
            b"GET /a/./b HTTP/1.1",
            b"GET http://a/ HTTP/1.1",
            b"GET * HTTP/1.1",
            b"GET / HTTP/1.1 ",
            b"GET /\xc3\xa9 HTTP/1.1",
            b"",
        ],
    )
    def test_an_odd_request_line(self, line: bytes) -> None:
        assert read_head(line + b"\r\nhost: a\r\n\r\n") is None

    @pytest.mark.parametrize(
        "field",
        [
            b"transfer-encoding: chunked",
            b"Transfer-Encoding : chunked",
            b"expect: 100-continue",
            b"upgrade: websocket",
            b"connection: upgrade",
            b"content-encoding: gzip",
            b"content-length: -1",
            b"content-length: +2",
            b"content-length: 2, 2",
            b"content-length: 99999999999",
            b"content-length: \xd9\xa2",
            b"host: b",
            b" folded: line",
            b"no colon",
            b": no name",
            b"name: \xe9",
            b"name: a\x00b",
            b"name: a\nb: c",
            b"na me: a",
        ],
    )
    def test_an_odd_header(self, field: bytes) -> None:
        assert read_head(b"POST / HTTP/1.1\r\nhost: a\r\n" + field + b"\r\n\r\n") is None


class TestAnswers:
    """What is written."""

    def test_headers_stand_as_the_layout_has_them_without_their_framing(self) -> None:
        headers = (("server", "uvicorn"), ("content-type", "text/plain"), ("content-length", "9"))

        before, after = answer_lines(200, headers)

        assert b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/plain\r\n" == before
        assert b"" == after

    def test_a_body_without_a_type_gets_one(self) -> None:
        assert (b"HTTP/1.1 200 OK\r\n", b"Content-Type: application/octet-stream\r\n") == answer_lines(200, ())

    def test_no_value_can_begin_a_line_of_its_own(self) -> None:
        sneaky = (("x-id", "a\r\nset-cookie: b\x00"),)

        assert b"x-id: a  set-cookie: b \r\n" in answer_lines(200, sneaky)[0]
        assert b"x-id: a  set-cookie: b \r\n" in raw_lines(200, sneaky)

    def test_an_unknown_status_has_no_words(self) -> None:
        assert answer_lines(799, ())[0].startswith(b"HTTP/1.1 799 \r\n")

    @pytest.mark.parametrize(("status", "none"), [(100, True), (204, True), (304, True), (200, False), (404, False)])
    def test_which_answers_have_no_body(self, status: int, none: bool) -> None:
        assert none is bodiless(status)
