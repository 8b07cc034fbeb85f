"""The real server as a child process: started on a free port, waited for, and stopped.

It is started in a folder of its own, with the model beside it under the name that its answers show. What differs
between servers is a :class:`Kind`; nothing here knows requests.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from fakellm.errors import FakellmError

from .environment import Environment
from .installing import HEARTBEAT_SECONDS, Say

ENGINE = Path(__file__).parent / "engine"
UP_SECONDS = 600.0
"""A real model takes about a minute on two cores; the first start of a version compiles more."""

DOWN_SECONDS = 20.0
SETTINGS = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_USE_V1": "1",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A server's program: ``serve`` is run with its own options, ``model_option`` names the model, ``alive`` is asked
    until it answers."""

    name: str
    serve: Path
    model_option: str
    alive: str
    settings: Mapping[str, str]


VLLM = Kind("vLLM", ENGINE / "serve.py", "--model", "/health", SETTINGS)


class StartError(FakellmError):
    """The server did not come up; the message ends with its last lines."""


@dataclass(slots=True)
class RealServer:
    """A context manager: inside it the server answers on ``port``.

    ``model``: the folder it serves, shown as ``model_name``; ``scripted``: the engine core is replaced by a player.
    """

    environment: Environment
    folder: Path
    model: Path
    model_name: str
    options: Sequence[str]
    env: dict[str, str]
    say: Say
    scripted: bool = True
    kind: Kind = VLLM
    port: int = 0
    _process: subprocess.Popen[bytes] | None = None

    @property
    def play(self) -> Path:
        """The file that says what the player plays."""
        return self.folder / "play.json"

    @property
    def journal(self) -> Path:
        """The file in which the engine tells what it was asked and what it says."""
        return self.folder / "journal.jsonl"

    @property
    def pace(self) -> Path:
        """The file in which a server of several processes counts what it has taken."""
        return self.folder / "pace"

    def __enter__(self) -> Self:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.model, self.folder / self.model_name, copy_function=shutil.copyfile)
        self.journal.touch()
        self.pace.write_bytes(bytes(8))
        self.port = _free_port()
        with (self.folder / "server.log").open("wb") as log:
            self._process = subprocess.Popen(
                self._command(),
                cwd=self.folder,
                env=self._environment(),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _command(self) -> list[str]:
        place = ("--host", "127.0.0.1", "--port", str(self.port))
        return [
            str(self.environment.python),
            str(self.kind.serve),
            self.kind.model_option,
            self.model_name,
            *place,
            *self.options,
        ]

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        paths = os.pathsep.join(str(path) for path in self.environment.paths)
        told = {"GOLDEN_JOURNAL": str(self.journal), "PYTHONPATH": paths, "HOME": str(self.folder)}
        told["GOLDEN_PACE"] = str(self.pace)
        if self.scripted:
            told["GOLDEN_PLAY"] = str(self.play)
        return {**kept, **self.kind.settings, **self.env, **told}

    def _wait(self) -> None:
        started = told = time.monotonic()
        while time.monotonic() < started + UP_SECONDS:
            if self._process is not None and self._process.poll() is not None:
                raise self._failure(f"{self.kind.name} ended with {self._process.returncode}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{self.kind.alive}", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.5)
            if time.monotonic() - told > HEARTBEAT_SECONDS:
                told = time.monotonic()
                self.say(f"  {told - started:.0f} s: not up yet")
        raise self._failure(f"{self.kind.name} was not up after {UP_SECONDS:.0f} s")

    def _failure(self, what: str) -> StartError:
        return StartError(f"{what}:\n{self._last_words()}", hint=f"all it said is in {self.folder.name}/server.log")

    def _last_words(self, lines: int = 15) -> str:
        text = (self.folder / "server.log").read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(DOWN_SECONDS)
        except subprocess.TimeoutExpired:
            print("golden: the server did not stop when asked, so it is killed", file=sys.stderr)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its own session: children that outlived it too
        process.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
