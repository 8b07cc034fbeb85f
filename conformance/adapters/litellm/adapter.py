"""Adapter for the litellm SDK: ``python adapter.py openai|hosted_vllm [plain|builder]``.

``plain`` reads answers and chunks as they come; ``builder`` joins a stream by ``litellm.stream_chunk_builder``. litellm
moves fields that it does not know into ``provider_specific_fields``: a value is read there when it stands nowhere else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else its import asks the network for prices

import litellm
import openai

sys.path.append(str(Path(__file__).parents[1]))

from kit import VALUES, Answer, Choices, Message, plain, serve, split

PROVIDER, MODE = sys.argv[1], (sys.argv[2] if len(sys.argv) > 2 else "plain")
KNOWN = frozenset(
    {"messages", "prompt", "stream", "stream_options", "n", "max_tokens", "stop", "temperature", "seed"}
    | {"logprobs", "top_logprobs", "tools"}
)
CLIENT = {
    "name": f"litellm SDK, {PROVIDER}/" + ("" if MODE == "plain" else ", stream_chunk_builder"),
    "version": version("litellm"),
    "homepage": "https://github.com/BerriAI/litellm",
    "issues": "https://github.com/BerriAI/litellm/issues",
}
SUPPORTS = {
    "apis": ["chat", "completions"] if MODE == "plain" else ["chat"],
    "stream": [False, True] if MODE == "plain" else [True],
    "captures": VALUES,
    "layouts": ["vllm-0.32.0"],
}
litellm.suppress_debug_info = True


def widened(answer: Any) -> dict[str, Any]:
    """An answer in which each choice shows its ``provider_specific_fields`` as its own."""
    body: dict[str, Any] = plain(answer)
    choices: list[Mapping[str, Any]] = body.get("choices") or []
    return {**body, "choices": [{**(choice.get("provider_specific_fields") or {}), **choice} for choice in choices]}


async def run(message: Message) -> Answer:
    request = {name: value for name, value in message["request"].items() if name != "model"}
    terms = {"model": f"{PROVIDER}/conform", "api_base": message["base_url"], "api_key": "none", "num_retries": 0}
    terms |= {"max_retries": 0, "timeout": message["deadline_ms"] / 1000, **split(request, KNOWN)}
    call: Any = litellm.acompletion if message["api"] == "chat" else litellm.atext_completion
    choices = Choices()
    answer = await call(**terms)
    if not message["stream"]:
        choices.add(widened(answer))
        return choices.answer()
    chunks = [chunk async for chunk in answer]
    for chunk in chunks if MODE == "plain" else [litellm.stream_chunk_builder(chunks)]:
        choices.add(widened(chunk))
    return choices.answer()


if __name__ == "__main__":
    serve(CLIENT, SUPPORTS, run, (openai.OpenAIError,))
