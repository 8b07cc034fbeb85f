"""SkyRL's ``RemoteInferenceClient._generate_single``, cut out of its published wheel, the reply in its ``_post``."""

from __future__ import annotations

import json
import typing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cutting import cut
from kit import row

INSIDE = "skyrl/backends/skyrl_train/inference_servers/remote_inference_client.py"
CLIENT = {
    "name": "SkyRL RemoteInferenceClient",
    "version": "0.3.0",
    "homepage": "https://github.com/NovaSky-AI/SkyRL",
    "issues": "https://github.com/NovaSky-AI/SkyRL/issues",
}
SUPPORTS = {
    "apis": ["tito"],
    "stream": [False],
    "captures": ["completion_token_ids", "logprobs", "finish_reason"],
    "layouts": ["vllm-0.32.0"],
}
SOURCE = Path(__file__).parent / ".sources" / "skyrl" / INSIDE
_generate = cut(SOURCE, "RemoteInferenceClient._generate_single", **vars(typing))


async def generate(body: bytes, content_type: str) -> list[dict[str, Any]]:
    """What SkyRL takes from an ``/inference/v1/generate`` answer."""

    async def post(url: str, **terms: Any) -> Any:
        return json.loads(body)

    client = SimpleNamespace(proxy_url="", enable_return_routed_experts=False, _post=post)
    told = await _generate(client, [], {}, None, "conform")
    ids, scores = told["response_ids"], told["response_logprobs"]
    return [row(0, completion_token_ids=ids, logprobs=scores, finish_reason=told["stop_reason"])]
