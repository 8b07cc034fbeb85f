"""Two replicas behind a load balancer: one script in Redis is played once; without state they answer alike."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PATIENCE_SECONDS = 20.0
ORDERED = """
replies:
  - {when: {last_message: next}, say: one, then: [{say: two}, {say: three}], times: 1}
  - {say: "the rest"}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < deadline, what


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


@contextmanager
def replica(folder: Path, *options: str) -> Iterator[str]:
    """A server of its own; gives its root URL."""
    scenario = folder / "ordered.yaml"
    scenario.write_text(ORDERED)
    with running(sys.executable, "-m", "fakellm", "serve", "--scenario", str(scenario), "-q", *options) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]


@pytest.fixture
def redis(tool: str, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    port = free_port()
    with running(tool, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)) as process:
        until(lambda: accepts(port), "redis-server did not start")
        yield process, port


def ask(url: str, text: str = "next") -> dict[str, Any]:
    body = json.dumps({"model": "tiny", "messages": [{"role": "user", "content": text}]}).encode()
    request = urllib.request.Request(url + "/v1/chat/completions", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        value: dict[str, Any] = json.loads(answer.read())
        return value


def said(answer: dict[str, Any]) -> str:
    return str(answer["choices"][0]["message"]["content"])


@pytest.mark.tool("redis-server")
def test_two_replicas_play_one_script_once(redis: tuple[Any, int], tmp_path: Path) -> None:
    state = f"redis://127.0.0.1:{redis[1]}/0"
    with replica(tmp_path, "--state", state) as first, replica(tmp_path, "--state", state) as second:
        answers = [ask(url) for url in (first, second, first, second, first)]

        with urllib.request.urlopen(second + "/_fakellm/journal", timeout=10) as answer:
            journal = json.loads(answer.read())

    assert ["one", "two", "three", "the rest", "the rest"] == [said(answer) for answer in answers]
    assert 5 == len({answer["id"] for answer in answers})
    assert [1, 2, 3, 4, 5] == [row["number"] for row in journal["exchanges"]]


@pytest.mark.tool("redis-server")
def test_a_redis_that_goes_away_is_a_clear_error(redis: tuple[subprocess.Popen[str], int], tmp_path: Path) -> None:
    process, port = redis
    with replica(tmp_path, "--state", f"redis://127.0.0.1:{port}/0") as url:
        ask(url)
        process.kill()
        process.wait(PATIENCE_SECONDS)

        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(url)

    assert 500 == refused.value.code
    assert "Redis does not answer" in json.loads(refused.value.read())["error"]["message"]


def test_without_state_replicas_answer_alike(tmp_path: Path) -> None:
    with replica(tmp_path) as first, replica(tmp_path) as second:
        answers = [ask(url, "anything else") for url in (first, second)]

    for answer in answers:
        answer.pop("created")
    assert answers[0] == answers[1]


@pytest.mark.tool("nginx")
def test_behind_nginx_streams_and_answers_pass(tool: str, tmp_path: Path) -> None:
    port = free_port()
    with replica(tmp_path) as first, replica(tmp_path) as second:
        upstreams = " ".join(f"server {url.removeprefix('http://')};" for url in (first, second))
        config = tmp_path / "nginx.conf"
        config.write_text(
            f"daemon off; pid {tmp_path}/nginx.pid; error_log stderr; events {{}}\n"
            f"http {{ access_log off; client_body_temp_path {tmp_path}/body; proxy_temp_path {tmp_path}/proxy;\n"
            f"fastcgi_temp_path {tmp_path}/f; uwsgi_temp_path {tmp_path}/u; scgi_temp_path {tmp_path}/s;\n"
            f"upstream fakes {{ {upstreams} }}\n"
            f"server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://fakes; proxy_buffering off; }} }} }}\n"
        )
        with running(tool, "-c", str(config), "-p", str(tmp_path)):
            until(lambda: accepts(port), "nginx did not start")
            answers = [ask(f"http://127.0.0.1:{port}", "anything else") for _ in range(4)]

    assert {"the rest"} == {said(answer) for answer in answers}
