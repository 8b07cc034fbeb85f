"""Adapter for CooperBench's capture: ``LitellmModel(capture_token_ids=True).query`` and its ``token_capture``.

Its package imports a cloud SDK and docker on the way to the model, so the two outer packages are stubbed and the
model's own code is loaded as it is. It asks for no scores, and wants tool calls, which the fake does not make.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import types
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT"] = "1"

import openai

sys.path.append(str(Path(__file__).parents[1]))

from kit import Answer, Message, captured, row, serve, split

found = importlib.util.find_spec("cooperbench")
for name, inside in (("cooperbench", ""), ("cooperbench.agents", "agents")):
    stub = types.ModuleType(name)
    stub.__path__ = [str(Path(found.origin).parent / inside)]
    sys.modules[name] = stub

from cooperbench.agents.mini_swe_agent_v2.models.litellm_model import LitellmModel  # noqa: E402

CLIENT = {
    "name": "cooperbench capture",
    "version": version("cooperbench"),
    "homepage": "https://github.com/cooperbench/CooperBench",
    "issues": "https://github.com/cooperbench/CooperBench/issues",
}
CAPTURES = ["prompt_token_ids", "completion_token_ids", "text", "finish_reason"]
SUPPORTS = {"apis": ["chat"], "stream": [False], "captures": CAPTURES, "layouts": ["vllm-0.32.0"]}
KNOWN = {"n", "max_tokens", "stop", "temperature", "seed", "logprobs", "top_logprobs", "stream"}
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
    model = Words(
        model_name="openai/conform", model_kwargs=terms, cost_tracking="ignore_errors", capture_token_ids=True
    )
    told = model.query([dict(one) for one in message["request"]["messages"]])
    capture = told["extra"].get("token_capture") or {}
    ids = {"prompt_token_ids": capture.get("prompt_token_ids"), "completion_token_ids": capture.get("output_token_ids")}
    choice = told["extra"]["response"]["choices"][0]
    return captured([row(0, **ids, text=told["content"], finish_reason=choice["finish_reason"])])


if __name__ == "__main__":
    serve(CLIENT, SUPPORTS, run, (openai.OpenAIError,))
