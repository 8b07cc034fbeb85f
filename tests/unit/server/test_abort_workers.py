"""An abort that one worker hears ends the answers of all: nobody knows which worker has which connection."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers need a system that can fork")

SCENARIO = """
server: {env: {VLLM_SERVER_DEV_MODE: "1"}}
replies:
  - say: one two three
    timing: {first_token_ms: 0, between_ms: 3600000}
"""
STREAMS = 8
PATIENCE_SECONDS = 30.0


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    scenario = tmp_path / "slow.yaml"
    scenario.write_text(SCENARIO)
    command = [sys.executable, "-m", "fakellm", "serve", "--scenario", str(scenario), "--workers", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(json.loads(process.stdout.readline())["url"].rsplit(":", 1)[1])
        process.terminate()


def sent(port: int, path: str, body: Any) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    connection.request("POST", path, json.dumps(body), {"content-type": "application/json", "connection": "close"})
    return connection.getresponse()


def test_one_worker_is_told_and_all_end(port: int) -> None:
    body = {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}], "stream": True}

    with contextlib.ExitStack() as opened:
        streams = [opened.enter_context(sent(port, "/v1/chat/completions", body)) for _ in range(STREAMS)]
        firsts = [stream.readline() for stream in streams]  # on its way, wherever it is
        with sent(port, "/abort_requests", {}) as answer:
            said = json.loads(answer.read())
        rests = [stream.read() for stream in streams]

    assert all(first.startswith(b"data: {") for first in firsts)
    assert {"status": "aborted", "aborted": STREAMS} == said
    assert all(b'"finish_reason":"abort"' in rest for rest in rests)
