"""What a fault does, shown on a real answer: the bytes of a layout before and after it, side by side as a difference.

A fault is played in the first of a few situations (request, reply, server options) in which it applies and shows; so
nothing on the pages of ``explain`` and of the catalogue is written by hand, and the goldens of ``tests/golden/faults``
come from here. Time and ids are fixed. Knows no fault by name.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from .ask import Request
from .faults.base import Fault
from .house import Choices, House
from .layouts.base import Layout
from .layouts.registry import find
from .message import Wire
from .scenario.load import from_data
from .scenario.plain import plain_auto

NOON = 1_800_000_000.0
"""2027-01-15: what every clock on these pages says."""
LAYOUT = "vllm-0.32.0"
LONGEST = 70
"""Lines of a difference that a page shows."""
_ID = re.compile(r"(?<![.0-9a-f])(?=[0-9]*[a-f])[0-9a-f]{16,}")
_RUN = re.compile(r"(.)\1{79,}")
_ESCAPES = {"\r": "\\r", "\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\x85", "\ufeff": "\\ufeff"}

ASKED = ("prompt_token_ids", "completion_token_ids", "logprobs")
"""What every situation asks for, by the flags that the layout's own table names."""
STREAM = {"stream": True, "stream_options": {"include_usage": True}}
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
QUESTION = [{"role": "user", "content": "Greet me."}]
SECOND = [*QUESTION, {"role": "assistant", "content": "Hé."}, {"role": "user", "content": "And once more, please."}]
THIRD = [*SECOND, {"role": "assistant", "content": "Hé!"}, {"role": "user", "content": "Stop."}]
OPTIONS: dict[tuple[str, str | None], dict[str, Any]] = {
    ("vllm", "reasoning"): {"reasoning-parser": "qwen3"},
    ("vllm", "tools"): {"enable-auto-tool-choice": True, "tool-call-parser": "hermes"},
    ("vllm", "token-in"): {"enable-scale-out": True},
    ("dynamo", "reasoning"): {"dyn-reasoning-parser": "qwen3"},
    ("dynamo", "tools"): {"dyn-tool-call-parser": "hermes"},
    ("sglang", "reasoning"): {"reasoning-parser": "qwen3"},
    ("sglang", "tools"): {"tool-call-parser": "qwen25"},
}
"""(vendor, what a situation needs) -> the launch options for it."""
GREETING = "Hé, you."


@dataclass(frozen=True, slots=True)
class Situation:
    """A request, what is replied, and what the server was started for."""

    name: str
    api: str
    path: str
    body: Mapping[str, Any]
    say: Any = GREETING
    needs: str | None = None

    def request(self, layout: Layout) -> Request:
        """The request with the flags that this layout needs for ids and scores."""
        places = layout.accessors.get((self.api, bool(self.body.get("stream"))), ())
        flags: dict[str, Any] = {}
        for place in places:
            if place.value in ASKED:
                flags = joined(flags, place.flags)
        body = json.dumps({"model": "tiny", **flags, **self.body}).encode()
        return Request("POST", self.path, {}, {"content-type": "application/json"}, body)


def joined(flags: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Both sets of flags: objects and lists under one name are joined (Dynamo names all values in one list)."""
    both = dict(flags)
    for name, value in more.items():
        known = both.get(name)
        if isinstance(known, dict) and isinstance(value, Mapping):
            both[name] = joined(cast(dict[str, Any], known), cast(Mapping[str, Any], value))
        elif isinstance(known, list) and isinstance(value, list):
            both[name] = [*cast(list[Any], known), *(each for each in cast(list[Any], value) if each not in known)]
        else:
            both[name] = value
    return both


def _chat(name: str, *parts: Mapping[str, Any], **more: Any) -> Situation:
    body: dict[str, Any] = {"messages": QUESTION, "top_logprobs": 1}
    for part in parts:
        body |= part
    return Situation(name, "chat", "/v1/chat/completions", body, **more)


def _completions(name: str, *parts: Mapping[str, Any], **more: Any) -> Situation:
    body: dict[str, Any] = {"prompt": "Greet me:", "logprobs": 1}
    for part in parts:
        body |= part
    return Situation(name, "completions", "/v1/completions", body, **more)


_RESPONSE = {"input": "Greet me.", "include": ["message.output_text.logprobs"], "top_logprobs": 1}
_TOKENS_IN = {"token_ids": [71, 3472, 471], "sampling_params": {"logprobs": 1}, "return_token_ids": True}
_NATIVE = {"text": "Greet me:", "return_logprob": True}
_CALL = {"tool_calls": [{"name": "add", "arguments": {"a": 2, "b": 2}}, {"name": "add", "arguments": {"a": 1, "b": 0}}]}
_TWO = {"choices": [{"text": "Hé."}, {"text": "You there."}]}

SITUATIONS = (
    _chat("a chat answer", {}),
    _chat("a chat stream", STREAM),
    _chat("a chat answer of two choices", {"n": 2}, say=_TWO),
    _chat("a chat stream of two choices", STREAM, {"n": 2}, say=_TWO),
    _completions("a completions answer", {}),
    _completions("a completions answer with echo", {"echo": True, "max_tokens": 4}),
    _chat("the second turn of a chat", {"messages": SECOND}),
    _chat("the third turn of a chat", {"messages": THIRD}),
    _chat("a chat stream that reasons", STREAM, say={"reasoning": "Hm.", "content": "Hé."}, needs="reasoning"),
    _chat("a chat stream that calls tools", STREAM, {"tools": TOOLS}, say=_CALL, needs="tools"),
    _chat("a chat answer that calls a tool", {"tools": TOOLS}, say=_CALL, needs="tools"),
    _chat("a chat answer with three alternatives", {"top_logprobs": 3}),
    _chat("a chat answer with prompt scores", {"prompt_logprobs": 3}),
    _chat("a chat answer with a stop string", {"stop": ["you"]}),
    _chat("a chat answer with a limit", {"max_tokens": 2}),
    _chat("a chat answer under a seed", {"seed": 7}, say={"auto": {"tokens": 9, "from_request": True}}),
    _chat(
        "a chat answer whose tokens are ids", {"return_tokens_as_token_ids": True}, say={"tokens": ["7", "a", ":", "5"]}
    ),
    Situation("a Responses answer", "responses", "/v1/responses", _RESPONSE),
    Situation("a Responses stream", "responses", "/v1/responses", {**_RESPONSE, "stream": True}),
    Situation("a token-in answer", "tito", "/inference/v1/generate", _TOKENS_IN, needs="token-in"),
    Situation("a token-in stream", "tito", "/inference/v1/generate", {**_TOKENS_IN, "stream": True}, needs="token-in"),
    Situation("a native answer", "generate", "/generate", {**_NATIVE, "logprob_start_len": 0, "top_logprobs_num": 2}),
    Situation("a native stream", "generate", "/generate", {**_NATIVE, "stream": True}),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A fault at work. ``difference``: unified, long runs of one character shortened."""

    fault: str
    situation: str
    layout: str
    difference: tuple[str, ...]

    @property
    def text(self) -> str:
        """The difference as ``explain`` shows it."""
        return self.first(LONGEST)

    def first(self, count: int) -> str:
        """The first so many lines of it, and how many more there are."""
        more = len(self.difference) - count
        return "\n".join([*self.difference[:count], *([f"... {more} more lines"] if more > 0 else [])])


@cache
def _house() -> House:
    return House({}, plain_auto(), Choices(plans=False), now=lambda: NOON)


def answer(situation: Situation, faults: tuple[Any, ...] = (), layout: str = LAYOUT) -> tuple[Wire, str | None]:
    """The answer of a situation, and the problem when a fault does not apply there."""
    server = OPTIONS.get((find(layout).layout.vendor, situation.needs), {})
    data: dict[str, Any] = {"server": server, "replies": [{"say": situation.say}]}
    scenario = from_data(data, "showcase")
    stage = _house().stage(scenario, layout=layout, faults=faults)
    given = stage.answer(situation.request(stage.layout))
    return given.wire, given.problem


def show(fault: Fault, parameters: Mapping[str, Any] | None = None, layout: str = LAYOUT) -> Shown | None:
    """The fault in the first situation in which it shows; None where it shows in none of them."""
    entry: Any = {fault.id: dict(parameters)} if parameters else fault.id
    for situation in SITUATIONS:
        before, _ = answer(situation, layout=layout)
        if before.status != 200:
            continue  # an API that this layout does not have
        after, problem = answer(situation, (entry,), layout)
        if problem is None and after != before:
            difference = tuple(difflib.unified_diff(lines(before), lines(after), "before", "after", n=1, lineterm=""))
            return Shown(fault.id, situation.name, layout, difference)
    return None


def lines(wire: Wire) -> list[str]:
    """An answer for people: status, headers, packets; JSON broken before each member, odd characters as escapes,
    and one random id for all."""
    shown = [f"HTTP {wire.status}", *(f"{name}: {value}" for name, value in wire.headers), ""]
    for frame in wire.frames:
        due = f"after {frame.due_ms:g} ms" if frame.due_ms else "at once"
        text = frame.data.decode("utf-8", "backslashreplace")
        if "\x00" in text or any(ord(letter) < 9 for letter in text):
            text = f"<bytes that are no text: {frame.data[:3].hex(' ')} ...>"
        text = _ID.sub("0123456789abcdef", text)
        text = _RUN.sub(lambda run: f"{run[1] * 3}...({len(run[0])} times)", text)
        for odd, escape in _ESCAPES.items():
            text = text.replace(odd, escape)
        pieces = text.replace(',"', ',\n    "').replace("[{", "[\n    {").split("\n")
        shown += [f"--- packet, {due}", *pieces]
    if wire.cut:
        shown.append("--- the connection is cut")
    return shown
