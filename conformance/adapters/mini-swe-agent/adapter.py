"""Adapter for mini-swe-agent: ``LitellmModel.query``; it has no capture of its own, the response lies in ``extra``.

Fields that litellm does not know stand in ``provider_specific_fields``, where trajectory readers find them.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT"] = "1"
os.environ["MSWEA_SILENT_STARTUP"] = "1"

import openai
from minisweagent.models.litellm_model import LitellmModel

sys.path.append(str(Path(__file__).parents[1]))

from kit import VALUES, Answer, Choices, Message, serve, split

CLIENT = {
    "name": "mini-swe-agent",
    "version": version("mini-swe-agent"),
    "homepage": "https://github.com/SWE-agent/mini-swe-agent",
    "issues": "https://github.com/SWE-agent/mini-swe-agent/issues",
}
SUPPORTS = {"apis": ["chat"], "stream": [False], "captures": VALUES, "layouts": ["vllm-0.32.0"]}
KNOWN = {"n", "max_tokens", "stop", "temperature", "seed", "logprobs", "top_logprobs"}
HANDLED = {"model", "messages", "stream", "tools"}


class Words(LitellmModel):
    """The model as it is, but for an answer without a tool call, which it would send back to the model."""

    def _parse_actions(self, response: Any) -> list[dict]:
        return []


def run(message: Message) -> Answer:
    request = {name: value for name, value in message["request"].items() if name not in HANDLED}
    terms = {"api_base": message["base_url"], "api_key": "none", "max_retries": 0, **split(request, KNOWN)}
    if "tools" not in message["request"]:
        terms["tool_choice"] = "none"  # it always sends tools; a server without a tool parser refuses "auto"
    terms["timeout"] = message["deadline_ms"] / 1000
    model = Words(model_name="openai/conform", model_kwargs=terms, cost_tracking="ignore_errors")
    response = model.query([dict(one) for one in message["request"]["messages"]])["extra"]["response"]
    shown = [{**(choice.get("provider_specific_fields") or {}), **choice} for choice in response["choices"]]
    choices = Choices()
    choices.add({**response, "choices": shown})
    return choices.answer()


if __name__ == "__main__":
    serve(CLIENT, SUPPORTS, run, (openai.OpenAIError,))
