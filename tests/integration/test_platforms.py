"""Where there is no POSIX: every module can be imported and the commands work, without forks, groups and signals.

A process without these stands in for Windows (``support/elsewhere``), with an old code page on its pipes.
"""

from __future__ import annotations

import json
import os
import pkgutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fakellm
from fakellm.conform.drivers.group import join, split

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(ROOT / "tests" / "support" / "elsewhere"), str(ROOT / "src")]),
    "PYTHONIOENCODING": "cp1252",
    "PYTHONUTF8": "0",
}
MODULES = sorted(one.name for one in pkgutil.walk_packages(fakellm.__path__, "fakellm."))
IMPORT = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]; print(len(sys.argv) - 1)"
BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def python(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *words]
    return subprocess.run(command, env=ELSEWHERE, capture_output=True, encoding="cp1252", check=False, **more)


def fakellm_command(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return python("-m", "fakellm", *words, **more)


def test_the_stand_in_has_no_posix() -> None:
    looked = python("-c", "import os, signal, socket; print(hasattr(os, 'fork'), hasattr(signal, 'SIGKILL'))")

    assert "False False" == looked.stdout.strip()


def test_every_module_can_be_imported() -> None:
    names = [name for name in MODULES if not name.endswith("__main__")]

    imported = python("-c", IMPORT, *names)

    assert str(len(names)) == imported.stdout.strip(), imported.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["layouts"],
        ["faults"],
        ["explain", "late-eos-score"],
        ["schema"],
        ["validate", str(ROOT / "scenarios" / "basics")],
        [
            "play",
            str(ROOT / "scenarios" / "basics" / "hello.yaml"),
            "--layout",
            "vllm-0.32.0,sglang-0.5.23",
            "--stream",
        ],
        ["fidelity", "--only", "vllm-0.32.0*/chat*"],
    ],
    ids=lambda words: words[0],
)
def test_a_command_speaks_on_an_old_code_page(words: list[str]) -> None:
    ended = fakellm_command(*words)

    assert 0 == ended.returncode, ended.stderr
    assert ended.stdout


def test_what_a_code_page_lacks_is_spelled_as_an_escape(tmp_path: Path) -> None:
    scenario = tmp_path / "odd.yaml"
    scenario.write_text("replies: [{say: '\U00020bb7 ok'}]\n", encoding="utf-8")

    ended = fakellm_command("play", str(scenario))

    assert 0 == ended.returncode, ended.stderr
    assert "\\U00020bb7" in ended.stdout


@pytest.fixture
def server() -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "fakellm", "serve", "-q"]
    with subprocess.Popen(command, env=ELSEWHERE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())["url"]
        finally:
            process.kill()


def test_a_server_answers_and_ends_by_a_signal(server: tuple[subprocess.Popen[str], str]) -> None:
    process, url = server
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(BODY).encode(), {"content-type": "application/json"}
    )

    with urllib.request.urlopen(request, timeout=30) as answer:
        assert "choices" in json.loads(answer.read())
    verdict = fakellm_command("verify", "--url", f"{url}/_fakellm")
    process.send_signal(signal.SIGINT)

    assert 0 == verdict.returncode, verdict.stderr
    assert 0 == process.wait(30)


def test_several_workers_are_refused_in_words() -> None:
    ended = fakellm_command("serve", "--workers", "2")

    assert 4 == ended.returncode
    assert "workers need a system that can fork" in ended.stderr


def test_the_suite_judges_a_client_and_ends_it(tmp_path: Path) -> None:
    adapter = ROOT / "conformance" / "adapters" / "openai-python" / "adapter.py"
    words = ["--only", "happy/*", "--report-dir", str(tmp_path), "--", sys.executable, str(adapter)]

    ended = fakellm_command("conform", "client", *words)

    assert "Traceback" not in ended.stderr
    assert (tmp_path / "report.jsonl").is_file(), ended.stderr
    assert ended.returncode in (0, 1)


def test_a_gateway_is_started_and_ended(tmp_path: Path) -> None:
    gateway = ROOT / "tests" / "support" / "passthrough_gateway.py"
    start = join([sys.executable, str(gateway), "{upstream}", "{port}"])

    ended = fakellm_command("conform", "gateway", "--only", "happy/*", "--report-dir", str(tmp_path), "--start", start)

    assert "Traceback" not in ended.stderr
    assert (tmp_path / "report.jsonl").is_file(), ended.stderr


class TestWords:
    """Command lines of both worlds."""

    def test_a_backslash_is_a_letter_where_it_separates_folders(self) -> None:
        assert [r"C:\py\python.exe", "my adapter.py"] == split(r'C:\py\python.exe "my adapter.py"', separator="\\")

    def test_elsewhere_it_escapes(self) -> None:
        assert ["my adapter.py", "#1"] == split(r"my\ adapter.py #1", separator="/")

    @pytest.mark.parametrize("separator", ["/", "\\"])
    def test_what_is_joined_is_split_again(self, separator: str) -> None:
        words = ["python", "my adapter.py", "--url", "http://127.0.0.1:8000"]

        assert words == split(join(words, separator=separator), separator=separator)
