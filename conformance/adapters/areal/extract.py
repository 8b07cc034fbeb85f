"""AREaL's own reading of answers, cut out of its published wheel: vLLM's completions and SGLang's ``/generate``."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cutting import cut
from kit import row

VERSION = "1.0.4"
ENGINE = Path(__file__).parent / ".sources" / "areal" / "areal" / "engine"
CLIENT = {
    "name": "AREaL",
    "version": VERSION,
    "homepage": "https://github.com/areal-project/AReaL",
    "issues": "https://github.com/areal-project/AReaL/issues",
}
CAPTURES = ["completion_token_ids", "logprobs", "finish_reason"]
_read_vllm = cut(
    ENGINE / "vllm_remote.py", "VLLMBackend.parse_generation_response", HttpGenerationResult=SimpleNamespace
)
_read_sglang = cut(
    ENGINE / "sglang_remote.py", "SGLangBackend.parse_generation_response", HttpGenerationResult=SimpleNamespace
)


def vllm(body: bytes, content_type: str) -> list[dict[str, Any]]:
    """What AREaL takes from a completions answer."""
    return _told(_read_vllm(None, json.loads(body)))


def sglang(body: bytes, content_type: str) -> list[dict[str, Any]]:
    """What AREaL takes from a ``/generate`` answer."""
    return _told(_read_sglang(None, json.loads(body)))


def _told(result: Any) -> list[dict[str, Any]]:
    ids, scores = result.output_tokens, result.output_logprobs
    return [row(0, completion_token_ids=ids, logprobs=scores, finish_reason=result.stop_reason)]


vllm.supports = {"apis": ["completions"], "stream": [False], "captures": CAPTURES, "layouts": ["vllm-0.32.0"]}  # type: ignore[attr-defined]
vllm.request = {"return_tokens_as_token_ids": True, "logprobs": 0}  # type: ignore[attr-defined]
sglang.supports = {"apis": ["generate"], "stream": [False], "captures": CAPTURES, "layouts": ["sglang-0.5.23"]}  # type: ignore[attr-defined]
