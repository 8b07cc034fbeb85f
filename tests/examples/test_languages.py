"""The recipes for other languages run as they stand: a shell script, Node's own test runner, Go's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FAKELLM = f"{sys.executable} -m fakellm"
CALL = """
import json, os, sys, urllib.request
body = {"model": "m", "messages": [{"role": "user", "content": sys.argv[1]}], "stream": True, "logprobs": True}
headers = {"content-type": "application/json"}
urllib.request.urlopen(
    urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(), headers)
).read()
"""
"""A client that finds its server where a shell script says."""


def run(*words: str, folder: str = ".") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "FAKELLM": FAKELLM}
    return subprocess.run(words, cwd=EXAMPLES / folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.tool("node")
def test_the_recipe_for_node_passes(tool: str) -> None:
    ended = run(tool, "--test", "node/")

    assert 0 == ended.returncode, ended.stdout + ended.stderr
    assert "# pass 2" in ended.stdout or "pass 2" in ended.stdout


@pytest.mark.tool("go")
def test_the_recipe_for_go_passes(tool: str) -> None:
    ended = run(tool, "test", "-count=1", "./...", folder="go")

    assert 0 == ended.returncode, ended.stdout + ended.stderr
    assert ended.stdout.startswith("ok")


@pytest.mark.skipif(os.name == "nt", reason="the recipe is a bash script")
class TestShell:
    """``check.sh SCENARIO COMMAND``."""

    def check(self, scenario: str, *words: str) -> subprocess.CompletedProcess[str]:
        return run("bash", "shell/check.sh", scenario, *words)

    def test_a_client_that_gets_its_answer_passes(self) -> None:
        ended = self.check("hello.yaml", sys.executable, "-c", CALL, "Hi")

        assert 0 == ended.returncode, ended.stdout + ended.stderr
        assert "all well: 1 exchanges" in ended.stdout

    def test_a_client_that_never_calls_does_not_pass(self) -> None:
        ended = self.check("hello.yaml", sys.executable, "-c", "pass")

        assert 5 == ended.returncode
        assert "no request came" in ended.stdout

    def test_a_client_that_fails_fails_the_script(self) -> None:
        assert 7 == self.check("hello.yaml", sys.executable, "-c", "raise SystemExit(7)").returncode

    def test_a_server_that_does_not_start_is_told(self) -> None:
        ended = self.check("nowhere.yaml", "true")

        assert 1 == ended.returncode
        assert "fakellm did not start" in ended.stderr
