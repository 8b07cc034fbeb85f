"""What a scenario says as structure comes back as structure from every version's parsers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.ask import Request
from fakellm.house import Choices, House
from fakellm.layouts.registry import vendor_layouts
from fakellm.scenario.load import from_data

TOOLS = [
    {
        "type": "function",
        "function": {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    }
]
SAYS: list[dict[str, Any]] = [
    {"content": "Four."},
    {"reasoning": "Hm.", "content": "Four."},
    {"reasoning": "Hm.", "tool_calls": [{"name": "add", "arguments": {"a": 1}}]},
    {"tool_calls": [{"name": "add", "arguments": {"a": 1}}, {"name": "add", "arguments": {"a": 3}}]},
    {"reasoning": "Hm.", "content": "Sure.", "tool_calls": [{"name": "add", "arguments": {"a": 1}}]},
]


def message_of(layout: str, say: Any, *parsers: str) -> dict[str, Any]:
    """The chat message that a server with these parsers makes of a reply."""
    reasoning, tools = parsers
    options = ("--reasoning-parser", reasoning, "--enable-auto-tool-choice", "--tool-call-parser", tools)
    scenario = from_data({"server": {"layout": layout}, "replies": [{"say": say}]}, "story")
    house = House({}, scenario, Choices(options=options), now=lambda: 0.0)
    body = {"model": "tiny", "messages": [{"role": "user", "content": "Two and two?"}], "tools": TOOLS}
    request = Request(
        "POST", "/v1/chat/completions", headers={"content-type": "application/json"}, body=json.dumps(body).encode()
    )
    answer, _ = house.fake.answer(request)
    return json.loads(b"".join(frame.data for frame in answer.wire.frames))["choices"][0]["message"]


@pytest.mark.parametrize("layout", [each.name for each in vendor_layouts("vllm")])
@pytest.mark.parametrize(
    "parsers", [("qwen3", "hermes"), ("deepseek_r1", "hermes"), ("qwen3", "qwen3_coder")], ids="-".join
)
@pytest.mark.parametrize("say", SAYS, ids="-".join)
def test_structure_comes_back(layout: str, parsers: tuple[str, str], say: dict[str, Any]) -> None:
    message = message_of(layout, say, *parsers)

    calls = [
        {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
        for call in message.get("tool_calls") or ()
    ]
    thought = message.get("reasoning") or message.get("reasoning_content") or None
    assert (say.get("reasoning"), say.get("content"), say.get("tool_calls", [])) == (
        thought,
        message["content"] or None,
        calls,
    )


def test_a_bare_answer_is_content_on_a_server_with_a_reasoning_parser() -> None:
    assert "Hello, world!" == message_of("vllm-0.32.0", "Hello, world!", "qwen3", "hermes")["content"]
