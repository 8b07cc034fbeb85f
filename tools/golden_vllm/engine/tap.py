"""The real engine core client with a tap: what it says of each request is written to the journal when it has ended.

Scores and candidates are those the request asked for; an answer shows no others, so the truth need not know them. Steps
are handed on one by one, so that the server sends each before the next arrives and a stream shows what the engine did.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pace
from rows import Row

engine: Any = import_module("vllm.v1.engine")

CHILD = re.compile(r"^(\d+)_(.+)$", re.DOTALL)
GAP_SECONDS = 0.005


class Tap:
    """Everything goes to the real client; requests and what is said of them are noted on the way."""

    def __init__(self, client: Any, journal: Path) -> None:
        self._client = client
        self._journal = journal
        self._heard: dict[str, Heard] = {}
        self._parents: list[str] = []
        reports = "weight_version" in engine.EngineCoreOutputs.__struct_fields__
        self._write({"engine": {"weight_version": "default" if reports else None, "timings": "all"}})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def add_request_async(self, request: Any) -> None:
        child = CHILD.match(request.request_id)
        parent, place = (child[2], int(child[1])) if child else (request.request_id, 0)
        if not self._heard:
            self._parents = []
        if parent not in self._parents:
            self._parents.append(parent)
        self._heard[request.request_id] = Heard(request, self._parents.index(parent), place)
        await self._client.add_request_async(request)

    async def abort_requests_async(self, request_ids: list[str]) -> None:
        """A stop string, or a client that left: what the engine said so far is all there is."""
        for request_id in request_ids:
            self._end(request_id)
        await self._client.abort_requests_async(request_ids)

    async def get_output_async(self) -> Any:
        told = await self._client.get_output_async()
        for output in told.outputs:
            heard = self._heard.get(output.request_id)
            if heard is not None:
                heard.hear(output)
                if output.finish_reason is not None:
                    self._end(output.request_id)
        await pace.taken(GAP_SECONDS)
        return told

    def _end(self, request_id: str) -> None:
        heard = self._heard.pop(request_id, None)
        if heard is not None:
            self._write(heard.to_journal())

    def _write(self, line: Mapping[str, Any]) -> None:
        with self._journal.open("a") as journal:
            journal.write(json.dumps(line) + "\n")


class Heard:
    """What the engine said of one sample so far."""

    def __init__(self, request: Any, prompt: int, place: int) -> None:
        self._prompt_token_ids = list(request.prompt_token_ids or ())
        self._asked = bool(getattr(request.sampling_params, "logprob_token_ids", None))
        self._prompt, self._place = prompt, place
        self._tokens: list[dict[str, Any]] = []
        self._chunks: list[int] = []
        self._prompt_rows: list[Any] | None = None
        self._finish: str | None = None
        self._reason: Any = None

    def hear(self, output: Any) -> None:
        """Take one step."""
        ids = list(output.new_token_ids)
        scores = output.new_logprobs
        for place, token_id in enumerate(ids):
            if scores is None:
                self._tokens.append({"id": token_id, "logprob": None, "top": []})
                continue
            row = Row(_plain(scores[0][place]), _plain(scores[1][place]), int(scores[2][place]))
            self._tokens.append(row.to_truth(asked=self._asked))
        self._chunks.append(len(ids))
        tensors = output.new_prompt_logprobs_tensors
        if tensors is not None:
            self._hear_prompt(tensors)
        if output.finish_reason is not None:
            self._finish, self._reason = str(output.finish_reason), output.stop_reason

    def _hear_prompt(self, tensors: Any) -> None:
        rows: list[Any] = [None] if self._prompt_rows is None else self._prompt_rows
        for ids, scores, rank in zip(tensors[0].tolist(), tensors[1].tolist(), tensors[2].tolist(), strict=True):
            rows.append(Row(ids, scores, rank).to_truth())
        self._prompt_rows = rows

    def to_journal(self) -> dict[str, Any]:
        """In the golden format (tokens without their bytes)."""
        choice: dict[str, Any] = {"finish_reason": self._finish or "length"}
        if self._reason is not None:
            choice["stop_reason"] = self._reason
        choice |= {"tokens": self._tokens, "chunks": self._chunks}
        return {
            "prompt": self._prompt,
            "place": self._place,
            "prompt_token_ids": self._prompt_token_ids,
            "prompt_logprobs": self._prompt_rows,
            "choice": choice,
        }


def _plain(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)
