"""One request against the real server: what is played is written down, the request sent, and the answer kept with the
truth that the engine's journal tells.

The truth is what the engine said it would say; only the bytes of the tokens are added here, from the tokenizer. Knows
the journal's lines and the golden format.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from fakellm.ask import Request
from fakellm.errors import FakellmError
from fakellm.fidelity.documents import blocks, choice_of
from fakellm.fidelity.play import request_of
from fakellm.fidelity.recorded import Masks
from fakellm.tokenizer import Tokenizer

from .wanted import Wanted

ANSWER_SECONDS = 120.0
"""A busy machine may take long; the slowest script of the library takes 3 s."""

ENGINE_SECONDS = 3.0
"""How long to wait for the engine to be asked after an answer (a background response answers first)."""

SETTLING_SECONDS = 1.5
"""Before an answer is polled that shows the end of an earlier one: longer than any script of the library runs on."""

SITE = "/site-packages"
NOT_KEPT = frozenset({"date"})


class NoAnswer(FakellmError):
    """The server was there and did not answer."""


@dataclass(slots=True)
class Captor:
    """Captures one after the other from one server; ``exchanges`` and ``truths`` grow as the files have them.

    ``play``: the file of the player, None where a real engine runs. ``engine``: what it said of itself. ``places``:
    folders of this machine whose names answers may show; the library writes /site-packages for them.
    """

    port: int
    play: Path | None
    journal: Path
    tokenizer: Tokenizer
    masks: Masks
    places: Sequence[Path] = ()
    exchanges: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    truths: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    engine: dict[str, Any] = field(default_factory=dict[str, Any])
    _serial: int = 0
    _read: int = 0
    _made: dict[str, str] = field(default_factory=dict[str, str])

    def capture(self, wanted: Wanted) -> None:
        """Send it and keep the exchange."""
        self._serial += 1
        if self.play is not None:
            self.play.write_text(json.dumps({"serial": self._serial, "truths": wanted.truths}))
        if wanted.after and wanted.request.method == "GET":
            time.sleep(SETTLING_SECONDS)
        self._lines()  # what a background response of before still said belongs to nobody
        request = request_of(wanted.request, self._made if wanted.after else None)
        try:
            response = send(self.port, request)
        except OSError as failed:
            raise NoAnswer(f"{wanted.name}: {request.method} {request.path} got no answer: {failed}") from failed
        for place in self.places:
            response["body"] = response["body"].replace(str(place), SITE)
        truth = self._truth(wanted)
        if wanted.recorded:
            recorded = self.masks.ids(wanted.recorded)
            self._made.update(zip(recorded, self.masks.ids(response["body"]), strict=False))
        self.exchanges[wanted.name] = self._exchange(wanted, request, response, truth)

    def _exchange(
        self, wanted: Wanted, request: Request, response: dict[str, Any], truth: list[str] | None
    ) -> dict[str, Any]:
        exchange: dict[str, Any] = {"name": wanted.name, **wanted.marks, "truth": truth}
        if wanted.after:
            exchange["after"] = list(wanted.after)
        counts = _delivered(response)
        if wanted.rejoined:
            exchange["chunks"] = counts if any(counts) or not truth else _by_text(response, self.truths[truth[0]])
        if len(counts) > 1:
            exchange.setdefault("compare", "by-choice")
        exchange["request"] = _as_sent(wanted, request)
        exchange["response"] = response
        return exchange

    def _truth(self, wanted: Wanted) -> list[str] | None:
        """The ids of the truths behind the answer, None when no engine ran."""
        lines = self._lines()
        deadline = time.monotonic() + (ENGINE_SECONDS if _in_background(wanted) else 0.0)
        while not lines and time.monotonic() < deadline:
            time.sleep(0.05)
            lines = self._lines()
        if not lines:
            earlier = self.exchanges.get(wanted.after[-1]) if wanted.after else None
            return earlier["truth"] if earlier is not None else None
        prompts = sorted({line["prompt"] for line in lines})
        return [self._keep([line for line in lines if line["prompt"] == prompt], wanted, prompt) for prompt in prompts]

    def _keep(self, lines: Sequence[Mapping[str, Any]], wanted: Wanted, prompt: int) -> str:
        choices = [line["choice"] for line in sorted(lines, key=lambda line: line["place"])]
        if all(choice == choices[0] for choice in choices):
            choices = choices[:1]
        truth: dict[str, Any] = {
            "prompt_token_ids": lines[0]["prompt_token_ids"],
            "prompt_logprobs": lines[0]["prompt_logprobs"],
            "choices": [self._with_bytes(choice) for choice in choices],
        }
        script = wanted.truths[min(prompt, len(wanted.truths) - 1)].get("script") if wanted.truths else None
        if script:
            truth["script"] = script
        truth = cast("dict[str, Any]", self._with_bytes(truth))
        name = "t" + hashlib.sha256(json.dumps(truth, sort_keys=True).encode()).hexdigest()[:10]
        self.truths[name] = truth
        return name

    def _with_bytes(self, value: Any) -> Any:
        """Every row of a token with the bytes of its piece, after its id as the format has it."""
        if isinstance(value, list):
            return [self._with_bytes(one) for one in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        row = cast("dict[str, Any]", value)
        if "id" in row and "logprob" in row:
            row = {"id": row["id"], "bytes": self._bytes(row["id"]), **{k: v for k, v in row.items() if k != "bytes"}}
        return {name: self._with_bytes(member) for name, member in row.items()}

    def _bytes(self, token_id: int) -> list[int]:
        try:
            return list(self.tokenizer.piece(token_id))
        except (KeyError, IndexError, ValueError):
            return []  # an id of the vocabulary's padding has no piece

    def _lines(self) -> list[dict[str, Any]]:
        """What the journal got since it was last read; half a line waits for its rest."""
        with self.journal.open("rb") as journal:
            journal.seek(self._read)
            data = journal.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        lines = [json.loads(line) for line in whole.splitlines()]
        for line in lines:
            self.engine.update(line.get("engine", {}))
        return [line for line in lines if "prompt" in line]


def send(port: int, request: Request) -> dict[str, Any]:
    """Send and read to the end, or to where the server cut it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)
    path = request.path
    if request.pairs:
        path += "?" + "&".join(f"{name}={value}" for name, value in request.pairs)
    try:
        connection.request(request.method, path, request.body or None, dict(request.headers))
        answer = connection.getresponse()
        truncated = False
        try:
            body = answer.read()
        except http.client.IncompleteRead as cut:
            body, truncated = cut.partial, True
        headers = {name.lower(): value for name, value in answer.getheaders() if name.lower() not in NOT_KEPT}
    finally:
        connection.close()
    response: dict[str, Any] = {"status": answer.status, "headers": headers, "body": body.decode("utf-8", "replace")}
    if truncated:
        response["truncated"] = True
    return response


def _as_sent(wanted: Wanted, request: Request) -> dict[str, Any]:
    sent: dict[str, Any] = {"method": request.method, "path": wanted.request.path, "headers": wanted.request.headers}
    if wanted.after:
        sent["path"] = request.path
    if wanted.request.raw is not None:
        sent["raw"] = wanted.request.raw
    elif wanted.request.body is not None:
        sent["body"] = json.loads(request.body)
    return sent


def _in_background(wanted: Wanted) -> bool:
    body = wanted.request.body
    return isinstance(body, dict) and bool(cast("dict[str, Any]", body).get("background"))


def _delivered(response: Mapping[str, Any]) -> list[list[int]]:
    """Tokens per event of each choice of a stream, as far as its ids or scores show; empty for anything else."""
    found: dict[int, list[int]] = {}
    for block in blocks(response["body"], response["headers"].get("content-type", "")) or ():
        choice = choice_of(block)
        if choice is not None:
            count = _tokens_of(block)
            rows = found.setdefault(choice, [])
            if count:
                rows.append(count)
    return [found[choice] for choice in sorted(found)]


def _by_text(response: Mapping[str, Any], truth: Mapping[str, Any]) -> list[list[int]]:
    """The same where only text shows: as many tokens as spell it. What shows no text arrived with the last event."""
    found: list[list[int]] = []
    for index, choice in enumerate(cast("Sequence[Mapping[str, Any]]", truth["choices"])):
        left = [bytes(token["bytes"]) for token in choice["tokens"]]
        counts: list[int] = []
        for block in blocks(response["body"], response["headers"].get("content-type", "")) or ():
            text = _text_of(block) if choice_of(block) == index else ""
            wanted, count = len(text.encode()), 0
            while left and wanted > 0:
                wanted -= len(left.pop(0))
                count += 1
            counts += [count] if count else []
        found.append([*counts[:-1], counts[-1] + len(left)] if counts else [len(left)])
    return found


def _text_of(block: str) -> str:
    data: dict[str, Any] = json.loads(block.partition("data: ")[2])
    choices: list[dict[str, Any]] = data.get("choices") or [{}]
    delta: dict[str, Any] = choices[0].get("delta") or {}
    return choices[0].get("text") or delta.get("content") or ""


def _tokens_of(block: str) -> int:
    data: dict[str, Any] = json.loads(block.partition("data: ")[2])
    choices: list[dict[str, Any]] = data.get("choices") or [data]
    logprobs: dict[str, list[Any]] = choices[0].get("logprobs") or {}
    return len(choices[0].get("token_ids") or logprobs.get("content") or ())
