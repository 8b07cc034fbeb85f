"""``fakellm fidelity``: what it prints, where, and how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest

from fakellm.cli import run
from support.recordings import write_folder


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """vLLM's /health, recorded rightly and wrongly."""
    right: dict[str, Any] = {
        "name": "health",
        "truth": None,
        "request": {"method": "GET", "path": "/health", "headers": {}},
        "response": {"status": 200, "headers": {}, "body": ""},
    }
    wrong = {**right, "name": "sick", "response": {"status": 503, "headers": {}, "body": ""}}
    server = {"server": "vllm", "version": "0.32.0", "model": "tiny", "max_model_len": 256, "tokenizer": "scripted"}
    return write_folder(tmp_path, "vllm-0.32.0", server, {"health": right, "sick": wrong})


def test_what_agrees_ends_with_zero(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == run(["fidelity", str(recorded), "--only", "health"])
    assert ["vllm-0.32.0", "1", "1", "0", "0"] == capsys.readouterr().out.splitlines()[1].split()


def test_what_differs_ends_with_one_and_is_told(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 == run(["fidelity", str(recorded)])
    assert "vllm-0.32.0/sick\n  at status: recorded 503, replayed 200" in capsys.readouterr().out


def test_json_is_one_object_on_stdout(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 == run(["fidelity", str(recorded), "--json"])

    report = json.loads(capsys.readouterr().out)
    assert (2, 1, 0, 1) == tuple(report[name] for name in ("total", "exact", "equal", "differs"))
    assert ["folder", "name", "verdict", "where", "detail"] == list(report["exchanges"][0])


def test_nothing_ran_is_not_success(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 5 == run(["fidelity", str(recorded), "--only", "chat-*"])
    assert "nothing ran: no exchange matches chat-*" in capsys.readouterr().err


def test_a_path_that_is_not_there_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 4 == run(["fidelity", str(tmp_path / "gone")])
    assert "there is no such file or folder" in capsys.readouterr().err


def test_without_a_path_the_shipped_library_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == run(["fidelity", "--only", "vllm-0.32.0-plain/get-health"])
    assert "gateways: litellm-1.110.2" in capsys.readouterr().err
