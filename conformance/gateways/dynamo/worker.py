"""A Dynamo worker without an engine: it asks the fake for its tokens and hands them on, step by step.

``python worker.py UPSTREAM MODEL_FOLDER``. The fake plays whatever case is on for a completions request with the
frontend's own prompt ids; ids, scores and the end come back in its steps and go to the frontend as an engine's would.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import httpx2
import uvloop
from dynamo.llm import ModelInput, ModelRuntimeConfig, ModelType, WorkerType, register_model
from dynamo.runtime import dynamo_worker
from tokenizers import Tokenizer

UPSTREAM, FOLDER = sys.argv[1:3]
NAME = "fakellm"
OUT_SECONDS = 0.3
"""The frontend drops steps that it has not sent on when its worker fails; after this long none is left."""
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
            "stream_options": {"include_usage": True},
            "nvext": {"extra_fields": ["completion_token_ids", "prompt_token_ids"]},
        }
        ends = request.get("stop_conditions") or {}
        body |= {name: ends[name] for name in ("max_tokens", "stop") if ends.get(name) is not None}
        if count is not None:
            body["logprobs"] = min(int(count), 5)
        last: dict[str, Any] | None = None
        try:
            async for chunk in chunks(body, context):
                if last is not None and chunk.get("usage"):
                    last["completion_usage"] = chunk["usage"]
                for choice in chunk.get("choices") or ():
                    made = step(chunk, choice, count)
                    if "finish_reason" in made:
                        last = made
                    else:
                        yield made
        except httpx2.HTTPError:
            await asyncio.sleep(OUT_SECONDS)
            raise
        if last is None:
            raise RuntimeError("the upstream broke off")
        yield last


async def chunks(body: dict[str, Any], context: Any) -> AsyncIterator[dict[str, Any]]:
    """The fake's events, until its stream ends or the frontend's caller hangs up."""
    async with (
        httpx2.AsyncClient(timeout=None) as client,
        client.stream("POST", f"{UPSTREAM}/v1/completions", json=body) as answer,
    ):
        if answer.status_code != 200:
            raise RuntimeError(f"the upstream answered {answer.status_code}: {(await answer.aread())[:200]!r}")
        stopped = asyncio.ensure_future(context.async_killed_or_stopped())
        reading, rest = aiter(answer.aiter_bytes()), b""
        try:
            while (piece := await either(anext(reading, None), stopped)) is not None:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    if line.startswith(b"data: {"):
                        yield json.loads(line.removeprefix(b"data: "))
        finally:
            stopped.cancel()


async def either(wanted: Awaitable[bytes | None], stopped: asyncio.Future[Any]) -> bytes | None:
    """What is waited for, or None when the caller hung up before it came."""
    task = asyncio.ensure_future(wanted)
    await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        return task.result()
    task.cancel()
    return None


def step(chunk: dict[str, Any], choice: dict[str, Any], count: int | None) -> dict[str, Any]:
    """One of the fake's chunks as an engine's step."""
    ids = (chunk.get("nvext") or {}).get("completion_token_ids") or []
    made: dict[str, Any] = {"token_ids": ids, "index": 0}
    scores = choice.get("logprobs") or {}
    if count is not None and scores.get("token_logprobs"):
        made["log_probs"] = scores["token_logprobs"]
        if count:
            told = zip(ids, scores.get("tokens") or (), scores.get("top_logprobs") or (), strict=False)
            made["top_logprobs"] = [candidates(*position) for position in told]
    if choice.get("finish_reason") is not None:
        made["finish_reason"] = choice["finish_reason"]
    return made


def candidates(sampled: int, shown: str, top: dict[str, float] | None) -> list[dict[str, Any]]:
    """Alternatives of one position. They come by their text: the sampled one's is known, the others are looked up."""
    made: list[dict[str, Any]] = []
    for rank, (text, score) in enumerate(sorted((top or {}).items(), key=lambda item: -item[1]), 1):
        ids = [sampled] if text == shown else TOKENIZER.encode(text, add_special_tokens=False).ids
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
