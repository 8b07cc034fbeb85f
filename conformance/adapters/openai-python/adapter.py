"""Adapter for the ``openai`` SDK: ``python adapter.py [create|helper]``.

``create`` (the default) calls ``chat.completions.create``, whole and streamed; ``helper`` reads streams through the
SDK's own ``chat.completions.stream`` helper. It reports what the SDK hands over and mends nothing: lists are joined in
the order in which they came, a value that no object had is null. Needs: ``pip install -r requirements.txt``.
"""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any

import openai
from openai import OpenAI

MODE = sys.argv[1] if len(sys.argv) > 1 else "create"
KNOWN = frozenset(
    {"model", "messages", "prompt", "stream", "stream_options", "n", "max_tokens", "stop", "temperature", "seed"}
    | {"logprobs", "top_logprobs", "tools", "echo"}
)
APIS = ["chat", "completions"] if MODE == "create" else ["chat"]
HELLO = {
    "protocol": 1,
    "client": {
        "name": "openai-python" if MODE == "create" else "openai-python stream helper",
        "version": openai.__version__,
        "language": "python",
        "homepage": "https://github.com/openai/openai-python",
        "issues": "https://github.com/openai/openai-python/issues",
    },
    "supports": {
        "apis": APIS,
        "stream": [False, True] if MODE == "create" else [True],
        "layouts": ["vllm-0.32.0"],
        "captures": ["prompt_token_ids", "completion_token_ids", "logprobs", "text", "finish_reason"],
    },
}


def extra(thing: Any, name: str) -> Any:
    """A field that the SDK does not know, as it hands it back."""
    extras: dict[str, Any] = thing.model_extra or {}
    return extras.get(name)


def scores(logprobs: Any) -> list[Any] | None:
    if logprobs is None:
        return None
    if hasattr(logprobs, "token_logprobs"):
        found = logprobs.token_logprobs
    else:
        found = None if logprobs.content is None else [entry.logprob for entry in logprobs.content]
    return None if found is None else [spelled(score) for score in found]


def spelled(score: Any) -> Any:
    """JSON has no NaN and no infinity: the protocol writes them as words."""
    words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return words.get(str(score), score) if isinstance(score, float) else score


class Joined:
    """One choice, joined from the pieces of a stream in the order in which they came."""

    def __init__(self, index: int) -> None:
        self.row: dict[str, Any] = dict.fromkeys(("completion_token_ids", "logprobs", "text", "finish_reason"))
        self.row = {"index": index, "prompt_token_ids": None, **self.row}

    def add(self, choice: Any) -> None:
        self._join("completion_token_ids", extra(choice, "token_ids"))
        self._join("logprobs", scores(choice.logprobs))
        said = choice.text if hasattr(choice, "text") else choice.delta.content
        self._join("text", said)
        if self.row["prompt_token_ids"] is None:
            self.row["prompt_token_ids"] = extra(choice, "prompt_token_ids")
        self.row["finish_reason"] = choice.finish_reason or self.row["finish_reason"]

    def _join(self, name: str, piece: Any) -> None:
        if piece is not None:
            self.row[name] = piece if self.row[name] is None else self.row[name] + piece


def whole(answer: Any) -> list[dict[str, Any]]:
    """The choices of a whole answer, or of the helper's final completion."""
    prompt_ids = extra(answer, "prompt_token_ids")
    return [
        {
            "index": choice.index,
            "prompt_token_ids": prompt_ids if prompt_ids is not None else extra(choice, "prompt_token_ids"),
            "completion_token_ids": extra(choice, "token_ids"),
            "logprobs": scores(choice.logprobs),
            "text": choice.text if hasattr(choice, "text") else choice.message.content,
            "finish_reason": choice.finish_reason,
        }
        for choice in answer.choices
    ]


def streamed(events: Any) -> tuple[list[dict[str, Any]], Any]:
    choices: dict[int, Joined] = {}
    prompt_ids, usage = None, None
    for event in events:
        prompt_ids = extra(event, "prompt_token_ids") if prompt_ids is None else prompt_ids
        usage = event.usage or usage
        pieces: list[Any] = event.choices or []
        for choice in pieces:
            choices.setdefault(choice.index, Joined(choice.index)).add(choice)
    rows = [joined.row for joined in choices.values()]
    for row in rows:
        if row["prompt_token_ids"] is None:
            row["prompt_token_ids"] = prompt_ids
    return rows, usage


def run(message: dict[str, Any]) -> dict[str, Any]:
    client: Any = OpenAI(
        base_url=message["base_url"], api_key="none", max_retries=0, timeout=message["deadline_ms"] / 1000
    )
    request = message["request"]
    known = {name: value for name, value in request.items() if name in KNOWN}
    known["extra_body"] = {name: value for name, value in request.items() if name not in KNOWN}
    api = client.chat.completions if message["api"] == "chat" else client.completions
    if MODE == "helper":
        known.pop("stream", None)
        with client.chat.completions.stream(**known) as stream:
            answer = stream.get_final_completion()
        rows, usage = whole(answer), answer.usage
    elif message["stream"]:
        rows, usage = streamed(api.create(**known))
    else:
        answer = api.create(**known)
        rows, usage = whole(answer), answer.usage
    return {"captured": rows, "usage": None if usage is None else usage.model_dump()}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    try:
        return run(message)
    except openai.APIError as noticed:
        return {"refused": {"kind": type(noticed).__name__, "message": str(noticed)[:500]}}
    except Exception as crash:  # noqa: BLE001 - whatever the SDK raises else is its crash
        return {"errored": {"message": f"{type(crash).__name__}: {crash}"[:500], "traceback": traceback.format_exc()}}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if message["cmd"] == "stop":
            return
        reply = HELLO if message["cmd"] == "start" else {"seq": message["seq"], **answer(message)}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
