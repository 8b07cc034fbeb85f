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

from conftest import requires_tool

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


@contextmanager
def balanced(nginx: str, folder: Path, *urls: str) -> Iterator[str]:
    """nginx before these servers, taking turns; gives its URL."""
    port = free_port()
    upstreams = " ".join(f"server {url.removeprefix('http://')};" for url in urls)
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n"
        f"fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n"
        f"upstream fakes {{ {upstreams} }}\n"
        f"server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://fakes; proxy_buffering off; }} }} }}\n"
    )
    with running(nginx, "-c", str(config), "-p", str(folder)):
        until(lambda: accepts(port), "nginx did not start")
        yield f"http://127.0.0.1:{port}"


def exchanges(url: str) -> int:
    """How many this replica has answered itself."""
    with urllib.request.urlopen(url + "/_fakellm/health", timeout=10) as answer:
        return int(json.loads(answer.read())["exchanges"])


@pytest.mark.tool("nginx")
def test_behind_nginx_answers_pass_whichever_replica_gives_them(tool: str, tmp_path: Path) -> None:
    with replica(tmp_path) as first, replica(tmp_path) as second, balanced(tool, tmp_path, first, second) as url:
        answers = [ask(url, "anything else") for _ in range(4)]
        shares = exchanges(first), exchanges(second)

    assert {"the rest"} == {said(answer) for answer in answers}
    assert (2, 2) == shares


@pytest.mark.tool("nginx")
def test_behind_nginx_a_stream_comes_token_by_token(tool: str, tmp_path: Path) -> None:
    with replica(tmp_path) as only, balanced(tool, tmp_path, only) as url:
        body = json.dumps({"model": "tiny", "stream": True, "messages": [{"role": "user", "content": "x"}]}).encode()
        request = urllib.request.Request(url + "/v1/chat/completions", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            events = [line for line in answer.read().split(b"\n\n") if line]

    assert b"data: [DONE]" == events[-1]
    assert len(events) > 3


@pytest.mark.tool("redis-server")
def test_one_script_is_played_once_behind_nginx_with_its_state_in_redis(redis: tuple[Any, int], tmp_path: Path) -> None:
    nginx, state = requires_tool("nginx"), f"redis://127.0.0.1:{redis[1]}/0"
    with (
        replica(tmp_path, "--state", state) as first,
        replica(tmp_path, "--state", state) as second,
        balanced(nginx, tmp_path, first, second) as url,
    ):
        answers = [ask(url) for _ in range(6)]
        with urllib.request.urlopen(first + "/_fakellm/journal", timeout=10) as answer:
            rows = json.loads(answer.read())["exchanges"]
        shares = exchanges(first), exchanges(second)

    assert ["one", "two", "three", "the rest", "the rest", "the rest"] == [said(answer) for answer in answers]
    assert list(range(1, 7)) == [row["number"] for row in rows]
    assert 6 == len({answer["id"] for answer in answers})
    assert (3, 3) == shares
