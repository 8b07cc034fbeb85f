"""Adapter for pydantic-ai: ``direct.model_request`` and ``direct.model_request_stream`` with ``OpenAIChatModel``.

It keeps no token ids, so they are not declared; scores and the API's own finish_reason are read off
``provider_details``. It knows one choice only.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior
from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

sys.path.append(str(Path(__file__).parents[1]))

from kit import Answer, Message, captured, row, scores_of, serve

CLIENT = {
    "name": "pydantic-ai",
    "version": version("pydantic-ai-slim"),
    "homepage": "https://github.com/pydantic/pydantic-ai",
    "issues": "https://github.com/pydantic/pydantic-ai/issues",
}
SUPPORTS = {"apis": ["chat"], "captures": ["logprobs", "text", "finish_reason"], "layouts": ["vllm-0.32.0"]}
SETTINGS = {"temperature": "temperature", "seed": "seed", "stop": "stop_sequences", "logprobs": "openai_logprobs"}
SETTINGS |= {"top_logprobs": "openai_top_logprobs"}
HANDLED = {"model", "messages", "stream", "stream_options"}


def turn(message: dict[str, Any]) -> Any:
    if message["role"] == "assistant":
        return ModelResponse(parts=[TextPart(message["content"])])
    part = SystemPromptPart if message["role"] == "system" else UserPromptPart
    return ModelRequest(parts=[part(message["content"])])


def read(answer: Any) -> Answer:
    told = answer.provider_details or {}
    text = "".join(part.content for part in answer.parts if isinstance(part, TextPart))
    scores = scores_of({"content": told["logprobs"]}) if told.get("logprobs") is not None else None
    return captured([row(0, logprobs=scores, text=text, finish_reason=told.get("finish_reason"))])


async def run(message: Message) -> Answer:
    request = message["request"]
    settings: dict[str, Any] = {SETTINGS[name]: value for name, value in request.items() if name in SETTINGS}
    extra = {name: value for name, value in request.items() if name not in HANDLED | set(SETTINGS)}
    settings |= {"extra_body": extra, "timeout": message["deadline_ms"] / 1000}
    settings["openai_continuous_usage_stats"] = False
    client = AsyncOpenAI(base_url=message["base_url"], api_key="none", max_retries=0)
    model = OpenAIChatModel(request["model"], provider=OpenAIProvider(openai_client=client))
    turns = [turn(one) for one in request["messages"]]
    if not message["stream"]:
        return read(await model_request(model, turns, model_settings=settings))
    async with model_request_stream(model, turns, model_settings=settings) as stream:
        async for _ in stream:
            pass
        return read(stream.get())


if __name__ == "__main__":
    serve(CLIENT, SUPPORTS, run, (ModelAPIError, UnexpectedModelBehavior))
