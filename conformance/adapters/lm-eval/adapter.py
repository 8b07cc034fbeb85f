"""Adapter for lm-eval: the payload and the ``parse_logprobs`` of ``local-completions``, which scores by echo.

It gives the sum of the scores from a position on, never single ones. So each prompt token is scored as a continuation
of its own: the lists are handed over up to that token, as they stand when the prompt ends there. What it makes the
server generate it drops, and it sends a payload of its own making (max_tokens 1, temperature 0, no flag for ids).
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import requests
from lm_eval.models.openai_completions import LocalCompletionsAPI

sys.path.append(str(Path(__file__).parents[1]))

from kit import Answer, Message, captured, row, serve

CLIENT = {
    "name": "lm-eval local-completions",
    "version": version("lm-eval"),
    "homepage": "https://github.com/EleutherAI/lm-evaluation-harness",
    "issues": "https://github.com/EleutherAI/lm-evaluation-harness/issues",
}
SUPPORTS = {"apis": ["completions"], "stream": [False], "captures": ["logprobs"], "layouts": ["vllm-0.32.0"]}


def scored(client: Any, answer: dict[str, Any], position: int) -> float:
    """lm-eval's score of one token of the prompt, given all before it."""
    lists = answer["choices"][0]["logprobs"]
    until = {name: values[: position + 2] for name, values in lists.items() if isinstance(values, list)}
    one = {"choices": [{"index": 0, "logprobs": until}]}
    return client.parse_logprobs(one, tokens=[[]], ctxlens=[position])[0][0]


def run(message: Message) -> Answer:
    request = message["request"]
    client: Any = LocalCompletionsAPI(
        model=request["model"], base_url=f"{message['base_url']}/completions", tokenizer_backend=None, max_retries=1
    )
    answer = client.model_call([request["prompt"]], generate=False)
    count = answer["usage"]["prompt_tokens"]
    return captured([row(0, logprobs=[None, *(scored(client, answer, place) for place in range(1, count))])])


if __name__ == "__main__":
    serve(CLIENT, SUPPORTS, run, (requests.RequestException,))
