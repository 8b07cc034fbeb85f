"""What tests of vLLM's layouts ask for: a server of some version, its answers as JSON, its streams as events."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from fakellm.ask import Request
from fakellm.generation import Choice
from fakellm.stage import Stage

from .stages import NOON, TOKENIZER, Spoken, body_of, spoken, station

VERSIONS = ("0.10.2", "0.12.0", "0.16.0", "0.20.2", "0.24.0", "0.28.0", "0.32.0")
NEWEST = VERSIONS[-1]
HERMES = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")
CODER = ("--enable-auto-tool-choice", "--tool-call-parser", "qwen3_coder")
R1 = ("--reasoning-parser", "deepseek_r1")
QWEN3 = ("--reasoning-parser", "qwen3")
ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "s": {"type": "string"}},
        },
    },
}


def server(
    version: str = NEWEST,
    *options: str,
    says: Choice | str = "Hello",
    now: Callable[[], float] = lambda: NOON,
    timing: Any = None,
    **launch: Any,
) -> Stage:
    """A started server that answers everything with the same choice."""
    choice = spoken(says) if isinstance(says, str) else says
    layout, started = station(f"vllm-{version}", *options, **launch)
    return Stage("test", layout, started, Spoken(choice, timing=timing), now=now, tokenizer=TOKENIZER)


def in_steps(text: str, *lengths: int) -> Choice:
    """The text spoken in steps of so many tokens; the last length repeats."""
    choice = spoken(text)
    left, steps = len(choice.tokens), list[int]()
    while left:
        length = min(lengths[min(len(steps), len(lengths) - 1)], left)
        steps.append(length)
        left -= length
    return replace(choice, steps=tuple(steps))


def told(playing: Stage, request: Request, status: int = 200) -> Any:
    """The JSON body of a whole answer with this status."""
    answer = playing.answer(request)
    body = body_of(answer)
    assert (status, None) == (answer.wire.status, answer.problem), body
    return json.loads(body)


def events(playing: Stage, request: Request) -> list[Any]:
    """The JSON of every event of a stream, in order; ``[DONE]`` is not one."""
    answer = playing.answer(request)
    assert (200, None) == (answer.wire.status, answer.problem), body_of(answer)
    lines = body_of(answer).decode().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def deltas(playing: Stage, request: Request) -> list[Any]:
    """The deltas of the first choice of a chat stream."""
    return [event["choices"][0]["delta"] for event in events(playing, request) if event.get("choices")]


def joined(found: Sequence[Any]) -> tuple[str, str, list[tuple[str, str]]]:
    """(reasoning, content, calls as name and arguments) that the deltas of a chat stream add up to."""
    reasoning = "".join(delta.get("reasoning") or delta.get("reasoning_content") or "" for delta in found)
    content = "".join(delta.get("content") or "" for delta in found)
    calls: dict[int, list[str]] = {}
    for delta in found:
        for call in delta.get("tool_calls") or ():
            function = call.get("function") or {}
            one = calls.setdefault(call["index"], ["", ""])
            one[0] += function.get("name") or ""
            one[1] += function.get("arguments") or ""
    return reasoning, content, [(name, arguments) for name, arguments in calls.values()]


def message(playing: Stage, request: Request) -> Any:
    """The message of a whole chat answer's first choice."""
    return told(playing, request)["choices"][0]["message"]


def calls_of(said: Any) -> list[tuple[str, str]]:
    """The calls of a whole chat message: name and arguments."""
    return [(call["function"]["name"], call["function"]["arguments"]) for call in said.get("tool_calls") or ()]
