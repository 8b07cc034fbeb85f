"""Adapter for the ``openai`` SDK: ``python adapter.py [create|helper]``.

``create`` (the default) calls ``create``, whole and streamed; ``helper`` reads streams through the SDK's own
``chat.completions.stream``. Fields that the SDK does not know are read off its objects' ``model_extra``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import openai

sys.path.append(str(Path(__file__).parents[1]))

from kit import VALUES, Answer, Choices, Message, plain, serve, split

MODE = sys.argv[1] if len(sys.argv) > 1 else "create"
KNOWN = frozenset(
    {"model", "messages", "prompt", "stream", "stream_options", "n", "max_tokens", "stop", "temperature", "seed"}
    | {"logprobs", "top_logprobs", "tools", "echo"}
)
CLIENT = {
    "name": "openai-python" if MODE == "create" else "openai-python stream helper",
    "version": openai.__version__,
    "homepage": "https://github.com/openai/openai-python",
    "issues": "https://github.com/openai/openai-python/issues",
}
SUPPORTS = {
    "apis": ["chat", "completions"] if MODE == "create" else ["chat"],
    "stream": [False, True] if MODE == "create" else [True],
    "captures": VALUES,
    "layouts": ["vllm-0.32.0"],
}


async def run(message: Message) -> Answer:
    known = split(message["request"], KNOWN)
    choices = Choices()
    terms: dict[str, Any] = {"base_url": message["base_url"], "api_key": "none", "max_retries": 0}
    async with openai.AsyncOpenAI(**terms, timeout=message["deadline_ms"] / 1000) as client:
        api: Any = client.chat.completions if message["api"] == "chat" else client.completions
        if MODE == "helper":
            del known["stream"]
            async with api.stream(**known) as stream:
                choices.add(plain(await stream.get_final_completion()))
        elif message["stream"]:
            async for chunk in await api.create(**known):
                choices.add(plain(chunk))
        else:
            choices.add(plain(await api.create(**known)))
    return choices.answer()


if __name__ == "__main__":
    serve(CLIENT, SUPPORTS, run, (openai.APIError,))
