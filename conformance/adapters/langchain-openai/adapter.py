"""Adapter for langchain-openai: ``ChatOpenAI.agenerate`` for whole answers, the sum of ``astream``'s chunks else.

It drops token ids everywhere, so they are not declared; scores are read off ``response_metadata``.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import openai
from langchain_core.messages import convert_to_messages
from langchain_openai import ChatOpenAI

sys.path.append(str(Path(__file__).parents[1]))

from kit import Answer, Message, captured, row, scores_of, serve

CLIENT = {
    "name": "langchain-openai",
    "version": version("langchain-openai"),
    "homepage": "https://github.com/langchain-ai/langchain",
    "issues": "https://github.com/langchain-ai/langchain/issues",
}
SUPPORTS = {"apis": ["chat"], "captures": ["logprobs", "text", "finish_reason"], "layouts": ["vllm-0.32.0"]}
KNOWN = {"n", "stop", "temperature", "seed", "logprobs", "top_logprobs"}
HANDLED = {"model", "messages", "stream", "stream_options"}


def read(index: int, message: Any) -> dict[str, Any]:
    told = message.response_metadata
    text = message.content if isinstance(message.content, str) else message.text
    return row(index, logprobs=scores_of(told.get("logprobs")), text=text, finish_reason=told.get("finish_reason"))


async def run(message: Message) -> Answer:
    request = message["request"]
    known = {name: value for name, value in request.items() if name in KNOWN}
    extra = {name: value for name, value in request.items() if name not in KNOWN | HANDLED}
    model = ChatOpenAI(
        model=request["model"],
        base_url=message["base_url"],
        api_key="none",
        max_retries=0,
        timeout=message["deadline_ms"] / 1000,
        stream_usage="stream_options" in request,
        extra_body=extra,
        **known,
    )
    messages = convert_to_messages(request["messages"])
    if message["stream"]:
        whole = None
        async for chunk in model.astream(messages):
            whole = chunk if whole is None else whole + chunk
        return captured([] if whole is None else [read(0, whole)])
    answer = await model.agenerate([messages])
    return captured([read(index, one.message) for index, one in enumerate(answer.generations[0])])


if __name__ == "__main__":
    serve(CLIENT, SUPPORTS, run, (openai.OpenAIError,))
