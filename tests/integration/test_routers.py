"""A chat, a completion and a generate request, whole and streamed, through the real routers: what each of them loses.

A router's own environment is made by ``make gateways``; without one its tests are skipped.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

GATEWAYS = Path(__file__).parents[2] / "conformance/gateways"
PATIENCE_SECONDS = 120.0
SCENARIO = """
replies:
  - {say: "Four words are said."}
"""
COMMANDS = {
    "sglang-router": ("{bin}/python", "-m", "sglang_router.launch_router"),
    "vllm-router": ("{bin}/python", "-m", "vllm_router.launch_router"),
    "smg": ("{bin}/smg", "launch"),
}
LAYOUTS = {"sglang-router": "sglang-0.5.23", "vllm-router": "vllm-0.32.0", "smg": "sglang-0.5.23"}
MESSAGES = [{"role": "user", "content": "Hi"}]


@dataclass(frozen=True)
class Behind:
    """A router and the fake behind it."""

    router: str
    server: str


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(*command: str) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def send(url: str, body: Mapping[str, Any] | None = None) -> tuple[int, str]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.status), answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def ready(behind: Behind) -> bool:
    try:
        return send(behind.router + "/v1/completions", {"model": "tiny", "prompt": "Hi"})[0] == 200
    except OSError:
        return False


def start(name: str, folder: Path, stack: ExitStack, *flags: str) -> Behind:
    bin = GATEWAYS / name / ".venv/bin"
    command = [word.format(bin=bin) for word in COMMANDS[name]]
    if not Path(command[0]).exists():
        pytest.skip(f"{name} is not installed: make gateways installs it")
    scenario = folder / "routed.yaml"
    scenario.write_text(SCENARIO)
    server = (sys.executable, "-m", "fakellm", "serve", "--scenario", str(scenario), "--model", "tiny", "-q")
    process = stack.enter_context(running(*server, "--layout", LAYOUTS[name], *(("--", *flags) if flags else ())))
    assert process.stdout is not None
    url = json.loads(process.stdout.readline())["url"]
    port = free_port()
    command += ["--worker-urls", url, "--host", "127.0.0.1", "--port", str(port), "--policy", "round_robin"]
    command += ["--prometheus-host", "127.0.0.1", "--prometheus-port", str(free_port()), "--log-level", "error"]
    stack.enter_context(running(*command))
    behind = Behind(f"http://127.0.0.1:{port}", url)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not ready(behind):
        assert time.monotonic() < deadline, f"{name} did not start"
        time.sleep(0.2)
    return behind


def events(text: str) -> list[Any]:
    """What a stream told, without its end."""
    told = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    assert "[DONE]" == told[-1]
    return [json.loads(event) for event in told[:-1]]


def members(value: Any, at: str = "") -> Iterator[str]:
    """Every member's path, those of a list's entries without their numbers."""
    if isinstance(value, dict):
        for name, inner in cast("dict[str, Any]", value).items():
            yield f"{at}.{name}"
            yield from members(inner, f"{at}.{name}")
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from members(inner, at)


def lost(direct: Any, routed: Any) -> set[str]:
    """What the router's answer lacks; a member inside of a lost one is not told again."""
    gone = set(members(direct)) - set(members(routed))
    return {path for path in gone if not any(path.startswith(f"{other}.") for other in gone)}


@pytest.fixture(scope="module", params=list(COMMANDS))
def routed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Behind]]:
    with ExitStack() as stack:
        yield request.param, start(request.param, tmp_path_factory.mktemp("routed"), stack)


BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", {"model": "tiny", "messages": MESSAGES, "logprobs": True}),
    "completion": ("/v1/completions", {"model": "tiny", "prompt": "Hi", "logprobs": 1}),
    "generate": ("/generate", {"text": "Hi", "return_logprob": True}),
}
FLAGS = {
    "chat": {"return_token_ids": True},
    "completion": {"return_token_ids": True},
    "generate": {"return_prompt_token_ids": True},
}
REFUSES = ("sglang-0.5.23", "chat", True)
"""Where the server refuses to tell ids."""
LOST = {
    ("sglang-router", "chat", False): {".choices.response_token_ids", ".choices.prompt_token_ids"},
    ("sglang-router", "generate", False): {".prompt_token_ids"},
    ("sglang-router", "generate", True): {".prompt_token_ids"},
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", list(BODIES))
def test_what_a_router_loses(routed: tuple[str, Behind], api: str, stream: bool) -> None:
    """Sglang-router drops the fields that it does not know from chat and generate requests, so no ids come back."""
    name, behind = routed
    if (name, api) == ("vllm-router", "generate"):
        pytest.skip("vLLM has no /generate")
    path, body = BODIES[api]
    if REFUSES != (LAYOUTS[name], api, stream):
        body = body | FLAGS[api]
    told: list[Any] = []
    for root in (behind.server, behind.router):
        status, text = send(root + path, {**body, "stream": stream})
        assert 200 == status, text
        told.append(events(text) if stream else json.loads(text))
    assert LOST.get((name, api, stream), set()) == lost(*told)
    if stream:
        assert len(told[0]) == len(told[1])


def test_a_refusal_to_stream_ids(routed: tuple[str, Behind]) -> None:
    """Smg passes the server's 400 on; sglang-router drops the flag, so a stream without ids comes instead of it."""
    name, behind = routed
    if (LAYOUTS[name], "chat", True) != REFUSES:
        pytest.skip("vLLM streams ids")
    path, body = BODIES["chat"]
    asked = {**body, **FLAGS["chat"], "stream": True}
    statuses = [send(root + path, asked)[0] for root in (behind.server, behind.router)]
    assert [400, 200 if name == "sglang-router" else 400] == statuses


def test_a_router_finds_its_worker(routed: tuple[str, Behind]) -> None:
    _, behind = routed
    assert 200 == send(behind.router + "/health")[0]
    status, text = send(behind.router + "/v1/models")
    assert (200, ["tiny"]) == (status, [model["id"] for model in json.loads(text)["data"]])


def test_a_server_that_forces_ids_has_them_pass(tmp_path: Path) -> None:
    """--return-output-ids: the ids come in ``sglext``, whatever the router drops."""
    with ExitStack() as stack:
        behind = start("sglang-router", tmp_path, stack, "--return-output-ids")
        path, body = BODIES["chat"]
        whole = json.loads(send(behind.router + path, {**body, **FLAGS["chat"]})[1])
        streamed = events(send(behind.router + path, {**body, **FLAGS["chat"], "stream": True})[1])
        ids = [chunk["sglext"]["output_ids"] for chunk in streamed if chunk.get("sglext")]
    assert whole["sglext"]["output_ids"]
    assert ids
