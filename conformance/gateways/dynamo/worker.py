"""A Dynamo worker without an engine: it asks the fake for its tokens and hands them on, step by step.

``python worker.py UPSTREAM MODEL_FOLDER``. The fake plays whatever case is on for a completions request with the
frontend's own prompt ids; ids, scores and the end come back in its steps and go to the frontend as an engine's would.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import uvloop
from dynamo.llm import ModelInput, ModelRuntimeConfig, ModelType, WorkerType, register_model
from dynamo.runtime import dynamo_worker
from tokenizers import Tokenizer

UPSTREAM, FOLDER = sys.argv[1:3]
NAME = "fakellm"
TOKENIZER = Tokenizer.from_file(f"{FOLDER}/tokenizer.json")


class Engine:
    """What the frontend calls."""

    async def generate(self, request: dict[str, Any], context: Any = None) -> AsyncIterator[dict[str, Any]]:
        """The steps of one request; raises RuntimeError when the fake refuses or breaks off."""
        count = (request.get("output_options") or {}).get("logprobs")
        body: dict[str, Any] = {
            "model": NAME,
            "prompt": request["token_ids"],
            "stream": True,
            "nvext": {"extra_fields": ["completion_token_ids"]},
        }
        limit = (request.get("stop_conditions") or {}).get("max_tokens")
        if limit is not None:
            body["max_tokens"] = limit
        if count is not None:
            body["logprobs"] = min(int(count), 5)
        over = False
        async for chunk in chunks(body):
            for choice in chunk.get("choices") or ():
                over = over or choice.get("finish_reason") is not None
                yield step(chunk, choice, count)
        if not over:
            raise RuntimeError("the upstream broke off")


async def chunks(body: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """The fake's events."""
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session,
        session.post(f"{UPSTREAM}/v1/completions", json=body) as answer,
    ):
        if answer.status != 200:
            raise RuntimeError(f"the upstream answered {answer.status}: {(await answer.text())[:200]}")
        async for line in answer.content:
            data = line.removeprefix(b"data: ").strip()
            if data.startswith(b"{"):
                yield json.loads(data)


def step(chunk: dict[str, Any], choice: dict[str, Any], count: int | None) -> dict[str, Any]:
    """One of the fake's chunks as an engine's step."""
    ids = (chunk.get("nvext") or {}).get("completion_token_ids") or []
    made: dict[str, Any] = {"token_ids": ids, "index": 0}
    scores = choice.get("logprobs") or {}
    if count is not None and scores.get("token_logprobs"):
        made["log_probs"] = scores["token_logprobs"]
        if count:
            made["top_logprobs"] = [candidates(top) for top in scores.get("top_logprobs") or ()]
    if choice.get("finish_reason") is not None:
        made["finish_reason"] = choice["finish_reason"]
    return made


def candidates(top: dict[str, float] | None) -> list[dict[str, Any]]:
    """Alternatives, whose ids are found by their text."""
    ranked = sorted((top or {}).items(), key=lambda item: -item[1])
    made: list[dict[str, Any]] = []
    for rank, (text, score) in enumerate(ranked, 1):
        ids = TOKENIZER.encode(text, add_special_tokens=False).ids
        if len(ids) == 1:
            made.append({"rank": rank, "token_id": ids[0], "token": text, "logprob": score})
    return made


@dynamo_worker()
async def worker(runtime: Any) -> None:
    """Registers the model and serves until it is ended."""
    endpoint = runtime.endpoint("dynamo.backend.generate")
    settings = ModelRuntimeConfig()
    settings.tool_call_parser = "hermes"
    settings.reasoning_parser = "qwen3"
    await register_model(
        ModelInput.Tokens,
        ModelType.Chat | ModelType.Completions,
        endpoint,
        FOLDER,
        NAME,
        worker_type=WorkerType.Aggregated,
        kv_cache_block_size=16,
        runtime_config=settings,
    )
    await endpoint.serve_endpoint(Engine().generate)


if __name__ == "__main__":
    uvloop.install()
    asyncio.run(worker())
