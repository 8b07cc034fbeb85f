"""Small clients in process, for tests of the suite's own machinery."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from fakellm.conform.mutants.reference import Reference


class NeverCalls:
    """Claims captures without a single call."""

    supports = {"apis": ["chat"]}

    def run(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"captured": [{"index": 0, "completion_token_ids": [1, 2], "logprobs": [-0.1, -0.2], "text": "hi"}]}


class AlwaysSkips(NeverCalls):
    def run(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"skipped": {"message": "not today"}}


class AlwaysRefuses(NeverCalls):
    def run(self, message: dict[str, Any]) -> dict[str, Any]:
        _post(message)
        return {"refused": {"kind": "mood", "message": "no"}}


class Crashes(NeverCalls):
    def run(self, message: dict[str, Any]) -> dict[str, Any]:
        _post(message)
        raise RuntimeError("out of paper")


class Nonsense(NeverCalls):
    def run(self, message: dict[str, Any]) -> Any:
        _post(message)
        return ["not", "an", "answer"]


class ShiftsScores(Reference):
    """Loses the first score of every choice."""

    async def run(self, message: Any) -> Any:
        answer = await super().run(message)
        for choice in answer.get("captured", ()):
            choice["logprobs"] = choice["logprobs"] and choice["logprobs"][1:]
        return answer


class GivesUpBeforeItCalls(Reference):
    """As on a busy machine: what is given up within 300 ms was never sent."""

    async def run(self, message: Any) -> Any:
        if (message.get("cancel_after_ms") or 1000) < 300:
            return {"refused": {"kind": "given-up", "message": "too slow"}}
        return await super().run(message)


def _post(message: dict[str, Any]) -> bytes:
    request = urllib.request.Request(
        f"{message['base_url']}/chat/completions",
        json.dumps(message["request"]).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        return answer.read()


def extract(body: bytes, content_type: str) -> Any:
    """A trainer's extraction: the first choice of a whole vLLM chat answer, nothing checked."""
    answer = json.loads(body)
    choice = answer["choices"][0]
    return {
        "index": choice["index"],
        "prompt_token_ids": answer["prompt_token_ids"],
        "completion_token_ids": choice["token_ids"],
        "logprobs": [entry["logprob"] for entry in choice["logprobs"]["content"]],
        "text": choice["message"]["content"],
        "finish_reason": choice["finish_reason"],
    }
