"""An engine core that plays truths: it answers each request with the tokens, scores, steps and end it was told to.

The file named by ``GOLDEN_PLAY`` holds ``{"serial": N, "truths": [...]}`` in the golden format, one truth per prompt;
a new serial starts a new play. Every request that arrives is written to the journal with what it will be told, so a
capture's truth is what the engine said and not what somebody reckoned. Where an answer ends is decided as vLLM's own
scheduler does (eos, stop ids, max_tokens, context). Stop strings are not an engine's business.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pace
from rows import Row, prompt_rows, row

engine: Any = import_module("vllm.v1.engine")
outputs: Any = import_module("vllm.v1.outputs")
numpy: Any = import_module("numpy")
torch: Any = import_module("torch")

OUTPUT_FIELDS = frozenset(engine.EngineCoreOutput.__struct_fields__)
BATCH_FIELDS = frozenset(engine.EngineCoreOutputs.__struct_fields__)
CHILD = re.compile(r"^(\d+)_(.+)$", re.DOTALL)
GAP_SECONDS = 0.005
"""Between two steps, unless the script says otherwise (0 = no pause at all: the server joins the steps)."""


class _Resources:
    engine_dead = False


class Player:
    """Stands where vLLM's EngineCoreClient stands."""

    def __init__(self, config: Any, play: Path, journal: Path) -> None:
        self.resources = _Resources()
        self.engine_ranks_managed = [0]
        self._config = config
        self._play_file = play
        self._journal = journal
        self._serial: Any = None
        self._truths: list[Mapping[str, Any]] = []
        self._parents: list[str] = []
        self._queue: asyncio.Queue[Any] | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._weight_version = "default"
        self._sleeping = self._paused = False
        self._loras: dict[int, Any] = {}
        self._write({"engine": facts()})

    def __getattr__(self, name: str) -> Any:
        """What a version asks of its engine besides: questions are answered with no, orders with done."""
        if not name.endswith("_async"):
            raise AttributeError(name)

        async def obey(*_: Any, **__: Any) -> bool:
            return not name.startswith("is_")

        return obey

    def shutdown(self, *_: Any, **__: Any) -> None:
        for task in self._tasks.values():
            task.cancel()

    def dp_engines_running(self) -> bool:
        return False

    def get_kv_event_sources(self) -> dict[int, Any]:
        return {}

    async def get_supported_tasks_async(self) -> tuple[str, ...]:
        return ("generate",)

    async def collective_rpc_async(self, *_: Any, **__: Any) -> list[Any]:
        return [None]

    async def sleep_async(self, *_: Any, **__: Any) -> None:
        self._sleeping = True

    async def wake_up_async(self, *_: Any, **__: Any) -> bool:
        self._sleeping = False
        return True

    async def is_sleeping_async(self) -> bool:
        return self._sleeping

    async def pause_scheduler_async(self, mode: str = "keep", **_: Any) -> None:
        """From 0.20 on the engine itself ends what it has in hand, by an output without tokens for each."""
        self._paused = True
        for request_id, task in [*self._tasks.items()] if mode == "abort" else ():
            if not task.done():
                await self.abort_requests_async([request_id])
                await self.put(engine.EngineCoreOutput(request_id, [], finish_reason=engine.FinishReason.ABORT))

    async def resume_scheduler_async(self, *_: Any, **__: Any) -> None:
        self._paused = False

    async def is_scheduler_paused_async(self) -> bool:
        return self._paused

    async def set_weight_version_async(self, version: str) -> None:
        self._weight_version = version

    async def get_weight_version_async(self) -> str:
        return self._weight_version

    async def add_lora_async(self, request: Any) -> bool:
        self._loras[request.lora_int_id] = request
        return True

    async def list_loras_async(self) -> set[int]:
        return set(self._loras)

    def _outputs(self) -> asyncio.Queue[Any]:
        if self._queue is None:
            self._queue = asyncio.Queue()
        return self._queue

    async def get_output_async(self) -> Any:
        return await self._outputs().get()

    async def abort_requests_async(self, request_ids: Sequence[str]) -> None:
        for request_id in request_ids:
            task = self._tasks.pop(request_id, None)
            if task is not None:
                task.cancel()

    async def add_request_async(self, request: Any) -> None:
        self._load()
        child = CHILD.match(request.request_id)
        parent, place = (child[2], int(child[1])) if child else (request.request_id, 0)
        if parent not in self._parents:
            self._parents.append(parent)
        prompt = self._parents.index(parent)
        truth = self._truth_of(list(request.prompt_token_ids or ()), prompt)
        part = Part(self, request, truth, place, self._config)
        self._write({"serial": self._serial, "prompt": prompt, "place": place, **part.to_journal()})
        self._tasks[request.request_id] = asyncio.create_task(part.play())

    def _load(self) -> None:
        plays: dict[str, Any] = json.loads(self._play_file.read_text())
        if plays["serial"] != self._serial:
            self._serial, self._truths, self._parents = plays["serial"], plays["truths"], []

    def _truth_of(self, prompt_token_ids: list[int], place: int) -> Mapping[str, Any]:
        """The truth at its place, unless only another one has these prompt ids (prompts may arrive crosswise)."""
        here = self._truths[min(place, len(self._truths) - 1)]
        if here.get("prompt_token_ids") == prompt_token_ids:
            return here
        fitting = (truth for truth in self._truths if truth.get("prompt_token_ids") == prompt_token_ids)
        return next(fitting, here)

    def _write(self, line: Mapping[str, Any]) -> None:
        with self._journal.open("a") as journal:
            journal.write(json.dumps(line) + "\n")

    async def put(self, output: Any) -> None:
        """Hand one request's step to the server."""
        told = {"weight_version": self._weight_version} if "weight_version" in BATCH_FIELDS else {}
        await self._outputs().put(engine.EngineCoreOutputs(outputs=[output], timestamp=time.monotonic(), **told))


def facts() -> dict[str, Any]:
    """What this version's engine reports besides tokens, as ``server.json`` has it."""
    return {"weight_version": "default" if "weight_version" in BATCH_FIELDS else None, "timings": "all"}


class Part:
    """One sample of one request: the scores of every token, made when the request arrives, and then the steps."""

    def __init__(self, player: Player, request: Any, truth: Mapping[str, Any], place: int, config: Any) -> None:
        self._player = player
        self._request = request
        self._sampling: Any = request.sampling_params
        self._prompt: list[int] = list(request.prompt_token_ids or ())
        self._script: Mapping[str, Any] = truth.get("script") or {}
        choices = truth["choices"]
        self._choice: Mapping[str, Any] = choices[min(place, len(choices) - 1)]
        self._context: int = config.model_config.max_model_len
        vocabulary: int = config.model_config.get_vocab_size()
        wanted = self._count(vocabulary)
        self._asked: list[int] = list(getattr(self._sampling, "logprob_token_ids", None) or ())
        tokens: Sequence[Mapping[str, Any]] = self._choice["tokens"]
        self._ids = [token["id"] for token in tokens]
        self._rows = None if wanted is None else [row(token, wanted, asked=self._asked) for token in tokens]
        asked = self._sampling.prompt_logprobs
        self._prompt_rows: list[Row] | None = None
        if asked is not None:
            known = truth.get("prompt_logprobs")
            self._prompt_rows = prompt_rows(self._prompt, known, vocabulary if asked == -1 else asked)

    def _count(self, vocabulary: int) -> int | None:
        """Candidates per token, None when the request wants no scores."""
        found = getattr(self._sampling, "num_logprobs", self._sampling.logprobs)
        return vocabulary if found == -1 else found

    def to_journal(self) -> dict[str, Any]:
        """What this request will be told, in the golden format (tokens without their bytes)."""
        told = [one.to_truth(asked=bool(self._asked)) for one in self._rows] if self._rows is not None else None
        rows = self._prompt_rows
        return {
            "prompt_token_ids": self._prompt,
            "prompt_logprobs": None if rows is None else [None, *(one.to_truth() for one in rows)],
            "choice": {**self._choice, **self._known_end(), "tokens": told or self._choice["tokens"]},
        }

    def _known_end(self) -> dict[str, str]:
        """How the truth ends, as far as this version's engine knows such an end."""
        wanted = self._choice.get("finish_reason")
        known = wanted is None or hasattr(engine.FinishReason, wanted.upper())
        return {} if known else {"finish_reason": str(engine.FinishReason.ABORT)}

    async def play(self) -> None:
        """All steps, each when the server has had time for the one before."""
        await asyncio.sleep(self._script.get("delay", 0.02))
        at, steps = 0, self._choice.get("chunks") or [1] * len(self._ids)
        end: int = self._choice.get("finish_at") or len(self._ids)
        for number, size in enumerate(steps):
            ids, finish, reason = self._step(at, min(size, end - at))
            at += len(ids)
            if finish is None and (at == end and 0 not in steps[number + 1 :]):
                finish, reason = self._own_end()
            await self._player.put(self._output(ids, at, finish, reason, first=number == 0))
            if finish is not None:
                return
            if self._script.get("gap") != 0:
                await pace.taken(self._script.get("gap", GAP_SECONDS))

    def _own_end(self) -> tuple[Any, Any]:
        """How the truth itself ends. A version that knows no error plays on, and ends its last step as aborted."""
        name = (self._choice.get("finish_reason") or "length").upper()
        return getattr(engine.FinishReason, name, engine.FinishReason.ABORT), self._choice.get("stop_reason")

    def _step(self, at: int, size: int) -> tuple[list[int], Any, Any]:
        """The ids of a step, cut where the scheduler would end it, and how it ended."""
        ids: list[int] = []
        for count, token_id in enumerate(self._ids[at : at + size], at + 1):
            ids.append(token_id)
            if count >= self._sampling.min_tokens:
                if token_id == self._eos():
                    return ids, engine.FinishReason.STOP, None
                if token_id in (self._sampling.stop_token_ids or ()):
                    return ids, engine.FinishReason.STOP, token_id
            if count >= self._sampling.max_tokens or len(self._prompt) + count >= self._context:
                return ids, engine.FinishReason.LENGTH, None
        return ids, None, None

    def _eos(self) -> int | None:
        if self._sampling.ignore_eos:
            return None
        if hasattr(self._request, "eos_token_id"):
            return self._request.eos_token_id
        return self._sampling.eos_token_id

    def _output(self, ids: list[int], at: int, finish: Any, reason: Any, *, first: bool) -> Any:
        told: dict[str, Any] = {}
        if self._rows is not None and ids:
            told["new_logprobs"] = _lists(self._rows[at - len(ids) : at])
        if first:
            told |= self._of_the_prompt()
        if finish is not None:
            told |= self._extras(at)
        return engine.EngineCoreOutput(self._request.request_id, ids, finish_reason=finish, stop_reason=reason, **told)

    def _of_the_prompt(self) -> dict[str, Any]:
        now = time.monotonic()
        kinds = engine.EngineCoreEventType
        told: dict[str, Any] = {
            "events": [engine.EngineCoreEvent.new_event(kind, now) for kind in (kinds.QUEUED, kinds.SCHEDULED)]
        }
        cached = self._script.get("cached", 0)
        if "prefill_stats" in OUTPUT_FIELDS:
            stats: Any = import_module("vllm.v1.metrics.stats").PrefillStats()
            stats.set(len(self._prompt), cached, 0)
            told["prefill_stats"] = stats
        elif "num_cached_tokens" in OUTPUT_FIELDS:
            told["num_cached_tokens"] = cached
        if self._prompt_rows:
            told["new_prompt_logprobs_tensors"] = outputs.LogprobsTensors(
                torch.tensor([one.ids for one in self._prompt_rows]),
                torch.tensor([one.logprobs for one in self._prompt_rows], dtype=torch.float32),
                torch.tensor([one.rank for one in self._prompt_rows]),
            )
        return told

    def _extras(self, at: int) -> dict[str, Any]:
        told: dict[str, Any] = {}
        if self._script.get("routed") and "routed_experts" in OUTPUT_FIELDS:
            told["routed_experts"] = numpy.zeros((len(self._prompt) + at - 1, 2, 1), dtype=numpy.uint8)
        if self._script.get("kv"):
            told["kv_transfer_params"] = {"do_remote_prefill": True, "remote_block_ids": [1]}
        return told


def _lists(rows: Sequence[Row]) -> Any:
    """vLLM's LogprobsLists; until 0.10 of plain lists, later of arrays."""
    ids, scores, ranks = [one.ids for one in rows], [one.logprobs for one in rows], [one.rank for one in rows]
    if len(outputs.LogprobsLists._fields) == 3:
        widened = numpy.array(scores, dtype=numpy.float32).tolist()
        return outputs.LogprobsLists(ids, widened, ranks)
    return outputs.LogprobsLists(
        numpy.array(ids, dtype=numpy.int32),
        numpy.array(scores, dtype=numpy.float32),
        numpy.array(ranks, dtype=numpy.int32),
        None,
    )
