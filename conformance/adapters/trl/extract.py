"""TRL's ``VLLMClient.generate``, cut out of its published wheel, with the reply in the place of its HTTP call."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cutting import cut
from kit import row

SOURCE = Path(__file__).parent / ".sources" / "trl" / "trl" / "generation" / "vllm_client.py"
CLIENT = {
    "name": "TRL VLLMClient",
    "version": "1.16.0",
    "homepage": "https://github.com/huggingface/trl",
    "issues": "https://github.com/huggingface/trl/issues",
}
SUPPORTS = {
    "apis": ["completions"],
    "stream": [False],
    "captures": ["prompt_token_ids", "completion_token_ids", "logprobs"],
    "layouts": ["vllm-0.32.0"],
}
REQUEST = {"return_tokens_as_token_ids": True, "logprobs": 0}
_generate = cut(SOURCE, "VLLMClient.generate", parse_logprobs=cut(SOURCE, "parse_logprobs", math=math))


def generate(body: bytes, content_type: str) -> list[dict[str, Any]]:
    """What TRL takes from an answer to one prompt. It asks for no alternatives, so a position has one score."""
    answer = json.loads(body)
    client = SimpleNamespace(model="conform", base_url="", _post=lambda url, json: answer)
    told = _generate(client, ["a prompt"], n=max(1, len(answer.get("choices") or ())))
    return [
        row(
            index,
            prompt_token_ids=told["prompt_ids"][0],
            completion_token_ids=ids,
            logprobs=None if told["logprobs"] is None else [scores[0] for scores in told["logprobs"][index]],
        )
        for index, ids in enumerate(told["completion_ids"])
    ]
