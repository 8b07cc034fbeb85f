"""Adapter for instructor: ``create`` without a response model, as it hands completions and chunks through.

The words that the fake says are no JSON, so there is no model that they could be parsed into.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import instructor
import openai
from instructor.core.exceptions import InstructorError

sys.path.append(str(Path(__file__).parents[1]))

from kit import VALUES, Answer, Choices, Message, plain, serve, split

KNOWN = {"model", "messages", "stream", "stream_options", "n", "max_tokens", "stop", "temperature", "seed"}
KNOWN |= {"logprobs", "top_logprobs", "tools"}
CLIENT = {
    "name": "instructor",
    "version": version("instructor"),
    "homepage": "https://github.com/567-labs/instructor",
    "issues": "https://github.com/567-labs/instructor/issues",
}
SUPPORTS = {"apis": ["chat"], "captures": VALUES, "layouts": ["vllm-0.32.0"]}


async def run(message: Message) -> Answer:
    choices = Choices()
    async with openai.AsyncOpenAI(
        base_url=message["base_url"], api_key="none", max_retries=0, timeout=message["deadline_ms"] / 1000
    ) as sdk:
        client: Any = instructor.from_openai(sdk)
        answer = await client.create(response_model=None, max_retries=0, **split(message["request"], KNOWN))
        if message["stream"]:
            async for chunk in answer:
                choices.add(plain(chunk))
        else:
            choices.add(plain(answer))
    return choices.answer()


if __name__ == "__main__":
    serve(CLIENT, SUPPORTS, run, (openai.OpenAIError, InstructorError))
