"""Adapter for renderers 0.1.12 and the train client of verifiers 0.4.0: ``renderers.client.generate`` on token ids.

A stub stands for the renderer, so no tokenizer and no model is loaded; what the call returns goes through verifiers'
``response_from_generate`` and is read off its ``TurnTokens``, as its trainer reads it.
"""

from __future__ import annotations

import sys
import types
from importlib.metadata import version
from pathlib import Path
from typing import Any

import openai
from renderers.client import generate
from verifiers.v1.clients.train import response_from_generate

sys.path.append(str(Path(__file__).parents[1]))

from kit import Answer, Message, captured, row, serve

CLIENT = {
    "name": "renderers, verifiers train client",
    "version": f"{version('renderers')}, {version('verifiers')}",
    "homepage": "https://github.com/PrimeIntellect-ai/renderers",
    "issues": "https://github.com/PrimeIntellect-ai/verifiers/issues",
}
CAPTURES = ["prompt_token_ids", "completion_token_ids", "logprobs", "finish_reason"]
SUPPORTS = {"apis": ["tito"], "stream": [False], "captures": CAPTURES, "layouts": ["vllm-0.28.0"]}


class Stub:
    """A renderer that renders nothing: the prompt comes as ids, and the ids of the answer stay as they are."""

    supports_tools = True

    def get_stop_token_ids(self) -> list[int]:
        return []

    def parse_response(self, ids: Any, **terms: Any) -> Any:
        return types.SimpleNamespace(content=str(ids), reasoning_content=None, tool_calls=[], reasoning_complete=True)


async def run(message: Message) -> Answer:
    request = dict(message["request"])
    async with openai.AsyncOpenAI(
        base_url=message["base_url"], api_key="none", max_retries=0, timeout=message["deadline_ms"] / 1000
    ) as sdk:
        given = await generate(
            client=sdk,
            renderer=Stub(),
            messages=[],
            model=request["model"],
            prompt_ids=list(request["token_ids"]),
            sampling_params=request.get("sampling_params"),
        )
    tokens = response_from_generate(given, request["model"]).tokens
    ids = (
        {} if tokens is None else {"prompt_token_ids": tokens.prompt_ids, "completion_token_ids": tokens.completion_ids}
    )
    scores = None if tokens is None else tokens.completion_logprobs
    return captured([row(0, **ids, logprobs=scores, finish_reason=given["finish_reason"])])


if __name__ == "__main__":
    serve(CLIENT, SUPPORTS, run, (openai.OpenAIError, ValueError))
