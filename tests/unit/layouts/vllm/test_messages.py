"""/v1/messages and count_tokens: Anthropic's shapes made of chat, both ways, by version."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from fakellm.ask import Request
from fakellm.generation import Choice
from fakellm.layouts.vllm.messages.inputs import UnknownTool, chat_values
from fakellm.layouts.vllm.messages.rules import MESSAGE_RULES
from support.stages import TOKENIZER, body_of, post, spoken
from support.vllm import ADD, HERMES, NEWEST, R1, VERSIONS, events, in_steps, server, told

SERVING = VERSIONS[1:]
BLOCKS = VERSIONS[3:]
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
ALL = f"<think>hm</think>Sure. {CALL}"
TOOL = {"name": "add", "input_schema": ADD["function"]["parameters"]}
HI = [{"role": "user", "content": "Hi"}]


def asks(**body: Any) -> Request:
    return post("/v1/messages", {"model": "tiny", "max_tokens": 64, "messages": HI, **body})


def counts(**body: Any) -> Request:
    return post("/v1/messages/count_tokens", {"model": "tiny", "messages": HI, **body})


def kinds(message: Any) -> list[str]:
    return [block["type"] for block in message["content"]]


def named(found: list[Any]) -> list[str]:
    """Events by name, block starts and deltas by their kind; neighbours that are alike once."""
    rows = [(event.get("content_block") or event.get("delta") or {}).get("type") or event["type"] for event in found]
    return [name for name, _ in itertools.groupby(rows)]


class TestWhole:
    @pytest.mark.parametrize("version", SERVING)
    def test_text(self, version: str) -> None:
        message = told(server(version, says="one two"), asks())
        assert ("message", "assistant", "end_turn") == (message["type"], message["role"], message["stop_reason"])
        assert [{"type": "text", "text": "one two"}] == message["content"]
        assert 3 == message["usage"]["output_tokens"]

    def test_0_10_2_has_no_such_route(self) -> None:
        told(server("0.10.2"), asks(), status=404)

    @pytest.mark.parametrize("version", BLOCKS)
    def test_reasoning_text_and_call_are_blocks(self, version: str) -> None:
        thought, said, used = told(server(version, *R1, *HERMES, says=ALL), asks(tools=[TOOL]))["content"]
        assert ("thinking", "hm") == (thought["type"], thought["thinking"])
        assert thought["signature"]
        assert {"type": "text", "text": "Sure. "} == said
        assert ("tool_use", "add", {"a": 1}) == (used["type"], used["name"], used["input"])

    @pytest.mark.parametrize("version", SERVING[:2])
    def test_reasoning_is_left_out_up_to_0_16(self, version: str) -> None:
        assert ["text", "tool_use"] == kinds(told(server(version, *R1, *HERMES, says=ALL), asks(tools=[TOOL])))

    @pytest.mark.parametrize(("version", "found"), [("0.16.0", ["text"]), ("0.24.0", []), ("0.28.0", ["text"])])
    def test_an_empty_answer(self, version: str, found: list[str]) -> None:
        assert found == kinds(told(server(version, says=""), asks()))

    @pytest.mark.parametrize("version", SERVING)
    def test_members_that_are_null_are_left_out(self, version: str) -> None:
        assert None not in told(server(version), asks()).values()


class TestStops:
    @pytest.mark.parametrize("version", SERVING)
    @pytest.mark.parametrize(
        ("says", "reason"),
        [(spoken("one"), "end_turn"), (spoken("one", end=False), "max_tokens"), (spoken(CALL), "tool_use")],
    )
    def test_why_it_ended(self, version: str, says: Choice, reason: str) -> None:
        request = asks(tools=[TOOL], max_tokens=len(says.tokens))
        assert reason == told(server(version, *HERMES, says=says), request)["stop_reason"]

    @pytest.mark.parametrize(
        ("version", "reason", "sequence"), [("0.28.0", "end_turn", None), (NEWEST, "stop_sequence", "two")]
    )
    def test_a_stop_string_is_told_in_0_32(self, version: str, reason: str, sequence: str | None) -> None:
        message = told(server(version, says="one two three"), asks(stop_sequences=["two"]))
        assert ("one ", reason, sequence) == (
            message["content"][0]["text"],
            message["stop_reason"],
            message.get("stop_sequence"),
        )


class TestUnusableArguments:
    @pytest.mark.parametrize(
        ("version", "status", "kind"), [("0.16.0", 500, "internal_error"), ("0.20.2", 500, "internal_error")]
    )
    def test_a_forced_call_that_is_no_json_fails(self, version: str, status: int, kind: str) -> None:
        playing = server(version, *HERMES, says="oops")
        body = told(playing, asks(tools=[TOOL], tool_choice={"type": "tool", "name": "add"}), status)
        assert {"type": kind, "message": "Expecting value: line 1 column 1 (char 0)"} == body["error"]

    def test_nor_may_it_be_a_list(self) -> None:
        playing = server("0.20.2", *HERMES, says="[1]")
        body = told(playing, asks(tools=[TOOL], tool_choice={"type": "tool", "name": "add"}), 500)
        assert "Input should be a valid dictionary" in body["error"]["message"]


class TestStreams:
    @pytest.mark.parametrize("version", SERVING)
    def test_text(self, version: str) -> None:
        found = events(server(version, says="one two"), asks(stream=True))
        assert [
            *("message_start", "text", "text_delta"),
            *("content_block_stop", "message_delta", "message_stop"),
        ] == named(found)
        assert "one two" == "".join(event["delta"]["text"] for event in found if event["type"] == "content_block_delta")

    @pytest.mark.parametrize(
        ("version", "length"), [("0.20.2", 1), *((version, length) for version in BLOCKS[1:] for length in (1, 100))]
    )
    def test_one_block_after_the_other(self, version: str, length: int) -> None:
        playing = server(version, *R1, *HERMES, says=in_steps(ALL, length))
        found = events(playing, asks(stream=True, tools=[TOOL]))
        assert [
            "message_start",
            *("thinking", "thinking_delta", "signature_delta", "content_block_stop"),
            *("text", "text_delta", "content_block_stop"),
            *("tool_use", "input_json_delta", "content_block_stop"),
            *("message_delta", "message_stop"),
        ] == named(found)
        pieces = [event["delta"].get("partial_json", "") for event in found if event["type"] == "content_block_delta"]
        assert {"a": 1} == json.loads("".join(pieces))
        starts = [event["index"] for event in found if event["type"] == "content_block_start"]
        assert [0, 1, 2] == starts

    @pytest.mark.parametrize("version", SERVING)
    def test_the_end_tells_why_and_how_many(self, version: str) -> None:
        *_, delta, _ = events(server(version, *HERMES, says=CALL), asks(stream=True, tools=[TOOL]))
        assert "tool_use" == delta["delta"]["stop_reason"]
        assert len(TOKENIZER.encode(CALL)) + 1 == delta["usage"]["output_tokens"]

    @pytest.mark.parametrize(
        ("version", "members"),
        [
            ("0.12.0", ["id", "content", "model"]),
            ("0.16.0", ["id", "content", "model", "usage"]),
            ("0.20.2", ["id", "content", "model", "stop_reason", "stop_sequence", "usage"]),
            ("0.24.0", ["id", "type", "role", "content", "model", "stop_reason", "stop_sequence", "usage"]),
        ],
    )
    def test_the_start_by_version(self, version: str, members: list[str]) -> None:
        assert members == [*events(server(version), asks(stream=True))[0]["message"]]

    @pytest.mark.parametrize(
        ("version", "done"), [("0.12.0", True), ("0.16.0", True), ("0.20.2", False), (NEWEST, False)]
    )
    def test_a_done_at_the_end_up_to_0_16(self, version: str, done: bool) -> None:
        assert done == (b"[DONE]" in body_of(server(version).answer(asks(stream=True))))

    @pytest.mark.parametrize("version", SERVING)
    def test_events_have_names(self, version: str) -> None:
        lines = body_of(server(version).answer(asks(stream=True))).decode().split("\n\n")
        assert lines[0].startswith('event: message_start\ndata: {"')


class TestCountTokens:
    @pytest.mark.parametrize("version", BLOCKS)
    def test_as_many_as_the_prompt_of_a_message(self, version: str) -> None:
        playing = server(version, *HERMES)
        counted = told(playing, counts(system="Be brief.", tools=[TOOL]))
        assert counted["input_tokens"] == told(playing, asks(system="Be brief.", tools=[TOOL]))["usage"]["input_tokens"]
        assert {"original_input_tokens": counted["input_tokens"]} == counted["context_management"]

    @pytest.mark.parametrize("version", VERSIONS[:3])
    def test_no_route_before_0_20_2(self, version: str) -> None:
        told(server(version), counts(), status=404)


class TestChatRequest:
    """What chat is asked for."""

    def made(self, version: str = NEWEST, *, system_first: bool = False, **values: Any) -> dict[str, Any]:
        return chat_values({"messages": HI, **values}, MESSAGE_RULES[version], lambda: system_first)

    def messages(self, *given: Any, version: str = NEWEST, **values: Any) -> list[Any]:
        return self.made(version, messages=given, **values)["messages"]

    def test_blocks_of_one_turn_are_one_message(self) -> None:
        blocks = [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "ok"},
            {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}},
        ]
        (said,) = self.messages({"role": "assistant", "content": blocks})
        assert ("hm", "ok") == (said["reasoning"], said["content"])
        assert [("t1", "add", '{"a": 1}')] == [
            (call["id"], call["function"]["name"], call["function"]["arguments"]) for call in said["tool_calls"]
        ]

    def test_results_of_tools_are_messages_of_their_own(self) -> None:
        parts = [{"type": "text", "text": "3"}, {"type": "text", "text": "4"}]
        result = {"type": "tool_result", "tool_use_id": "t1", "content": parts}
        found = self.messages({"role": "user", "content": [result, {"type": "text", "text": "and?"}]})
        assert [
            {"role": "tool", "tool_call_id": "t1", "content": "3\n4"},
            {"role": "user", "content": "and?"},
        ] == found

    def test_a_user_turn_of_results_alone_leaves_no_message(self) -> None:
        result = {"type": "tool_result", "tool_use_id": "t1", "content": "3"}
        assert ["tool"] == [message["role"] for message in self.messages({"role": "user", "content": [result]})]

    def test_system_text_without_billing_headers(self) -> None:
        system = [{"type": "text", "text": "x-anthropic-billing-header: 1"}, {"type": "text", "text": "Be brief."}]
        assert "Be brief." == self.made(system=system)["messages"][0]["content"]
        assert self.made("0.16.0", system=system)["messages"][0]["content"].startswith("x-anthropic")

    def test_system_messages_inside_move_where_the_template_wants_them_first(self) -> None:
        given = [*HI, {"role": "system", "content": "Be brief."}]
        assert ["user", "system"] == [message["role"] for message in self.messages(*given)]
        moved = self.made(messages=given, system="You.", system_first=True)["messages"]
        assert [("system", "You.Be brief."), ("user", "Hi")] == [(one["role"], one["content"]) for one in moved]

    @pytest.mark.parametrize(
        ("choice", "becomes"),
        [
            (None, "auto"),
            ({"type": "auto"}, "auto"),
            ({"type": "any"}, "required"),
            ({"type": "none"}, "none"),
            ({"type": "tool", "name": "add"}, {"type": "function", "function": {"name": "add"}}),
        ],
    )
    def test_tool_choice(self, choice: Any, becomes: Any) -> None:
        assert becomes == self.made(tools=[TOOL], tool_choice=choice)["tool_choice"]

    def test_one_call_at_a_time(self) -> None:
        made = self.made(tools=[TOOL], tool_choice={"type": "auto", "disable_parallel_tool_use": True})
        assert made["parallel_tool_calls"] is False

    def test_tools_become_functions(self) -> None:
        (tool,) = self.made(tools=[{**TOOL, "description": "adds"}])["tools"]
        assert {"name": "add", "description": "adds", "parameters": TOOL["input_schema"]} == tool["function"]

    def test_tools_may_come_and_go(self) -> None:
        removal = {"type": "tool_removal", "tool": {"name": "add"}}
        addition = {"type": "tool_addition", "tool": {"definition": {**TOOL, "name": "sub"}}}
        made = self.made(messages=[{"role": "user", "content": [removal, addition]}], tools=[TOOL])
        assert ["sub"] == [tool["function"]["name"] for tool in made["tools"]]

    def test_a_tool_that_was_never_declared_cannot_go(self) -> None:
        removal = {"type": "tool_removal", "tool": {"name": "sub"}}
        with pytest.raises(UnknownTool, match="references tool 'sub'"):
            self.made(messages=[{"role": "user", "content": [removal]}], tools=[TOOL])

    def test_thinking_switched_off_is_no_effort(self) -> None:
        made = self.made(thinking={"type": "disabled"}, output_config={"effort": "high"})
        assert {"reasoning_effort": "none"} == made["chat_template_kwargs"]
