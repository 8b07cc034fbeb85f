"""Recorded answers held to their own word: what a server broke while it was recorded is found without the server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fakellm.cli import run
from fakellm.conform.mutants.servers import serving
from fakellm.conform.recorded import RecordingTarget, api_of, conform_recording, read
from fakellm.conform.server import ServerTarget, conform_server
from fakellm.conform.session import Options, Result
from fakellm.conform.verdict import Word
from fakellm.errors import CaptureError, UsageError
from fakellm.resources import golden
from support.recordings import write_folder

VLLM = {"server": "vllm", "version": "0.32.0"}


def chat(name: str, *, ids: list[int], scores: list[float], asked: bool = True, **request: Any) -> dict[str, Any]:
    """One recorded chat call of vLLM; ``asked``: for ids and scores."""
    entries = [{"token": "a", "bytes": [97], "logprob": one, "top_logprobs": []} for one in scores]
    body: dict[str, Any] = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "tiny",
        "choices": [{
            "index": 0, "message": {"role": "assistant", "content": "a" * len(scores)}, "finish_reason": "stop",
            "logprobs": {"content": entries}, "token_ids": ids,
        }],
        "usage": {"prompt_tokens": 2, "completion_tokens": len(ids), "total_tokens": 2 + len(ids)},
        "prompt_token_ids": [1, 2],
    }  # fmt: skip
    flags = {"return_token_ids": True, "logprobs": True} if asked else {}
    asking: dict[str, Any] = {"model": "tiny", "messages": [], **flags, **request}
    return {
        "name": name,
        "truth": None,
        "request": {"method": "POST", "path": "/v1/chat/completions", "headers": {}, "body": asking},
        "response": {"status": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(body)},
    }


def refused(name: str) -> dict[str, Any]:
    one = chat(name, ids=[], scores=[])
    return {**one, "response": {"status": 400, "headers": {"content-type": "application/json"}, "body": "{}"}}


async def judged(*paths: Path, said: list[str] | None = None, **options: Any) -> Result:
    heard: list[str] = [] if said is None else said
    target = RecordingTarget(paths=paths, say=heard.append)
    return await conform_recording(target, Options(**options))


def failing(result: Result) -> set[tuple[str, str]]:
    return {(one.finding.check, one.finding.case) for one in result.footer.failing}


async def test_scores_that_do_not_fit_the_ids_are_found(tmp_path: Path) -> None:
    good, late = chat("good", ids=[5, 6], scores=[-0.5, -1.5]), chat("late", ids=[5, 6], scores=[-0.5])
    folder = write_folder(tmp_path, "mine", VLLM, {"good": good, "late": late})

    result = await judged(folder)

    assert {("server.lengths", "mine/late"), ("server.readable", "mine/late")} == failing(result)
    assert (Word.NONCONFORMANT, 1) == (result.footer.word, result.footer.exit_code)
    assert (2, 2) == (result.footer.tally.usable, result.footer.tally.carrying)


async def test_ids_are_missed_only_where_they_were_asked_for(tmp_path: Path) -> None:
    rows = {name: chat(name, ids=[], scores=[-0.5], asked=name == "asked") for name in ("asked", "plain")}
    for row in rows.values():
        body = json.loads(row["response"]["body"])
        del body["choices"][0]["token_ids"], body["usage"]
        row["response"]["body"] = json.dumps(body)

    result = await judged(write_folder(tmp_path, "mine", VLLM, rows))

    assert {("server.ids", "mine/asked"), ("server.usage", "mine/asked"), ("server.usage", "mine/plain")} == failing(
        result
    )


async def test_what_cannot_be_judged_is_left_out_and_told(tmp_path: Path) -> None:
    rows: dict[str, Any] = {
        "good": chat("good", ids=[5], scores=[-0.5]),
        "echoed": chat("echoed", ids=[5], scores=[-0.5, -0.5], echo=True),
        "refused": refused("refused"),
        "models": {
            "name": "models",
            "truth": None,
            "request": {"method": "GET", "path": "/v1/models", "headers": {}},
            "response": {"status": 200, "headers": {"content-type": "application/json"}, "body": "{}"},
        },
    }
    said: list[str] = []

    result = await judged(write_folder(tmp_path, "mine", VLLM, rows), said=said)

    assert [
        "1 exchanges left out: no call of an engine",
        "1 exchanges left out: refused by the server",
        "1 exchanges left out: the prompt is echoed among the answer's tokens",
    ] == sorted(said)
    assert (1, Word.CONFORMANT) == (result.footer.tally.cases, result.footer.word)


async def test_a_recording_without_a_single_call_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no exchange here is an answered call"):
        await judged(write_folder(tmp_path, "mine", VLLM, {"refused": refused("refused")}))


async def test_a_gateways_recording_wants_the_layout_behind_it(tmp_path: Path) -> None:
    rows = {"late": chat("late", ids=[5, 6], scores=[-0.5])}
    folder = write_folder(tmp_path, "router", {"server": "router", "version": "2", "gateway": True}, rows)

    with pytest.raises(UsageError, match="recorded from a gateway"):
        await judged(folder)
    assert ("server.lengths", "router/late") in failing(await judged(folder, layouts=("vllm-0.32.0",)))


async def test_an_answer_that_broke_off_is_one_finding(tmp_path: Path) -> None:
    row = chat("broken", ids=[5, 6], scores=[-0.5, -0.5], stream=True)
    row["response"] |= {
        "headers": {"content-type": "text/event-stream"},
        "body": 'data: {"error": {"message": "boom"}}\n\n',
    }

    assert {("server.readable", "mine/broken")} == failing(
        await judged(write_folder(tmp_path, "mine", VLLM, {"broken": row}))
    )


async def test_only_names_exchanges(tmp_path: Path) -> None:
    rows = {name: chat(name, ids=[5, 6], scores=[-0.5]) for name in ("one", "two")}
    folder = write_folder(tmp_path, "mine", VLLM, rows)

    assert {"mine/two"} == {case for _, case in failing(await judged(folder, only=("**/two",)))}
    with pytest.raises(UsageError, match="names no exchange"):
        await judged(folder, only=("mine/twoo",))


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        ("logprobs-one-short", "server.lengths"),
        ("n-ignored", "server.choices"),
        ("logprob-positive", "server.scores"),
        ("usage-wrong", "server.usage"),
    ],
)
async def test_what_a_server_breaks_stands_in_its_recording(fault: str, rule: str, tmp_path: Path) -> None:
    async with serving("vllm-0.32.0", fault) as url:
        await conform_server(ServerTarget(url=url, record=tmp_path), Options())

    found = {check for check, _ in failing(await judged(next(tmp_path.glob("**/server.json")).parent))}

    assert rule in found


async def test_real_engines_agree_with_themselves_but_for_what_they_are_known_to_lose() -> None:
    """The shipped captures of real vLLM engines: an answer that is nothing but thoughts has no place for its scores."""
    library = golden()
    assert library is not None
    wanted = tuple(f"vllm-0.{minor}.0-plain/**" for minor in (28, 32))

    result = await judged(library, only=wanted, layouts=("vllm-0.32.0",))

    musts = {(one.finding.check, one.finding.case) for one in result.footer.failing if str(one.finding.level) == "MUST"}
    assert {("server.scores", f"vllm-0.{minor}.0-plain/resp-empty") for minor in (28, 32)} == musts
    assert result.footer.tally.cases > 150


@pytest.mark.parametrize(
    ("gateway", "lost"),
    [
        ("litellm-1.110.2", "hv_chat_JOIN_stream"),
        ("litellm-1.110.2", "oa_cmpl_stream"),
        ("portkey-1.15.2", "fireworks-ai_chat"),
    ],
)
async def test_what_real_gateways_lost_is_missing_in_their_shipped_captures(gateway: str, lost: str) -> None:
    """litellm drops the prompt ids of streams, a provider of Portkey all of them."""
    library = golden()
    assert library is not None

    result = await judged(library, only=(f"{gateway}/{lost}",), layouts=("vllm-0.28.0",))

    said = {one.finding.check: one.finding.where for one in result.footer.failing}
    assert "choices[0].prompt_token_ids" == said["server.ids"]


def test_a_jsonl_of_the_recorder_is_read_line_by_line(tmp_path: Path) -> None:
    row = chat("late", ids=[5, 6], scores=[-0.5])
    raw = json.dumps(row["request"]["body"])
    line: dict[str, Any] = {
        "name": "late", "kind": "chat", "truth": None, "note": None, "ending": "whole",
        "request": {"method": "POST", "path": "/v1/chat/completions", "headers": [], "raw": raw},
        "response": {"status": 200, "headers": [["content-type", "application/json"]], "body": row["response"]["body"],
                     "truncated": False},
    }  # fmt: skip
    file = tmp_path / "exchanges.jsonl"
    file.write_text(json.dumps(line) + "\n" + json.dumps(line)[:50])
    (tmp_path / "exchanges.source.json").write_text(json.dumps({"layout": "vllm-0.32.0"}))

    taken = read([file])

    assert ["exchanges/late"] == [call.case.id for call in taken.calls]
    assert {"a line without its end: the recorder was killed there": 1} == taken.left_out


@pytest.mark.parametrize(
    ("api", "path"),
    [("chat", "/v1/chat/completions"), ("chat", "/openai/v1/chat/completions?x=1"), ("generate", "/generate"),
     ("tito", "/inference/v1/generate"), (None, "/v1/models"), ("responses", "/v1/responses/")],
)  # fmt: skip
def test_the_api_of_a_path(api: str | None, path: str) -> None:
    assert api == api_of(path)


def test_the_command_gives_its_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_folder(tmp_path, "mine", VLLM, {"late": chat("late", ids=[5, 6], scores=[-0.5])})

    code = run(["conform", "recording", str(folder)])

    out = capsys.readouterr().out
    assert (1, "mine: nonconformant (exit 1)") == (code, out.rstrip().splitlines()[-1])
    assert "mine/late  choices[0].logprobs: 2 ids and 1 scores" in out
    assert f"fakellm conform recording --layout vllm-0.32.0 --only mine/late {folder}" in out.replace("\n", " ")


def test_a_file_that_is_no_recording_is_a_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "exchanges.jsonl").write_text("nonsense\n")

    assert 4 == run(["conform", "recording", str(tmp_path / "exchanges.jsonl")])
    assert "no recorded exchange" in capsys.readouterr().err
