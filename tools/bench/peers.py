"""The peers: mock servers that other people wrote, each in an environment of its own, each with its simplest script.

A :class:`Peer` says what to install and how to have it answer one text to any request that speaks of a benchmark. What
it is, and how its fixtures look, was read from its own documentation. Environments lie in ``.bench/<name>`` and are
made once per version; a peer that cannot be installed or does not answer is told with the reason.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .process import BenchError

ANSWER = " ".join(("one two three four five six seven eight nine ten",) * 5)
"""Fifty words: what every peer, and the constant server, says."""
SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Peer:
    """``package`` of ``registry`` (pip or npm); ``script`` writes its fixtures; ``command`` starts it on a port, given
    its environment, in the folder of its fixtures. ``note``: what one should know to read its numbers."""

    name: str
    package: str
    version: str
    registry: str
    fixtures: str
    script: Callable[[str], str]
    command: Callable[[Path, int], list[str]]
    note: str

    def environment(self, root: Path) -> Path:
        return root / ".bench" / self.name


def _python(environment: Path, program: str, *arguments: str) -> list[str]:
    return [str(environment / ".venv" / "bin" / program), *arguments]


def _yaml_text(text: str) -> str:
    return json.dumps(text)


PEERS = (
    Peer(
        "aimock",
        "@copilotkit/aimock",
        "1.43.0",
        "npm",
        "fixtures.json",
        lambda text: json.dumps({"fixtures": [{"match": {"userMessage": "benchmark"}, "response": {"content": text}}]}),
        lambda environment, port: [
            "node",
            str(environment / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"),
            *("--port", str(port), "--fixtures", "fixtures.json", "--log-level", "silent"),
        ],
        "Node; keeps a journal of 1,000 requests; streams 20 characters a chunk",
    ),
    Peer(
        "mocktopus",
        "mocktopus",
        "0.2.0",
        "pip",
        "scenario.yaml",
        lambda text: (
            "version: 1\nrules:\n  - type: llm.openai\n    when: {messages_contains: benchmark}\n"
            f"    respond: {{content: {_yaml_text(text)}}}\n"
        ),
        lambda environment, port: _python(
            environment, "mocktopus", "serve", "--scenario", "scenario.yaml", "--port", str(port)
        ),
        "aiohttp; constant usage numbers, no journal; streams sleep 20 ms a chunk",
    ),
    Peer(
        "stubllm",
        "stubllm",
        "0.1.5",
        "pip",
        "chat.yaml",
        lambda text: (
            "fixtures:\n  - name: bench\n    match: {messages: [{role: user, content: {contains: benchmark}}]}\n"
            f"    response: {{content: {_yaml_text(text)}}}\n"
        ),
        lambda environment, port: _python(
            environment, "stubllm", "serve", "--fixture-dir", ".", "--port", str(port), "--log-level", "warning"
        ),
        "FastAPI on uvicorn; constant usage numbers",
    ),
    Peer(
        "llm-mock-api",
        "llm-mock-api",
        "0.1.2",
        "pip",
        "rules.json5",
        lambda text: json.dumps({"rules": [{"when": "benchmark", "reply": text}]}),
        lambda environment, port: _python(
            environment, "llm-mock-api", "start", "--rules", "rules.json5", "--port", str(port)
        ),
        "FastAPI on uvicorn; keeps every request",
    ),
    Peer(
        "fakellm (PyPI)",
        "fakellm",
        "0.3.5",
        "pip",
        "fakellm.yaml",
        lambda text: (
            "version: 1\nrules:\n  - name: bench\n    when: {messages_contain: benchmark}\n"
            f"    respond: {{content: {_yaml_text(text)}}}\n"
        ),
        lambda environment, port: _python(
            environment, "fakellm", "serve", "--config", "fakellm.yaml", "--port", str(port)
        ),
        "another project with our import name; FastAPI on uvicorn with its access log, which has no switch",
    ),
)


def install(peer: Peer, root: Path) -> Path:
    """The environment of a peer, made if need be; raises BenchError with the installer's last word."""
    environment = peer.environment(root)
    stamp = environment / ".installed"
    wanted = f"{peer.package} {peer.version}"
    if not stamp.is_file() or stamp.read_text() != wanted:
        environment.mkdir(parents=True, exist_ok=True)
        _install_npm(peer, environment) if peer.registry == "npm" else _install_pip(peer, environment)
        stamp.write_text(wanted)
    script = environment / "script"
    script.mkdir(exist_ok=True)
    (script / peer.fixtures).write_text(peer.script(ANSWER), encoding="utf-8")
    return environment


def _install_pip(peer: Peer, environment: Path) -> None:
    venv.create(environment / ".venv", with_pip=True)
    _run([*_python(environment, "python", "-m", "pip"), "install", "--quiet", f"{peer.package}=={peer.version}"])


def _install_npm(peer: Peer, environment: Path) -> None:
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise BenchError(f"needs {program}, which is not there")
    where = ["--prefix", str(environment), "--no-audit", "--no-fund", "--silent"]
    _run(["npm", "install", *where, f"{peer.package}@{peer.version}"])


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise BenchError(f"was not installed within {SECONDS:.0f} s") from None
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise BenchError(f"cannot be installed: {lines[-1].strip()[:200] if lines else done.returncode}")
