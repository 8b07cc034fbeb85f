"""The command line's manners: clear errors with exit code 4, no traceback, a readiness line, a drain on SIGTERM."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fakellm.cli import COMMANDS, root, run

HELLO = 'replies:\n  - {when: {last_message: {contains: hello}}, say: "Hello, world!"}\n'
SLOW = "replies:\n  - {say: {auto: {tokens: 6}}, timing: {first_token_ms: 200, between_ms: 200}}\n"


@contextmanager
def serving(folder: Path, text: str, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server on a free port, killed when the test is over."""
    scenario = folder / "scenario.yaml"
    scenario.write_text(text)
    command = [sys.executable, "-m", "fakellm", "serve", "--scenario", str(scenario), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())["url"]
    finally:
        process.kill()
        process.wait()


def post(url: str, body: bytes) -> tuple[int, Any]:
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


class TestErrors:
    """What a user can mend is told in words: what, where, what to do; the exit code is 4."""

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("replies:\n  - {whn: {api: chat}, say: hi}\n", ["scenario.yaml:2", "whn", "did you mean 'when'?"]),
            ("replies: []\n", ["scenario.yaml"]),
            ("replies:\n  - say: hi\n    faults: [late-eos-scor]\n", ["late-eos-scor", "did you mean"]),
            ("replies: [{say: hi}]\nserver: {layout: vlm}\n", ["vlm", "did you mean 'vllm'?"]),
            ("replies: [{say: hi}]\nserver: {max-model-lenn: 5}\n", ["max-model-lenn"]),
            ("replies: &a [{say: hi}]\nmore: *a\n", ["scenario.yaml:1"]),
            ("\t- nonsense: [", ["scenario.yaml"]),
        ],
    )
    def test_a_bad_scenario(
        self, text: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        scenario = tmp_path / "scenario.yaml"
        scenario.write_text(text)

        code = run(["serve", "--scenario", str(scenario)])

        said = capsys.readouterr().err
        assert 4 == code
        assert "Traceback" not in said
        for word in words:
            assert word in said

    def test_a_file_that_is_not_there_or_not_text(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")

        assert 4 == run(["serve", "--scenario", str(tmp_path / "none.yaml")])
        assert 4 == run(["serve", "--scenario", str(tmp_path / "binary.yaml")])
        said = capsys.readouterr().err
        assert "there is no such file" in said
        assert "not UTF-8" in said

    def test_a_port_in_use(self, capsys: pytest.CaptureFixture[str]) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()

            assert 4 == run(["serve", "--port", str(taken.getsockname()[1])])

        assert "Address already in use" in capsys.readouterr().err

    def test_a_journal_that_cannot_be_written(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert 4 == run(["serve", "--journal", str(tmp_path / "no" / "folder" / "j.jsonl")])
        assert "cannot write the journal" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "arguments",
        [["serv"], ["serve", "--prot", "1"], ["serve", "--port", "x"], ["serve", "--", "--max-model-lenn", "5"]],
    )
    def test_words_that_do_not_exist(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert 4 == run(arguments)
        said = capsys.readouterr().err
        assert "Traceback" not in said
        assert "ean" in said or "Invalid value" in said  # "did you mean", "Did you mean"

    def test_every_command_has_help_with_an_example(self, capsys: pytest.CaptureFixture[str]) -> None:
        for name in COMMANDS:
            assert 0 == run([name, "--help"]), name
            assert "xample" in capsys.readouterr().out or name == "conform", name
        assert set(COMMANDS) == set(root.list_commands(None))  # type: ignore[arg-type]


class TestServe:
    """A server of its own, as a script in someone's CI starts it."""

    def test_bad_requests_leave_the_journal_intact(self, tmp_path: Path) -> None:
        with serving(tmp_path, HELLO, "--model", "tiny", "-q") as (_, url):
            asked = b'{"model": "tiny", "messages": [{"role": "user", "content": "hello"}]}'
            unserved = post(f"{url}/v1/chat/completions", asked.replace(b"tiny", b"other"))
            broken = post(f"{url}/v1/chat/completions", b'{"model":')
            unmatched = post(f"{url}/v1/chat/completions", asked.replace(b"hello", b"good night"))
            fine = post(f"{url}/v1/chat/completions", asked)
            with urllib.request.urlopen(f"{url}/_fakellm/journal", timeout=20) as answer:
                journal = json.loads(answer.read())

        assert (404, 400, 501, 200) == (unserved[0], broken[0], unmatched[0], fine[0])
        assert b"does not exist" in unserved[1]
        assert b"json_invalid" in broken[1]
        assert "contains" in json.loads(unmatched[1])["fakellm"]["near_misses"][0]["fields"][0]["rule"]
        assert [404, 400, 501, 200] == [row["status"] for row in journal["exchanges"]]

    def test_sigterm_lets_an_answer_end_first(self, tmp_path: Path) -> None:
        with serving(tmp_path, SLOW, "-q") as (process, url):
            got: list[tuple[int, bytes]] = []
            body = b'{"model": "tiny", "stream": true, "messages": [{"role": "user", "content": "x"}]}'
            call = threading.Thread(target=lambda: got.append(post(f"{url}/v1/chat/completions", body)))
            call.start()
            while True:
                with urllib.request.urlopen(f"{url}/_fakellm/journal", timeout=20) as answer:
                    if json.loads(answer.read())["total"]:
                        break

            process.send_signal(signal.SIGTERM)
            call.join(20)

            assert 0 == process.wait(20)
            assert got[0][1].endswith(b"data: [DONE]\n\n")

    def test_an_unmatched_request_can_fail_the_run(self, tmp_path: Path) -> None:
        with serving(tmp_path, HELLO, "--fail-on-unmatched") as (process, url):
            post(f"{url}/v1/chat/completions", b'{"model": "t", "messages": [{"role": "user", "content": "x"}]}')
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=20)

        assert 1 == process.returncode
        assert "1 requests found no reply" in errors

    def test_elsewhere_than_loopback_the_admin_wants_its_token(self, tmp_path: Path) -> None:
        with serving(tmp_path, HELLO, "--host", "0.0.0.0", "--admin-token", "s3cret", "-q") as (_, url):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"{url}/_fakellm/journal", timeout=20)
            granted = urllib.request.Request(f"{url}/_fakellm/journal", headers={"x-fakellm-admin-token": "s3cret"})
            with urllib.request.urlopen(granted, timeout=20) as answer:
                status = answer.status

        assert (401, 200) == (refused.value.code, status)
