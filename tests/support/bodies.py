"""Small answers in the shapes of the captures, built by hand: two tokens 5 and 2 with scores -0.5 and -0.25."""

from __future__ import annotations

import json
from typing import Any

IDS = (5, 2)
SCORES = (-0.5, -0.25)
PROMPT = (7, 8, 9)


def entries(scores: tuple[Any, ...] = SCORES) -> dict[str, Any]:
    return {"content": [{"token": "x", "logprob": score, "bytes": None, "top_logprobs": []} for score in scores]}


def choice(index: int = 0, **changes: Any) -> dict[str, Any]:
    """A choice of a whole chat answer."""
    message = {"role": "assistant", "content": "hi"}
    row = {"index": index, "message": message, "logprobs": entries(), "finish_reason": "stop", "token_ids": [*IDS]}
    return {**row, **changes}


def whole(*choices: dict[str, Any], **changes: Any) -> bytes:
    """A whole chat answer."""
    usage = {"prompt_tokens": 3, "completion_tokens": 2 * max(len(choices), 1), "total_tokens": 5}
    body = {"choices": list(choices) or [choice()], "usage": usage, "prompt_token_ids": [*PROMPT], **changes}
    return json.dumps({key: value for key, value in body.items() if value is not ...}).encode()


def delta(index: int = 0, *, ids: Any = None, scores: Any = None, text: str = "", **changes: Any) -> dict[str, Any]:
    """A choice of a chat chunk."""
    row: dict[str, Any] = {"index": index, "delta": {"content": text}, "finish_reason": None}
    row["logprobs"] = None if scores is None else entries(scores)
    return {**row, "token_ids": ids, **changes}


def stream(*events: Any, done: bool = True) -> bytes:
    """Server-sent events; a choice stands for a chunk with that choice alone."""
    lines = [event if isinstance(event, str) else json.dumps(_chunk(event)) for event in events]
    return "".join(f"data: {line}\n\n" for line in [*lines, *(["[DONE]"] if done else [])]).encode()


def _chunk(event: dict[str, Any]) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [event]} if "delta" in event else event


ROLE: dict[str, Any] = {
    "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}],
    "prompt_token_ids": [*PROMPT],
}
FIRST = delta(ids=[5], scores=(-0.5,), text="hi")
LAST = delta(ids=[2], scores=(-0.25,), finish_reason="stop")
USAGE: dict[str, Any] = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}
