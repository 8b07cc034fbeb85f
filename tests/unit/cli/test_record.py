"""``fakellm record`` as a process: the readiness line, a kill, and packing what the killed one left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from fakellm.cli import run
from fakellm.fidelity.run import run as fidelity
from fakellm.record.file import read

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "logprobs": True, "return_token_ids": True}


class Process:
    """A command of ours that serves: started, ready, and gone at the end of the test whatever happens."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-m", "fakellm", *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.ready: dict[str, Any] = json.loads(self.process.stdout.readline())

    def post(self, body: Any, path: str = "/v1/chat/completions") -> bytes:
        headers = {"content-type": "application/json", "authorization": "Bearer sk-secret-key"}
        request = urllib.request.Request(self.ready["url"] + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read()

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; gives exit code and what was said on stderr."""
        self.process.send_signal(number)
        _, talk = self.process.communicate(timeout=20)
        return self.process.returncode, talk


@pytest.fixture
def processes() -> Iterator[list[Process]]:
    started: list[Process] = []
    yield started
    for one in started:
        one.process.kill()
        one.process.communicate()


def start(processes: list[Process], *words: str) -> Process:
    processes.append(Process(*words))
    return processes[-1]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL to send")
def test_a_killed_recorder_leaves_all_that_was_answered_and_packing_goes_on(
    processes: list[Process], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, folder = tmp_path / "exchanges.jsonl", tmp_path / "mine"
    fake = start(processes, "serve", "-q")
    recorder = start(processes, "record", "--upstream", fake.ready["url"], "--file", str(file), "-q")
    assert recorder.process.pid == recorder.ready["pid"]
    answers = [recorder.post({**CHAT, "stream": stream}) for stream in (False, True)]

    recorder.end(signal.SIGKILL)

    kept = read(file)
    assert answers == [line["response"]["body"].encode() for line in kept.lines]
    assert "sk-secret-key" not in file.read_text()
    assert 0 == run(["record", "--file", str(file), "--pack", str(folder)])
    assert "2 exchanges, 2 with their truth" in capsys.readouterr().err
    assert [] == [one for one in fidelity([folder]).judged if one.verdict.verdict != "exact"]


def test_a_recorder_that_is_told_to_stop_packs(processes: list[Process], tmp_path: Path) -> None:
    words = ["--file", str(tmp_path / "x.jsonl"), "--pack", str(tmp_path / "mine"), "--ask-ids", "--others", "auto"]
    fake = start(processes, "serve", "-q")
    recorder = start(processes, "record", "--upstream", fake.ready["url"] + "/v1", *words)
    recorder.post({key: CHAT[key] for key in ("model", "messages")})

    code, talk = recorder.end()

    assert 0 == code
    assert "#1 POST /v1/chat/completions -> 200" in talk
    assert "1 exchanges, 1 with their truth" in talk
    assert "from_request: true" in (tmp_path / "mine" / "scenario.yaml").read_text()


@pytest.mark.parametrize(
    "words, told",
    [
        ([], "give --upstream URL to record, or --pack FOLDER"),
        (["--upstream", "localhost:8000"], "is not an HTTP URL"),
        (["--upstream", "http://127.0.0.1:9"], "the upstream does not answer"),
        (["--upstream", "http://127.0.0.1:9", "--header", "nothing"], "write NAME:VALUE"),
        (["--pack", "mine"], "give --layout"),
        (["--pack", "mine", "--layout", "vllm-0.32.0"], "the recording cannot be read"),
    ],
)
def test_a_wrong_command_line_is_told(
    words: Sequence[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert 4 == run(["record", *words])
    assert told in capsys.readouterr().err
