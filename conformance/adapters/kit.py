"""What the Python adapters of this folder share: the loop of JSON lines, and reading of OpenAI-shaped mappings.

An adapter hands ``serve`` who its client is and ``run(message) -> answer``, plain or async. The answer is
``captured(...)``; everything else is said by raising: an exception of ``refusals`` is the client's own typed refusal,
``Skip`` means that the client does not do this, whatever else escapes is its crash. Nothing here mends what a client
handed over: lists are joined in the order in which they came, a value that stood nowhere is null. Knows no client.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

NOWHERE = "http://127.0.0.1:9"
"""The discard port: nobody listens there."""
VALUES = ("prompt_token_ids", "completion_token_ids", "logprobs", "text", "finish_reason")
Message = Mapping[str, Any]
Answer = dict[str, Any]


class Skip(Exception):
    """The client does not do this API or stream at all."""


def serve(
    client: Mapping[str, Any],
    supports: Mapping[str, Any],
    run: Callable[[Message], Answer | Awaitable[Answer]],
    refusals: tuple[type[BaseException], ...] = (),
) -> None:
    """Speak the protocol until ``stop``. Stdout belongs to it: whatever a client prints goes to stderr."""
    wire = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    hello = {"protocol": 1, "client": {"language": "python", **client}, "supports": supports}
    with asyncio.Runner() as runner:
        _warm_up(runner, supports, run)
        for line in sys.stdin:
            message: dict[str, Any] = json.loads(line)
            if message["cmd"] == "stop":
                wire.flush()
                os._exit(0)  # threads that a client left behind must not keep the suite waiting
            start = message["cmd"] == "start"
            answer = hello if start else {"seq": message["seq"], **runner.run(_answer(message, run, refusals))}
            print(json.dumps(answer, default=str), file=wire, flush=True)


def _warm_up(runner: asyncio.Runner, supports: Mapping[str, Any], run: Callable[[Message], Any]) -> None:
    """One call to nobody: what a client imports and builds on its first call must not count in a case's time."""
    body = {"model": "m", "messages": [{"role": "user", "content": "m"}], "prompt": "m", "token_ids": [1]}
    for stream in supports.get("stream", [False, True]):
        message = {"api": supports["apis"][0], "stream": stream, "base_url": f"{NOWHERE}/v1", "root_url": NOWHERE}
        runner.run(_answer({**message, "deadline_ms": 1000, "request": {**body, "stream": stream}}, run, ()))


async def _answer(message: Message, run: Callable[[Message], Any], refusals: tuple[type[BaseException], ...]) -> Answer:
    cancel = message.get("cancel_after_ms")
    try:
        answer = run(message)
        if inspect.isawaitable(answer):
            answer = await asyncio.wait_for(answer, None if cancel is None else cancel / 1000)
        return answer
    except Skip as skip:
        return {"skipped": {"message": str(skip)}}
    except TimeoutError:
        if cancel is None and TimeoutError not in refusals:
            return {"errored": {"message": "TimeoutError", "traceback": traceback.format_exc()}}
        return {"refused": {"kind": "TimeoutError", "message": "the call was given up"}}
    except refusals as noticed:
        return {"refused": {"kind": type(noticed).__name__, "message": str(noticed)[:500]}}
    except Exception as crash:  # noqa: BLE001 - whatever escapes from a client is its crash
        return {"errored": {"message": f"{type(crash).__name__}: {crash}"[:500], "traceback": traceback.format_exc()}}


def captured(rows: Iterable[Mapping[str, Any]], usage: Any = None) -> Answer:
    """The answer that hands over what the client gave, one row per choice."""
    return {"captured": [{**row, "logprobs": spelled(row.get("logprobs"))} for row in rows], "usage": plain(usage)}


def row(index: Any = 0, **values: Any) -> dict[str, Any]:
    """One choice; what is not named is null: the client does not expose it here."""
    return {"index": index, **dict.fromkeys(VALUES), **values}


def plain(thing: Any) -> Any:
    """A client's object as JSON-able data, fields that it does not know included."""
    dump = getattr(thing, "model_dump", None)
    return dump(warnings=False) if callable(dump) else thing


def split(request: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """A request as arguments of an SDK: what it knows by name, the rest in ``extra_body``."""
    names = frozenset(known)
    extra = {name: value for name, value in request.items() if name not in names}
    return {name: value for name, value in request.items() if name in names} | ({"extra_body": extra} if extra else {})


def spelled(scores: Sequence[Any] | None) -> list[Any] | None:
    """JSON has no NaN and no infinity: the protocol writes them as words."""
    words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    if scores is None:
        return None
    return [words.get(str(score), score) if isinstance(score, float) else score for score in scores]


def scores_of(logprobs: Any) -> list[Any] | None:
    """The scores of the sampled tokens in a chat or completions ``logprobs`` object."""
    if not logprobs:
        return None
    found = logprobs.get("content") if "content" in logprobs else logprobs.get("token_logprobs")
    return None if found is None else [entry["logprob"] if isinstance(entry, Mapping) else entry for entry in found]


class Choices:
    """Choices of an OpenAI-shaped answer, whole or joined from chunks in the order in which they came."""

    def __init__(self) -> None:
        self.rows: dict[Any, dict[str, Any]] = {}
        self.usage: Any = None
        self._prompt: Any = None

    def add(self, answer: Mapping[str, Any]) -> None:
        """One answer or one chunk, as a mapping."""
        self.usage = answer.get("usage") or self.usage
        self._prompt = answer.get("prompt_token_ids") if self._prompt is None else self._prompt
        rows: Sequence[Mapping[str, Any]] = answer.get("choices") or ()
        for choice in rows:
            said: Mapping[str, Any] = choice.get("message") or choice.get("delta") or {}
            pieces: dict[str, Any] = {
                "completion_token_ids": choice.get("token_ids"),
                "logprobs": scores_of(choice.get("logprobs")),
                "text": choice["text"] if "text" in choice else said.get("content"),
            }
            self.join(choice.get("index"), pieces)
            known = self.rows[choice.get("index")]
            if known["prompt_token_ids"] is None:
                known["prompt_token_ids"] = choice.get("prompt_token_ids")
            known["finish_reason"] = choice.get("finish_reason") or known["finish_reason"]

    def join(self, index: Any, pieces: Mapping[str, Any]) -> None:
        """Append pieces to a choice: lists and strings grow, null adds nothing."""
        known = self.rows.setdefault(index, row(index))
        for name, piece in pieces.items():
            if piece is not None:
                known[name] = piece if known[name] is None else known[name] + piece

    def answer(self) -> Answer:
        """What was gathered; prompt ids at the root belong to every choice."""
        for known in self.rows.values():
            if known["prompt_token_ids"] is None:
                known["prompt_token_ids"] = self._prompt
        return captured(self.rows.values(), self.usage)
