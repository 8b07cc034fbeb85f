"""The shortest request of every API that some layout has, and the options with which a server has all of its APIs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .stages import TOKENIZER

HI = [{"role": "user", "content": "Hi"}]
PROMPT = list(TOKENIZER.encode("Hi"))
Call = tuple[str, dict[str, Any]]
"""(path, body)"""

PATHS: Mapping[str, Call] = {
    "chat": ("/v1/chat/completions", {"model": "tiny", "messages": HI}),
    "completions": ("/v1/completions", {"model": "tiny", "prompt": "Hi", "max_tokens": 64}),
    "responses": ("/v1/responses", {"model": "tiny", "input": "Hi"}),
    "tito": ("/inference/v1/generate", {"model": "tiny", "token_ids": PROMPT, "sampling_params": {}}),
    "generate": ("/generate", {"model": "tiny", "input_ids": PROMPT}),
    "messages": ("/v1/messages", {"model": "tiny", "messages": HI, "max_tokens": 64}),
    "completion": ("/completion", {"prompt": "Hi"}),
    "tgi": ("/generate", {"inputs": "Hi"}),
    "ollama": ("/api/chat", {"model": "tiny", "messages": HI}),
    "ollama-generate": ("/api/generate", {"model": "tiny", "prompt": "Hi"}),
    "atropos": ("/generate", {"prompt": {"prompt_token_ids": PROMPT}, "max_tokens": 64}),
    "tinker": ("/api/v1/asample", {"prompt": {"chunks": [{"type": "encoded_text", "tokens": PROMPT}]}}),
}
OPTIONS: Mapping[str, tuple[str, ...]] = {"dynamo": ("--native-routes", "--enable-anthropic-api")}
"""By vendor."""
STREAMED_PATHS: Mapping[str, str] = {"tgi": "/generate_stream"}
ALWAYS_SAYS_MODE = frozenset({"ollama", "ollama-generate"})
"""APIs that stream unless they are told not to."""


def call(api: str, *, stream: bool) -> Call:
    """Path and body of the shortest request in one mode."""
    path, body = PATHS[api]
    if stream:
        return STREAMED_PATHS.get(api, path), {**body, "stream": True}
    return path, {**body, "stream": False} if api in ALWAYS_SAYS_MODE else dict(body)
