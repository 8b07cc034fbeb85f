"""``exchanges.jsonl``: exact bytes, no secrets, readable whatever happened to the recorder."""

from __future__ import annotations

import base64
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakellm.errors import CaptureError
from fakellm.record.file import Appender, read
from fakellm.record.line import line_of, name_of, spelled
from fakellm.record.taken import CUT, Taken
from fakellm.record.truth import Read

PLAIN = Read("chat", True)


def exchange(**changes: Any) -> Taken:
    given: dict[str, Any] = {
        "number": 7,
        "at": 0.0,
        "method": "POST",
        "target": "/v1/chat/completions",
        "request_headers": (),
        "request_body": b"{}",
        "status": 200,
        "response_headers": (),
        "chunks": ((1.5, b"data: "), (2.5, b"x\n\n")),
        **changes,
    }
    return Taken(**given)


class TestLine:
    """One exchange as JSON."""

    def test_the_bytes_and_when_they_came(self) -> None:
        line = line_of(exchange(ending=CUT), PLAIN)

        assert "0007-chat-stream" == line["name"]
        assert "data: x\n\n" == line["response"]["body"]
        assert [[1.5, 6], [2.5, 3]] == line["arrivals"]
        assert line["response"]["truncated"]

    def test_a_route_without_engine_is_named_by_its_path(self) -> None:
        assert "0007-get-v1-models" == name_of(exchange(method="GET", target="/v1/models?x=1"), Read())

    @given(st.binary(max_size=60))
    def test_bytes_of_any_kind_come_back(self, data: bytes) -> None:
        line = json.loads(spelled(line_of(exchange(chunks=((0.0, data),)), PLAIN)))["response"]

        kept = base64.b64decode(line["base64"]) if "base64" in line else line["body"].encode()
        assert data == kept

    def test_a_compressed_answer_is_kept_readable(self) -> None:
        packed = exchange(chunks=((0.0, gzip.compress(b"hello")),), response_headers=(("Content-Encoding", "gzip"),))

        assert "hello" == line_of(packed, PLAIN)["response"]["body"]

    def test_secrets_are_blanked_wherever_they_stand(self) -> None:
        secret, session = "sk-very-secret", "s3ss10n-cookie"
        line = line_of(
            exchange(
                target=f"/v1/x?api_key={secret}&a=1",
                request_headers=(("Authorization", f"Bearer {secret}"), ("Cookie", f"sid={session}; a=1")),
                request_body=json.dumps({"user": secret}).encode(),
                chunks=((0.0, f"Incorrect API key provided: {secret} {session}".encode()),),
                response_headers=(("Set-Cookie", f"sid={session}"), ("X-Echo", secret)),
            ),
            PLAIN,
        )

        text = spelled(line).decode()
        assert secret not in text
        assert session not in text
        assert "a=1" in line["request"]["path"]

    def test_a_short_word_in_a_secret_header_does_not_blank_half_the_body(self) -> None:
        line = line_of(exchange(request_headers=(("X-Api-Key", "a"),), request_body=b'{"a": "bad"}'), PLAIN)

        assert '{"a": "bad"}' == line["request"]["raw"]


class TestFile:
    """Appending and reading back."""

    def test_lines_are_on_the_disk_when_append_returns(self, tmp_path: Path) -> None:
        place = tmp_path / "deep" / "exchanges.jsonl"

        with Appender(place) as appender:
            appender.append(line_of(exchange(), PLAIN))
            found = read(place)

        assert 1 == len(found.lines) == appender.count
        assert () == found.broken

    @pytest.mark.parametrize("cut", [1, 20, -1])
    def test_a_line_that_a_kill_cut_off_is_skipped_and_the_next_begins_anew(self, tmp_path: Path, cut: int) -> None:
        place = tmp_path / "exchanges.jsonl"
        whole = spelled(line_of(exchange(), PLAIN))
        place.write_bytes(whole + whole[:cut])

        before = read(place)
        with Appender(place) as appender:
            appender.append(line_of(exchange(number=9), PLAIN))

        assert (1 if cut != -1 else 2) == len(before.lines)
        names = [line["name"] for line in read(place).lines]
        assert ["0007-chat-stream", "0009-chat-stream"] == [names[0], names[-1]]
        assert place.read_bytes().startswith(whole + whole[:cut])

    def test_a_file_of_something_else_is_told(self, tmp_path: Path) -> None:
        place = tmp_path / "notes.txt"
        place.write_text("hello\n")

        with pytest.raises(CaptureError, match="no recorded exchange"):
            read(place)

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
    def test_nobody_else_may_read_what_was_recorded(self, tmp_path: Path) -> None:
        with Appender(tmp_path / "exchanges.jsonl") as appender:
            assert 0o600 == appender.path.stat().st_mode & 0o777
