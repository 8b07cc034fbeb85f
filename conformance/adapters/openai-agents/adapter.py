"""Adapter for openai-agents: ``Runner.run`` and ``Runner.run_streamed`` with ``OpenAIChatCompletionsModel``.

It keeps neither token ids nor finish_reason, so they are not declared; scores are read off the raw responses' texts.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import openai
from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.exceptions import AgentsException

sys.path.append(str(Path(__file__).parents[1]))

from kit import Answer, Message, captured, row, serve

CLIENT = {
    "name": "openai-agents",
    "version": version("openai-agents"),
    "homepage": "https://github.com/openai/openai-agents-python",
    "issues": "https://github.com/openai/openai-agents-python/issues",
}
SUPPORTS = {"apis": ["chat"], "captures": ["logprobs", "text"], "layouts": ["vllm-0.32.0"]}
HANDLED = {"model", "messages", "stream", "stream_options", "temperature", "max_tokens", "logprobs", "top_logprobs"}
set_tracing_disabled(True)


def read(responses: list[Any]) -> Answer:
    parts = [part for one in responses for item in one.output for part in getattr(item, "content", None) or []]
    scores: list[Any] = [entry.logprob for part in parts for entry in getattr(part, "logprobs", None) or []]
    given = any(getattr(part, "logprobs", None) is not None for part in parts)
    text = "".join(part.text for part in parts if getattr(part, "text", None) is not None)
    return captured([row(0, logprobs=scores if given else None, text=text if parts else None)])


async def run(message: Message) -> Answer:
    request = message["request"]
    extra = {name: value for name, value in request.items() if name not in HANDLED}
    settings = ModelSettings(
        temperature=request.get("temperature"),
        max_tokens=request.get("max_tokens"),
        include_usage="stream_options" in request or None,
        top_logprobs=request.get("top_logprobs", 0 if request.get("logprobs") else None),
        extra_body=extra,
    )
    async with openai.AsyncOpenAI(
        base_url=message["base_url"], api_key="none", max_retries=0, timeout=message["deadline_ms"] / 1000
    ) as client:
        agent = Agent(
            name="conform", model=OpenAIChatCompletionsModel(request["model"], client), model_settings=settings
        )
        if not message["stream"]:
            return read((await Runner.run(agent, request["messages"], max_turns=1)).raw_responses)
        streamed = Runner.run_streamed(agent, request["messages"], max_turns=1)
        async for _ in streamed.stream_events():
            pass
        return read(streamed.raw_responses)


if __name__ == "__main__":
    serve(CLIENT, SUPPORTS, run, (openai.OpenAIError, AgentsException))
