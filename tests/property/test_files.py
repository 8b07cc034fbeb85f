"""Files of ours that somebody edited: recordings, captures, reports, baselines, verdicts. They are read, or it is said
what is wrong with them; nothing else is raised."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout, suppress
from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakellm.cli import run as command
from fakellm.conform import baseline
from fakellm.conform.report import jsonl
from fakellm.errors import FakellmError
from fakellm.fidelity.run import run as fidelity
from fakellm.record.facts import Source
from fakellm.record.file import read
from fakellm.record.pack import pack
from fakellm.scenario.recorded import read_recorded
from support.examples import FUZZED
from support.odd import ANYTHING, spoiled

TRUTH: dict[str, Any] = {
    "prompt_token_ids": [1, 2],
    "choices": [
        {
            "tokens": [{"id": 65, "bytes": [65], "logprob": -0.5, "rank": 1, "top": []}],
            "finish_reason": "stop",
            "chunks": [1],
        }
    ],
}
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
ANSWER = {"status": 200, "headers": {"content-type": "application/json"}, "body": "{}"}
REQUEST = {"method": "POST", "path": "/v1/chat/completions", "headers": {}, "body": CHAT}
EXCHANGE: dict[str, Any] = {"name": "a", "truth": ["t"], "kind": "chat", "request": REQUEST, "response": ANSWER}
SERVER: dict[str, Any] = {"server": "vllm", "version": "0.32.0", "model": "m", "launch": ["--max-model-len", "64"]}
LINE: dict[str, Any] = {
    "name": "0001-chat",
    "truth": [TRUTH],
    "kind": "chat",
    "note": None,
    "request": {"method": "POST", "path": "/v1/chat/completions", "headers": [["a", "b"]], "raw": json.dumps(CHAT)},
    "response": {"status": 200, "headers": [["a", "b"]], "body": "{}", "truncated": False},
    "at": 1.0,
    "ending": "complete",
    "arrivals": [[1.0, 2]],
}
ENTRY = {"check": "align.logprobs", "case": "*", "reason": "known", "expires": "2030-01-01"}
REPORT = [
    {"type": "header", "format": jsonl.FORMAT, "mode": "client", "client": {}, "cases": 1},
    {"type": "case", "id": "a/b", "verdicts": []},
    {"type": "footer", "verdict": "conformant", "tallies": {}},
]
VERDICT = {"exchanges": 3, "unmatched": 1, "unused": {"hello": ["replies[0]"]}, "problems": ["x"], "ok": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


def dumped(path: Path, value: Any) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps(value), encoding="utf-8", errors="replace")
    return path


@FUZZED
@given(line=spoiled(LINE))
def test_a_recording(folder: Path, line: Any) -> None:
    file = folder / "exchanges.jsonl"
    file.write_text(json.dumps(LINE) + "\n" + json.dumps(line) + "\n", encoding="utf-8")

    with suppress(FakellmError):
        read(file)
        pack(file, folder / "packed", Source.from_json({"layout": "vllm-0.32.0"}))


@FUZZED
@given(
    server=st.just(SERVER) | spoiled(SERVER),
    exchange=st.just(EXCHANGE) | spoiled(EXCHANGE),
    truth=st.just(TRUTH) | spoiled(TRUTH),
)
def test_a_folder_of_captures(folder: Path, server: Any, exchange: Any, truth: Any) -> None:
    home = folder / "vllm-0.32.0-x"
    dumped(home / "server.json", server)
    dumped(home / "exchanges" / "a.json", exchange)
    dumped(home / "truths.json", {"t": truth})
    dumped(home / "masks.json", {"headers": [], "servers": {}})

    with suppress(FakellmError):
        for judged in fidelity([home]).judged:
            assert "Traceback" not in str(judged.verdict)


@FUZZED
@given(value=ANYTHING | spoiled(EXCHANGE) | spoiled({"truth": [TRUTH]}) | spoiled(TRUTH))
def test_what_a_reply_is_read_from(folder: Path, value: Any) -> None:
    dumped(folder / "one.json", value)

    with suppress(FakellmError):
        read_recorded(folder, "one.json")


@FUZZED
@given(rows=spoiled(REPORT))
def test_a_report(folder: Path, rows: Any) -> None:
    lines = rows if isinstance(rows, list) else [rows]
    (folder / "report.jsonl").write_text("\n".join(json.dumps(row) for row in lines), encoding="utf-8")

    with suppress(FakellmError):
        jsonl.read(folder / "report.jsonl")


@FUZZED
@given(rows=spoiled([ENTRY]) | spoiled({"entries": [ENTRY]}))
def test_a_baseline(folder: Path, rows: Any) -> None:
    path = dumped(folder / "baseline.yaml", rows)

    with suppress(FakellmError):
        baseline.load(path, checks=("align.logprobs",), cases=("a/b",), former={}, today=date(2026, 1, 1), ci=False)


@FUZZED
@given(verdict=spoiled(VERDICT))
def test_a_verdict_from_a_server(verdict: Any) -> None:
    said = io.StringIO()
    answer = io.BytesIO(json.dumps(verdict).encode())
    with patch("urllib.request.urlopen", return_value=answer), redirect_stderr(said), redirect_stdout(said):
        code = command(["verify", "--url", "http://127.0.0.1:9/_fakellm"])

    assert code in (0, 1, 4, 5)
    assert "Traceback" not in said.getvalue()
