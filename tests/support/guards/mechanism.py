"""What keeps the fake up, as data: each :class:`Guard` is a piece of code, and a probe that fails without it.

A guard names the function it stands in and its exact text. Taking it out compiles the function anew with another text
in that place, here or in a process that is started with it; a guard whose text has gone is an error, never a silent
pass. Probes are coroutines over an :class:`Arena`, which gives them servers; they raise AssertionError or TimeoutError.
"""

from __future__ import annotations
import __future__

import asyncio
import functools
import inspect
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from fakellm.errors import FakellmError

TESTS = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 20.0
SHORT_SECONDS = 1.5
_patience: list[float] = [PATIENCE_SECONDS]


def patience() -> float:
    """How long to wait for what comes at once, in seconds."""
    return _patience[-1]


@contextmanager
def little_patience() -> Iterator[None]:
    """For a probe that is to fail: it need not wait long for what will not come."""
    _patience.append(SHORT_SECONDS)
    try:
        yield
    finally:
        _patience.pop()


Setter = Callable[[Any, str, Any], None]


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard. ``where``: ``package.module:Class.function`` or ``package.module:NAME`` of a limit; ``text``: what
    stands there; ``instead``: what a careless hand would have written (of a limit: another value, and no text).
    ``tool``: a program that the probe needs."""

    name: str
    probe: Callable[[Arena], Awaitable[None]]
    where: str
    text: str
    instead: str
    tool: str | None = None

    def take_out(self, put: Setter = setattr) -> None:
        """Play on without it."""
        module_name, _, path = self.where.partition(":")
        module = import_module(module_name)
        *owners, name = path.split(".")
        owner: Any = functools.reduce(getattr, owners, module)
        if not self.text:
            assert hasattr(owner, name), f"{self.where} is no more"
            put(owner, name, eval(self.instead, vars(module)))
            return
        function = inspect.unwrap(getattr(owner, name))
        source = textwrap.dedent(inspect.getsource(function))
        if name != function.__name__:  # what a decorator was given
            source = "def " + source.partition("\ndef ")[2]
        assert 1 == source.count(self.text), f"{self.where} does not hold this once: {self.text}"
        flags = __future__.annotations.compiler_flag
        code = compile(
            source.replace(self.text, self.instead), f"{self.where} without {self.name}", "exec", flags, True
        )
        made: dict[str, Any] = {}
        exec(code, function.__globals__, made)
        put(owner, name, made[function.__name__])


@dataclass
class Arena:
    """Where a probe plays: a folder of its own, and the guard that processes are started without (None = all stand)."""

    folder: Path
    without: str | None = None
    tool: str = ""
    _processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def process(self, *arguments: str, handles: tuple[int, int] | None = None, room: int | None = None) -> Served:
        """A ``fakellm`` process that listens. ``handles``: its soft and hard limits of open files; ``room``: kilobytes
        that a file of its may have."""
        command = ["-m", "fakellm"] if self.without is None else ["-m", "support.guards", self.without]
        shell = "" if handles is None else f"ulimit -Sn {handles[0]}; ulimit -Hn {handles[1]}; "
        shell += "" if room is None else f"ulimit -f {room}; "
        errors = self.folder / f"stderr-{len(self._processes)}.txt"
        with errors.open("w") as sink:
            process = subprocess.Popen(
                ["bash", "-c", shell + 'exec "$@"', "-", sys.executable, *command, *arguments],
                stdout=subprocess.PIPE,
                stderr=sink,
                text=True,
                env={**os.environ, "PYTHONPATH": str(TESTS), "PYTHONUNBUFFERED": "1"},
            )
        self._processes.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, errors.read_text()
        return Served(process, json.loads(line)["url"], errors)

    def close(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE_SECONDS)


@dataclass
class Served:
    """A process that listens; ``errors``: the file of its stderr."""

    process: subprocess.Popen[str]
    url: str
    errors: Path

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    def kill(self) -> None:
        """As kill -9 does."""
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)

    def stopped(self) -> tuple[int, str]:
        """The exit code after SIGTERM, and all that was said on stderr."""
        self.process.terminate()
        return self.process.wait(PATIENCE_SECONDS), self.errors.read_text()


Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def connection(address: tuple[str, int]) -> AsyncIterator[Wire]:
    """A bare connection; hangs up at the end without a goodbye."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def head_of(reader: asyncio.StreamReader) -> bytes:
    """The head of an answer; empty when the other side hung up."""
    async with asyncio.timeout(patience()):
        try:
            return await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as end:
            return end.partial


async def answer_of(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and body of an answer that says its length."""
    head = await head_of(reader)
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    async with asyncio.timeout(patience()):
        return head, await reader.readexactly(int(length.partition(b":")[2]))


async def until(true: Callable[[], bool], what: str) -> None:
    """Wait for something to become true; fails with ``what``."""
    deadline = asyncio.get_running_loop().time() + patience()
    while not true():
        assert asyncio.get_running_loop().time() < deadline, what
        await asyncio.sleep(0.01)


@contextmanager
def refused(words: str) -> Iterator[None]:
    """What is inside ends with an error of ours that says this."""
    said = "nothing"
    try:
        yield
    except FakellmError as error:
        said = error.message
    assert words in said, f"{said!r} was said"


def post(body: bytes, path: str = "/v1/chat/completions", *lines: bytes) -> bytes:
    """A request as bytes."""
    head = b"POST %b HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n" % path.encode()
    return head + b"".join(line + b"\r\n" for line in lines) + b"content-length: %d\r\n\r\n" % len(body) + body


def chat(**more: Any) -> bytes:
    """The body of a plain chat request."""
    return json.dumps({"model": "tiny", "messages": [{"role": "user", "content": "Hi"}], **more}).encode()


def chunked(body: bytes) -> bytes:
    """The same request in a form that aiohttp has to read."""
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
    return head + b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
