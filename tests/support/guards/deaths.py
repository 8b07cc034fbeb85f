"""Probes of kill -9: a worker, the supervisor, a server with a journal, Redis. What was recorded stays."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from fakellm.state.in_redis import PAUSE_SECONDS

from .mechanism import Arena, Guard, Served, chat, patience, until


async def a_killed_worker_comes_back(arena: Arena) -> None:
    """And what was recorded before stays recorded."""
    file = arena.folder / "journal.jsonl"
    server = arena.process("serve", "--workers", "2", "--journal", str(file))
    await asyncio.to_thread(_said, server.url)
    recorded = file.read_bytes()
    killed = _children(server)[0]
    os.kill(killed, signal.SIGKILL)
    await until(lambda: len({*_children(server)} - {killed}) == 3, "the worker did not come back")
    for _ in range(4):
        await asyncio.to_thread(_said, server.url)
    _, errors = await asyncio.to_thread(server.stopped)
    assert "was killed by signal 9; started anew" in errors, errors
    assert file.read_bytes().startswith(recorded)
    assert 5 == len([json.loads(line) for line in file.read_text().splitlines()])


async def workers_end_with_their_supervisor(arena: Arena) -> None:
    """Else they would hold the port for ever, and nobody would know who they are."""
    server = arena.process("serve", "--workers", "2")
    children = _children(server)
    assert 3 == len(children)
    server.kill()
    try:
        await until(lambda: not any(_lives(pid) for pid in children), "workers outlived their supervisor")
    finally:
        for pid in children:
            if _lives(pid):
                os.kill(pid, signal.SIGKILL)


async def a_killed_server_has_written_every_exchange(arena: Arena) -> None:
    """Each line of a journal leaves the process before the answer is over."""
    file = arena.folder / "journal.jsonl"
    server = arena.process("serve", "--journal", str(file))
    for _ in range(5):
        (await asyncio.to_thread(urllib.request.urlopen, server.url + "/health", None, 10)).close()
    server.kill()
    assert 5 == len([json.loads(line) for line in file.read_text().splitlines()])


async def a_redis_that_is_killed_is_told_and_comes_back(arena: Arena) -> None:
    """The request that needed it gets words; when it is there again, so are the answers."""
    scenario = _ordered(arena.folder)
    redis, port = _redis(arena)
    server = arena.process("serve", "--scenario", scenario, "--state", f"redis://127.0.0.1:{port}/0", "-q")
    try:
        await asyncio.to_thread(_said, server.url)
        redis.kill()
        redis.wait()
        assert "Redis does not answer" in await asyncio.to_thread(_refusal, server.url)
        redis, _ = _redis(arena, port)
        assert "Hello" in await asyncio.to_thread(_said, server.url)
    finally:
        redis.kill()
        redis.wait()


async def a_redis_that_hangs_stalls_nobody(arena: Arena) -> None:
    """One request waits for it a second; the next twenty are told at once."""
    scenario = _ordered(arena.folder)
    redis, port = _redis(arena)
    server = arena.process("serve", "--scenario", scenario, "--state", f"redis://127.0.0.1:{port}/0", "-q")
    try:
        await asyncio.to_thread(_said, server.url)
        redis.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        for _ in range(20):
            assert "Redis does not answer" in await asyncio.to_thread(_refusal, server.url)
            assert time.monotonic() - began < PAUSE_SECONDS
    finally:
        redis.kill()
        redis.wait()


def _ordered(folder: Path) -> str:
    path = folder / "ordered.yaml"
    path.write_text("replies: [{say: Hello, times: 1000}]")
    return str(path)


def _redis(arena: Arena, port: int | None = None) -> tuple[subprocess.Popen[bytes], int]:
    if port is None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
    options = ("--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(arena.folder))
    process = subprocess.Popen([arena.tool, *options], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 10 * patience()
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process, port
        assert time.monotonic() < deadline, "redis-server did not start"
        time.sleep(0.02)


def _said(url: str) -> str:
    """What a plain request is answered."""
    request = urllib.request.Request(url + "/v1/chat/completions", chat(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        value: Any = json.loads(answer.read())
        return str(value["choices"][0]["message"]["content"])


def _refusal(url: str) -> str:
    try:
        return _said(url)
    except urllib.error.HTTPError as refused:
        return refused.read().decode()


def _states(*arguments: str) -> dict[int, str]:
    """Processes by their ids, with their states; those that have ended and were not waited for are left out."""
    listed = subprocess.run(["ps", "-o", "pid=,stat=", *arguments], check=False, capture_output=True, text=True)
    rows = [row.split() for row in listed.stdout.splitlines()]
    return {int(pid): state for pid, state in rows if not state.startswith("Z")}


def _children(server: Served) -> list[int]:
    return sorted(_states("--ppid", str(server.process.pid)))


def _lives(pid: int) -> bool:
    return pid in _states("-p", str(pid))


GUARDS = (
    Guard(
        "worker-restart",
        a_killed_worker_comes_back,
        "fakellm.server.workers:_Supervisor._wait",
        "self._start(child.number, child.private)",
        "pass",
    ),
    Guard(
        "orphans",
        workers_end_with_their_supervisor,
        "fakellm.server.run:until_signal",
        "loop.add_reader(alive, stop.set)",
        "pass",
    ),
    Guard(
        "journal-unbuffered",
        a_killed_server_has_written_every_exchange,
        "fakellm.cli.serve:serve.callback",
        'journal.open("ab", buffering=0)',
        'journal.open("ab")',
    ),
    Guard(
        "redis-words",
        a_redis_that_is_killed_is_told_and_comes_back,
        "fakellm.state.in_redis:RedisState._ask",
        "raise self._unanswered(str(problem)) from None",
        "raise",
        tool="redis-server",
    ),
    Guard(
        "redis-pause",
        a_redis_that_hangs_stalls_nobody,
        "fakellm.state.in_redis:PAUSE_SECONDS",
        "",
        "0.0",
        tool="redis-server",
    ),
)
