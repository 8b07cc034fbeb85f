"""One captured abort played by the fake: the same request, the same truth, ended after as many steps.

A capture does not tell how many steps a server had made; the fake is asked for each number, and the first that gives
the very bytes is kept with the capture. Pure but for reading the capture's file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fakellm.ask import Ask, Request
from fakellm.fidelity.recorded import Masks
from fakellm.flight import Flight
from fakellm.generation import Generation
from fakellm.journal import Journal
from fakellm.layouts.base import Launch
from fakellm.layouts.registry import find
from fakellm.message import Frame, Wire
from fakellm.stage import Reply, Stage
from fakellm.timing import Timing
from fakellm.tokenizer import Tokenizer

STEP_MS = 1000.0


@dataclass(frozen=True, slots=True)
class Server:
    """A captured server: how it was started and what its engine played."""

    vendor: str
    version: str
    launch: tuple[str, ...]
    env: Mapping[str, str]
    model_path: str
    truth: Mapping[str, Any]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Server:
        return cls(
            data["vendor"], data["version"], tuple(data["launch"]), data["env"], data["model_path"], data["truth"]
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "vendor": self.vendor,
            "version": self.version,
            "launch": list(self.launch),
            "env": dict(self.env),
            "model_path": self.model_path,
            "truth": self.truth,
        }


class _Played:
    """The source of the truth; every step takes a second."""

    def __init__(self, truth: Mapping[str, Any]) -> None:
        self._truth = Generation.from_truth(truth)

    def reply(self, ask: Ask) -> Reply:
        def generate(heard: Ask) -> tuple[Generation, ...]:
            return tuple(replace(self._truth, prompt_token_ids=prompt.token_ids) for prompt in heard.prompts)

        return Reply(generate, timing=Timing(first_token_ms=STEP_MS, between_ms=STEP_MS))


class _Line:
    """A connection that has sent what was due by then (``flight.Carrier``)."""

    def __init__(self, wire: Wire, at_ms: float) -> None:
        self._wire = wire
        self._at_ms = at_ms

    def reach(self) -> tuple[float, int]:
        due = [frame for frame in self._wire.frames if frame.due_ms <= self._at_ms]
        return self._at_ms, sum(len(frame.data) for frame in due) if self._wire.stream else 0

    def swap(self, wire: Wire, rest: Sequence[Frame]) -> None:
        self._wire = wire


@dataclass(frozen=True, slots=True)
class Answered:
    """What a client has in the end. ``cut``: the connection was gone before the answer's end."""

    status: int
    body: str
    cut: bool


def answered(server: Server, tokenizer: Tokenizer, exchange: Mapping[str, Any], steps: int) -> Answered:
    """The fake's answer when it is aborted after so many steps."""
    layout = find(f"{server.vendor}-{server.version}").layout
    launch = Launch(
        tokenizer=tokenizer,
        options=server.launch,
        env=server.env,
        model_path=server.model_path,
        engine={"weight_version": "default"},
    )
    stage = Stage("aborts", layout, layout.start(launch), _Played(server.truth), now=lambda: 0.0, tokenizer=tokenizer)
    headers = {"content-type": "application/json", **exchange["headers"]}
    request = Request("POST", exchange["path"], {}, headers, json.dumps(exchange["body"]).encode())
    answer, journal = stage.answer(request), Journal()
    record = journal.begin(0.0, stage.name, request)
    record.wire, record.behind = answer.wire, answer.behind
    if answer.making is not None:
        flight = Flight(stage, answer, record, journal, _Line(answer.wire, (steps + 0.5) * STEP_MS))
        flight.abort(range(len(flight.ids)))
    return Answered(record.wire.status, record.body.decode(), record.wire.cut)


def agrees(exchange: Mapping[str, Any], told: Answered, masks: Masks) -> bool:
    """Whether the fake told what the server told, but for random ids and clocks."""
    recorded = Answered(exchange["status"], masks.apply(exchange["answer"]), exchange["cut"])
    return recorded == replace(told, body=masks.apply(told.body))


def steps_of(server: Server, tokenizer: Tokenizer, exchange: Mapping[str, Any], masks: Masks) -> int | None:
    """After how many steps the fake tells the same; None = never."""
    most = 1 if exchange["queued"] else len(server.truth["choices"][0]["tokens"])
    numbers = range(0 if exchange["queued"] else 1, most)
    return next((at for at in numbers if agrees(exchange, answered(server, tokenizer, exchange, at), masks)), None)


def load(path: Path) -> tuple[Server, list[dict[str, Any]]]:
    """A capture's server and exchanges."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return Server.from_json(data), data["exchanges"]
