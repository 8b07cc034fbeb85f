"""Adapter for verifiers 0.3.0: ``python adapter.py chat|completions``, its own clients' ``message.tokens``.

``get_native_response`` makes the call and ``from_native_response`` reads it. Where it has no tokens it hands over None.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import openai
from verifiers.clients.openai_chat_completions_client import OpenAIChatCompletionsClient
from verifiers.clients.openai_completions_client import OpenAICompletionsClient
from verifiers.errors import Error

sys.path.append(str(Path(__file__).parents[1]))

from kit import VALUES, Answer, Message, captured, row, serve, split

API = sys.argv[1]
KNOWN = {"n", "max_tokens", "stop", "temperature", "seed", "logprobs", "top_logprobs", "tools"}
CLIENT = {
    "name": f"verifiers v0, {API} client",
    "version": version("verifiers"),
    "homepage": "https://github.com/PrimeIntellect-ai/verifiers",
    "issues": "https://github.com/PrimeIntellect-ai/verifiers/issues",
}
SUPPORTS = {"apis": [API], "stream": [False], "captures": VALUES, "layouts": ["vllm-0.32.0"]}


async def run(message: Message) -> Answer:
    request = {name: value for name, value in message["request"].items() if name not in ("model", "stream")}
    prompt = request.pop("messages" if API == "chat" else "prompt")
    async with openai.AsyncOpenAI(
        base_url=message["base_url"], api_key="none", max_retries=0, timeout=message["deadline_ms"] / 1000
    ) as sdk:
        client: Any = (OpenAIChatCompletionsClient if API == "chat" else OpenAICompletionsClient)(sdk)
        native = await client.get_native_response(prompt, message["request"]["model"], split(request, KNOWN), None)
        response = await client.from_native_response(native)
    tokens = response.message.tokens
    ids = (
        {} if tokens is None else {"prompt_token_ids": tokens.prompt_ids, "completion_token_ids": tokens.completion_ids}
    )
    scores = None if tokens is None else tokens.completion_logprobs
    told = response.message
    return captured([row(0, **ids, logprobs=scores, text=told.content, finish_reason=told.finish_reason)])


if __name__ == "__main__":
    serve(CLIENT, SUPPORTS, run, (openai.OpenAIError, Error))
