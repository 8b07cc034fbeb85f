"""miles' reading of SGLang's ``/generate``, ``update_sample_from_response``, cut out of its published wheel."""

from __future__ import annotations

import json
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

from cutting import cut
from kit import row

CLIENT = {
    "name": "miles",
    "version": "0.0.2",
    "homepage": "https://github.com/radixark/miles",
    "issues": "https://github.com/radixark/miles/issues",
}
SUPPORTS = {
    "apis": ["generate"],
    "stream": [False],
    "captures": ["completion_token_ids", "logprobs", "text", "finish_reason"],
    "layouts": ["sglang-0.5.23"],
}
SOURCE = Path(__file__).parent / ".sources" / "miles-rl" / "miles"
STATES = SimpleNamespace(COMPLETED="stop", TRUNCATED="length", ABORTED="abort")
ARGUMENTS = SimpleNamespace(use_miles_router=False, sglang_speculative_algorithm=None)
INSIDE = SOURCE / "rollout" / "generate_utils" / "generate_endpoint_utils.py"
_experts = cut(INSIDE, "get_rollout_topk_from_response")
_update = cut(INSIDE, "update_sample_from_response", get_rollout_topk_from_response=_experts)
_ended = cut(SOURCE / "utils" / "types.py", "Sample.update_from_meta_info", Sample=SimpleNamespace(Status=STATES))


async def generate(body: bytes, content_type: str) -> list[dict[str, Any]]:
    """What miles adds to an empty sample; its statuses are told as the finish reasons that lead to them."""
    sample = SimpleNamespace(tokens=[], response="", response_length=0, rollout_log_probs=None, status=None)
    sample.prefix_cache_info = SimpleNamespace(add=lambda meta_info: None)
    sample.weight_versions = []
    sample.update_from_meta_info = MethodType(_ended, sample)
    await _update(ARGUMENTS, sample, {"input_ids": []}, json.loads(body))
    ids, scores = sample.tokens, sample.rollout_log_probs
    return [row(0, completion_token_ids=ids, logprobs=scores, text=sample.response, finish_reason=sample.status)]
