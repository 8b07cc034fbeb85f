"""A scheduler that plays truths: it answers each request with the tokens, scores, steps and end it was told to.

The file named by ``GOLDEN_PLAY`` holds ``{"serial": N, "truths": [...]}`` in the golden format, one truth per prompt; a
new serial starts a new play. Every request that arrives is written to the journal with what it will be told. Where an
answer ends is decided by SGLang's own ``Req``, and its own output streamer hands the steps on.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import control
import pace
from machine import Machine
from rows import Scores, scores

END = 2
"""What a script that is too short goes on with: the end token of the library's tokenizer."""


def run(server_args: Any, port_args: Any, *given: Any, **named: Any) -> None:
    """The scheduler process: SGLang hands over the arguments, the ports, and somewhere a pipe to say it is ready on."""
    pipe = next(one for one in (*given, *named.values()) if hasattr(one, "send"))
    machine = Machine(server_args, port_args)
    pipe.send(machine.ready())
    Player(machine).run()


def _major(distribution: str) -> int:
    """The major version of what is installed: some texts depend on it."""
    return int(version(distribution).partition(".")[0])


LONGEST = 64
ENDED_SECONDS = 0.02


class Player:
    """Takes requests, steps those that run, and answers whatever else a server asks its scheduler."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._play_file = Path(os.environ["GOLDEN_PLAY"])
        self._journal = Path(os.environ["GOLDEN_JOURNAL"])
        self._memory = pace.shared()
        self._serial: Any = None
        self._truths: list[Mapping[str, Any]] = []
        self._arrived = 0
        self._running: list[Part] = []
        self._paused = False
        self._write({"engine": {"weight_version": "default", "transformers": _major("transformers")}})

    def run(self) -> None:
        while True:
            while (message := self._machine.receive(0 if self._going() and not self._paused else 20)) is not None:
                self._take(message)
            if self._going() and not self._paused:
                self._step()

    def _going(self) -> bool:
        return any(not part.waits for part in self._running)

    def _take(self, message: Any) -> None:
        name = type(message).__name__
        if name == "TokenizedGenerateReqInput":
            self._start(message)
        elif name == "BatchTokenizedGenerateReqInput":
            for one in message.batch:
                self._start(one)
        elif name == "AbortReq":
            for part in [*self._running]:
                if message.abort_all or part.req.rid.startswith(message.rid):
                    self._abort(part)
        elif name == "ShutdownReq":
            raise SystemExit
        else:
            self._paused = {"PauseGenerationReqInput": True, "ContinueGenerationReqInput": False}.get(
                name, self._paused
            )
            answer = control.answer(self._machine.io, message)
            if answer is not None:
                self._machine.reply(answer, message)

    def _abort(self, part: Part) -> None:
        """One that runs makes its next step and ends with it; one in the queue is taken out."""
        if part.waits:
            self._running.remove(part)
            self._machine.drop(part.req)
        else:
            part.req.to_finish = self._machine.abort()

    def _start(self, request: Any) -> None:
        self._load()
        sampling = request.sampling_params
        if str(request.rid).startswith("HEALTH_CHECK"):
            self._running.append(Part(self._machine, request, _greeting()))
            return
        if sampling.n > 1 and sampling.max_new_tokens == 0:  # only fills the prefix cache before the samples come
            self._running.append(Part(self._machine, request, _greeting()))
            return
        prompt, place = divmod(self._arrived, max(sampling.n, 1))
        self._arrived += 1
        truth = self._truths[min(prompt, len(self._truths) - 1)]
        part = Part(self._machine, request, truth, place)
        self._write({"serial": self._serial, "prompt": prompt, "place": place, **part.to_journal()})
        self._running.append(part)

    def _load(self) -> None:
        plays: dict[str, Any] = json.loads(self._play_file.read_text())
        if plays["serial"] != self._serial:
            self._serial, self._truths, self._arrived = plays["serial"], plays["truths"], 0

    def _write(self, line: Mapping[str, Any]) -> None:
        with self._journal.open("a") as journal:
            journal.write(json.dumps(line) + "\n")

    def _step(self) -> None:
        """One step of every running request, handed on; then the server gets the time to take it."""
        begun = [part for part in self._running if not part.waits]
        for part in begun:
            part.step()
        going = [part for part in begun if part.streams and not part.req.finished()]
        before = pace.count(self._memory)
        sent = self._machine.send([part.req for part in begun])
        ended = [part for part in self._running if part.req.finished()]
        self._running = [part for part in self._running if not part.req.finished()]
        due = sum(1 for part in going if part.req.rid in sent)
        if due:
            pace.wait(self._memory, before + due)
        if ended and self._running:
            time.sleep(ENDED_SECONDS)  # the count may have been for those that ended


class Part:
    """One sample of one request: its Req, the scores of every token, and the steps to come. ``waits``: it is in the
    queue and stays there until it is aborted."""

    def __init__(self, machine: Machine, request: Any, truth: Mapping[str, Any], place: int = 0) -> None:
        choices = truth["choices"]
        self._choice: Mapping[str, Any] = choices[min(place, len(choices) - 1)]
        self._script: Mapping[str, Any] = truth.get("script") or {}
        self._machine = machine
        self.streams = bool(request.stream)
        self.waits = bool(self._script.get("queued"))
        self._prompt = list(request.input_ids or ())
        self._count: int = request.top_logprobs_num or 0
        self._asked: Sequence[int] | None = request.token_ids_logprob
        told = [*self._choice["tokens"], *self._further(request.sampling_params)]
        self._tokens = [scores(token, self._count, self._asked) for token in told]
        self._prompt_rows = [self._of_the_prompt(truth, place) for place in range(1, len(self._prompt))]
        steps = list(self._choice.get("chunks") or [])
        self._all_steps = steps + [1] * (len(self._tokens) - sum(steps))
        self._steps = list(self._all_steps)
        self._at = 0
        self.req = machine.request(request)
        cached = int(self._script.get("cached") or 0)
        self.req.cached_tokens = min(cached, max(len(self._prompt) - 1, 0))

    def _further(self, sampling: Any) -> list[dict[str, Any]]:
        """What an answer goes on with that must not end where the truth does."""
        wanted = sampling.max_new_tokens if sampling.ignore_eos else sampling.min_new_tokens
        missing = min(wanted or 0, LONGEST) - len(self._choice["tokens"])
        return [{"id": END, "logprob": None, "rank": 1} for _ in range(missing)]

    def _of_the_prompt(self, truth: Mapping[str, Any], place: int) -> Scores:
        known = truth.get("prompt_logprobs") or ()
        token = known[place] if len(known) == len(self._prompt) else None
        return scores(token or {"id": self._prompt[place], "logprob": -0.5 * place}, self._count, self._asked)

    def to_journal(self) -> dict[str, Any]:
        """What this request will be told, in the golden format (tokens without their bytes)."""
        return {
            "prompt_token_ids": self._prompt,
            "prompt_logprobs": [None, *(one.to_truth() for one in self._prompt_rows)] if self._prompt else [],
            "choice": {**self._choice, "tokens": [one.to_truth() for one in self._tokens], "chunks": self._all_steps},
        }

    def step(self) -> None:
        """Take the next step's tokens into the Req, cut where it ends."""
        size = self._steps.pop(0) if self._steps else 1
        delay = self._script.get("gap" if self._at else "delay")
        if delay:
            time.sleep(delay)
        self._fail_if_due()
        got = [self._token(self._at + number) for number in range(size)]
        self.req.output_ids.extend(one.id for one in got)
        self._machine.finish(self.req, len(got))
        if self.req.return_logprob:
            for one in got:
                self._machine.score(self.req, one.id, self._output(one))
                self._at += 1
        else:
            self._at += len(got)

    def _token(self, place: int) -> Scores:
        if place < len(self._tokens):
            return self._tokens[place]
        return scores({"id": END, "logprob": None, "rank": 1}, self._count, self._asked)

    def _fail_if_due(self) -> None:
        fails_at = self._choice.get("finish_at")
        if self._choice.get("finish_reason") == "error" and fails_at is not None and self._at >= fails_at:
            error: Mapping[str, Any] = self._choice.get("error") or {}
            status = HTTPStatus(int(error.get("code") or 500))
            self.req.to_finish = self._machine.abort(str(error.get("message") or "boom"), status)

    def _output(self, one: Scores) -> SimpleNamespace:
        """What the model runner would have told of one token, and of the prompt with the first."""
        output = SimpleNamespace(
            next_token_logprobs=[one.logprob],
            next_token_top_logprobs_val=[[score for _, score in one.top]],
            next_token_top_logprobs_idx=[[token_id for token_id, _ in one.top]],
            next_token_token_ids_logprobs_val=[[score for _, score in one.asked or ()]],
            next_token_token_ids_logprobs_idx=[self._asked],
            told_of_prompt=0,
        )
        start, length = self.req.logprob_start_len, len(self.req.origin_input_ids)
        if self._at == 0 and 0 <= start < length:
            rows = [*self._prompt_rows[start:], one]
            output.told_of_prompt = len(rows)
            output.input_token_logprobs = tuple(row.logprob for row in rows)
            output.input_top_logprobs_val = [[[score for _, score in row.top] for row in rows]]
            output.input_top_logprobs_idx = [[[token_id for token_id, _ in row.top] for row in rows]]
            output.input_token_ids_logprobs_val = [[[score for _, score in row.asked or ()] for row in rows]]
            output.input_token_ids_logprobs_idx = [[self._asked or []] * len(rows)]
        return output


def _greeting() -> dict[str, Any]:
    """A truth that nobody asked for: health checks and prefix caching get one token."""
    return {"choices": [{"finish_reason": "stop", "tokens": [{"id": END, "logprob": None, "rank": 1}]}]}


with contextlib.suppress(ImportError):  # this version's patches of its own modules
    import_module("sglang.srt.plugins")
