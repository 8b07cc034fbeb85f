"""Several workers on one port: one script is played once, one admin view, a killed worker comes back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers need a system that can fork")

SCENARIO = """
replies:
  - {when: {last_message: one}, say: first, times: 1}
  - {when: {last_message: one}, say: later}
  - {say: "Hello"}
"""
PATIENCE_SECONDS = 20.0


class Serving:
    """A ``fakellm serve --workers 2`` of its own."""

    def __init__(self, folder: Path) -> None:
        scenario = folder / "two.yaml"
        scenario.write_text(SCENARIO)
        self.sink = folder / "journal.jsonl"
        command = [sys.executable, "-m", "fakellm", "serve", "--scenario", str(scenario), "--workers", "2"]
        self.process = subprocess.Popen(
            [*command, "--journal", str(self.sink)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.line = json.loads(self.process.stdout.readline())

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.line["url"] + "/_fakellm/" + path, timeout=10) as answer:
            return json.loads(answer.read())

    def post(self, path: str, body: Any = None, **headers: str) -> int:
        """The status of a call that changes something."""
        url = self.line["url"] + "/_fakellm/" + path
        request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            return refused.code

    def say(self, text: str) -> Any:
        body = json.dumps({"model": "tiny", "messages": [{"role": "user", "content": text}]}).encode()
        request = urllib.request.Request(
            self.line["url"] + "/v1/chat/completions", body, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())

    def stop(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, errors


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    running = Serving(tmp_path)
    yield running
    if running.process.poll() is None:
        running.stop()


def worker_pids(parent: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True, check=True)
    return sorted(int(pid) for pid in found.stdout.split())


def test_one_script_one_journal_and_a_clean_end(serving: Serving) -> None:
    answers = [serving.say("one") for _ in range(12)]

    said = [answer["choices"][0]["message"]["content"] for answer in answers]
    assert ["first", *["later"] * 11] == said
    assert 12 == len({answer["id"] for answer in answers})
    journal = serving.get("journal")
    assert 12 == journal["total"] == len(journal["exchanges"])
    number = journal["exchanges"][0]["number"]
    assert number == serving.get(f"journal/{number}")["number"]
    assert "first" in json.dumps(serving.get(f"truth/{answers[0]['id']}")) or answers[0]["id"]
    assert serving.get("verdict") == {"exchanges": 12, "unmatched": 0, "unused": {}, "problems": [], "ok": True}
    code, _ = serving.stop()
    assert 0 == code
    assert 12 == len(serving.sink.read_text().splitlines())


def test_a_fault_armed_once_happens_once_over_all_workers(serving: Serving) -> None:
    serving.say("one")
    assert 200 == serving.post("faults/arm", {"fault": "finish-reason-null", "times": 3})

    ends = [serving.say("Hi")["choices"][0]["finish_reason"] for _ in range(12)]

    assert 3 == ends.count(None)
    assert {"armed": []} == serving.get("faults/armed")
    strips = [serving.get(f"journal/{row['number']}/strips")["strips"] for row in serving.get("journal")["exchanges"]]
    assert all(rows[0]["of"] == "completion" for rows in strips)


def test_the_guard_of_the_admin_api_stands_before_every_worker(serving: Serving) -> None:
    assert 403 == serving.post("reset", host="evil.example")
    assert 403 == serving.post("reset", origin="http://evil.example")
    assert 200 == serving.post("reset")


def test_a_killed_worker_comes_back_and_nothing_recorded_is_lost(serving: Serving) -> None:
    serving.say("Hi")
    recorded = serving.sink.read_text()

    os.kill(worker_pids(serving.process.pid)[0], signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while serving.get("health")["status"] != "ok" or len(worker_pids(serving.process.pid)) != 3:
        assert time.monotonic() < deadline, "the worker did not come back"
    for _ in range(8):
        assert "Hello" == serving.say("Hi")["choices"][0]["message"]["content"]

    _, errors = serving.stop()
    assert "was killed by signal 9; started anew" in errors
    assert serving.sink.read_text().startswith(recorded)
    assert all(json.loads(line) for line in serving.sink.read_text().splitlines())
