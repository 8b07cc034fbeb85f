"""From ``exchanges.jsonl`` to a golden folder and a scenario that replays it.

    FOLDER/server.json  truths.json  masks.json  exchanges/*.json  tokenizers/NAME/  scenario.yaml

The folder is what ``fakellm fidelity FOLDER`` reads (the drift check) and ``scenario.yaml`` what ``fakellm serve`` and
the pytest fixture play. Writes files; knows no socket.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from ..errors import CaptureError, UsageError
from .facts import Source, served_model, server_json
from .file import read
from .masks import masks_for
from .replies import POLICIES, Replayable, scenario_data

NOT_ANSWERED = 0
UNRECORDED_HEADERS = frozenset({"date", "transfer-encoding", "connection", "keep-alive"})
"""Of the connection or of the clock, never of the answer."""
_IDENTITY = ("host", "content-length", "connection", "accept-encoding", "user-agent", "accept")
"""Request headers that no layout reads."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it: counts, and why exchanges have no truth."""

    exchanges: int
    with_truth: int
    notes: Mapping[str, str]
    broken: tuple[int, ...]


def pack(recording: Path, folder: Path, source: Source, policy: str = "unmatched") -> Outcome:
    """Make the folder; raises CaptureError for an unreadable recording, UsageError for a folder that is in use."""
    if policy not in POLICIES:
        raise UsageError(f"there is no policy {policy!r}", hint=f"it is {' or '.join(POLICIES)}")
    if folder.exists() and any(folder.iterdir()) and not (folder / "server.json").is_file():
        raise UsageError("the folder holds something else than a recording", where=str(folder))
    recorded = read(recording)
    lines = [line for line in recorded.lines if line["response"]["status"] != NOT_ANSWERED]
    if not lines:
        raise CaptureError("the recording holds no answered exchange", where=str(recording))
    exchanges = folder / "exchanges"
    if exchanges.is_dir():
        shutil.rmtree(exchanges)
    exchanges.mkdir(parents=True)
    tokenizer = _tokenizer(source, folder)
    source = replace(source, model=served_model(source, lines))
    truths: dict[str, Mapping[str, Any]] = {}
    replayable: list[Replayable] = []
    for line in lines:
        exchange = exchange_of(line, truths)
        _write(exchanges / f"{exchange['name']}.json", exchange)
        if exchange["truth"] is not None and exchange["request"].get("body") is not None:
            file = f"exchanges/{exchange['name']}.json"
            body = exchange["request"]["body"]
            replayable.append(Replayable(exchange["name"], exchange["kind"], body, tuple(exchange["truth"]), file))
    facts = server_json(source, lines, tokenizer)
    _write(folder / "server.json", facts)
    _write(folder / "truths.json", truths)
    _write(folder / "masks.json", masks_for(facts["server"]))
    data = scenario_data(replayable, _server(source, tokenizer), f"Replays {recording.name}", policy)
    if data["replies"]:
        (folder / "scenario.yaml").write_text(_yaml(data), encoding="utf-8")
    notes = {line["name"]: line["note"] for line in lines if line.get("note")}
    return Outcome(len(lines), sum(1 for line in lines if line["truth"]), notes, recorded.broken)


def exchange_of(line: Mapping[str, Any], truths: dict[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A line as a golden exchange; its truths go into ``truths`` under a name made of what they say."""
    request, response = line["request"], line["response"]
    named: list[str] | None = None
    chunks: list[list[int]] | None = None
    if line["truth"] is not None:
        named, chunks = [], []
        for truth in line["truth"]:
            chunks += [choice["chunks"] for choice in truth["choices"]]
            choices = [{**choice, "chunks": [1] * len(choice["tokens"])} for choice in truth["choices"]]
            whole = {**truth, "choices": choices}
            name = _name_of(whole)
            truths[name] = whole
            named.append(name)
    left = line["ending"] == "left"
    exchange: dict[str, Any] = {
        "name": line["name"],
        "truth": named,
        "kind": line["kind"],
        "note": line["note"] or ("the client went away before the end" if left else None),
        "compare": _compared(line, named, chunks),
        "request": {
            "method": request["method"],
            "path": request["path"],
            "headers": _headers(request["headers"], _IDENTITY),
            **_body(request.get("raw")),
        },
        "response": {
            "status": response["status"],
            "headers": _headers(response["headers"], UNRECORDED_HEADERS),
            "body": response["body"],
            "truncated": response["truncated"],
        },
    }
    if chunks is not None:
        exchange["chunks"] = chunks
    return exchange


def _compared(line: Mapping[str, Any], named: list[str] | None, chunks: list[list[int]] | None) -> str | None:
    """How it is compared: the status alone where the end or the truth is not known, choice by choice where a stream has
    several, whose events come as the clock has it."""
    if line["ending"] == "left" or (named is None and line["kind"] and line["response"]["status"] == 200):
        return "status"
    headers = _headers(line["response"]["headers"], ())
    streams = headers.get("content-type", "").startswith("text/event-stream")
    return "by-choice" if streams and chunks is not None and len(chunks) > 1 else None


class _Plain(yaml.SafeDumper):
    """YAML without anchors: a scenario file has none."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _yaml(data: Any) -> str:
    text: Any = yaml.dump(  # pyright: ignore[reportUnknownMemberType]
        data, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=110
    )
    return str(text)


def _name_of(truth: Mapping[str, Any]) -> str:
    text = json.dumps(truth, sort_keys=True, separators=(",", ":"))
    return f"t{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def _headers(pairs: Sequence[Sequence[str]], left_out: Sequence[str] | frozenset[str]) -> dict[str, str]:
    return {name.lower(): value for name, value in pairs if name.lower() not in left_out}


def _body(raw: str | None) -> dict[str, Any]:
    """JSON where it is JSON that the compact form tells whole, else the text."""
    if not raw:
        return {}
    try:
        found: Any = json.loads(raw)
    except ValueError:
        return {"raw": raw}
    return {"raw": raw} if found is None else {"body": found}


def _tokenizer(source: Source, folder: Path) -> str | None:
    """Copy the tokenizer's folder beside the exchanges and give its name; None for the built-in one."""
    if source.tokenizer is None:
        return None
    place = Path(source.tokenizer)
    if not place.is_dir():
        raise UsageError("a recording needs the tokenizer's folder", where=source.tokenizer)
    target = folder / "tokenizers" / place.name
    if target.resolve() != place.resolve():
        weights = shutil.ignore_patterns("*.safetensors", "*.bin", "*.gguf", ".*")
        shutil.copytree(place, target, dirs_exist_ok=True, ignore=weights)
    return place.name


def _server(source: Source, tokenizer: str | None) -> dict[str, Any]:
    """The scenario's ``server:`` section."""
    server: dict[str, Any] = {"layout": source.layout}
    if source.model is not None:
        server["model"] = source.model
    if tokenizer is not None:
        server["tokenizer"] = f"tokenizers/{tokenizer}"
    return server


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
