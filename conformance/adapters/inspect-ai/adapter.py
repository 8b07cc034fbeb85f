"""Adapter for inspect-ai: ``get_model(...).generate`` with ``openai-api`` (chat) and ``openai-api-completions``.

It keeps no token ids, and its stop_reason is its own word; neither is declared.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import openai
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, GenerateConfig, get_model

sys.path.append(str(Path(__file__).parents[1]))

from kit import Answer, Message, captured, row, serve

CLIENT = {
    "name": "inspect-ai",
    "version": version("inspect-ai"),
    "homepage": "https://github.com/UKGovernmentBEIS/inspect_ai",
    "issues": "https://github.com/UKGovernmentBEIS/inspect_ai/issues",
}
SUPPORTS = {"apis": ["chat"], "stream": [False], "captures": ["logprobs", "text"], "layouts": ["vllm-0.32.0"]}
NAMES = {"max_tokens": "max_tokens", "temperature": "temperature", "seed": "seed", "stop": "stop_seqs"}
NAMES |= {
    "n": "num_choices",
    "logprobs": "logprobs",
    "top_logprobs": "top_logprobs",
    "prompt_logprobs": "prompt_logprobs",
}
HANDLED = {"model", "messages", "stream", "stream_options"}


def turn(message: dict[str, Any]) -> Any:
    kind = ChatMessageAssistant if message["role"] == "assistant" else ChatMessageUser
    return kind(content=message["content"])


async def run(message: Message) -> Answer:
    request = message["request"]
    known = {NAMES[name]: value for name, value in request.items() if name in NAMES}
    extra = {name: value for name, value in request.items() if name not in HANDLED | set(NAMES)}
    config = GenerateConfig(max_retries=0, timeout=int(message["deadline_ms"] / 1000), extra_body=extra, **known)
    provider = f"openai-api/fake/{request['model']}"
    model = get_model(provider, base_url=message["base_url"], api_key="none", config=config, memoize=False)
    output = await model.generate([turn(one) for one in request["messages"]])
    rows = [
        row(
            index,
            logprobs=None if choice.logprobs is None else [entry.logprob for entry in choice.logprobs.content],
            text=choice.message.text,
        )
        for index, choice in enumerate(output.choices)
    ]
    if output.error:
        return {"refused": {"kind": "ModelOutput.error", "message": output.error}}
    return captured(rows)


if __name__ == "__main__":
    serve(CLIENT, SUPPORTS, run, (openai.OpenAIError,))
