"""verl's reading of SGLang, ``SGLangHttpServer.generate``, cut out of its published wheel.

verl asks SGLang's token manager inside the same process; what that yields is what ``/generate`` sends as JSON, so the
reply stands in its place. With vLLM and TensorRT-LLM verl reads the engine's own objects: there is no wire to play on.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cutting import cut
from kit import row

CLIENT = {
    "name": "verl",
    "version": "0.9.1",
    "homepage": "https://github.com/verl-project/verl",
    "issues": "https://github.com/verl-project/verl/issues",
}
SUPPORTS = {
    "apis": ["generate"],
    "stream": [False],
    "captures": ["completion_token_ids", "logprobs", "finish_reason"],
    "layouts": ["sglang-0.5.23"],
}
INSIDE = "verl/workers/rollout/sglang_rollout/async_sglang_server.py"
_generate = cut(
    Path(__file__).parent / ".sources" / "verl" / INSIDE,
    "SGLangHttpServer.generate",
    GenerateReqInput=SimpleNamespace,
    TokenOutput=SimpleNamespace,
    RLInsightLogger=SimpleNamespace(trace_state=lambda *where, **more: contextlib.nullcontext()),
    logger=logging.getLogger("verl"),
)


async def generate(body: bytes, content_type: str) -> list[dict[str, Any]]:
    """What verl takes from a ``/generate`` answer."""

    async def replies(request: Any, raw: Any) -> AsyncIterator[Any]:
        yield json.loads(body)

    server = SimpleNamespace(
        config=SimpleNamespace(max_model_len=4096, enable_rollout_routing_replay=False, mtp=None),
        tokenizer_manager=SimpleNamespace(generate_request=replies),
        _disaggregation_role=None,
        lora_as_adapter=False,
        replica_rank=0,
        global_steps=0,
    )
    told = await _generate(server, [1], {"logprobs": True, "max_tokens": 16}, "conform")
    return [row(0, completion_token_ids=told.token_ids, logprobs=told.log_probs, finish_reason=told.stop_reason)]
