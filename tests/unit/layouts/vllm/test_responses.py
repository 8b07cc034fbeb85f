"""/v1/responses: bodies, items, scores and raw messages, conversations, by version."""

from __future__ import annotations

from typing import Any

import pytest

from fakellm.ask import Request
from fakellm.layouts.vllm.responses.inputs import UnknownItem, conversation, goes_on, shown_tools
from support.stages import EOS, TOKENIZER, post, spoken
from support.vllm import ADD, HERMES, NEWEST, R1, VERSIONS, server, told

CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
ALL = f"<think>hm</think>Sure. {CALL}"
TOOL = {"type": "function", "name": "add", "parameters": ADD["function"]["parameters"]}
SCORES = {"include": ["message.output_text.logprobs"]}
WITH_TOOLS = VERSIONS[1:]
WITH_MESSAGES = VERSIONS[2:]


def asks(**body: Any) -> Request:
    return post("/v1/responses", {"model": "tiny", "input": "Hi", **body})


def kinds(body: Any) -> list[str]:
    return [item["type"] for item in body["output"]]


class TestBody:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_text(self, version: str) -> None:
        body = told(server(version, says="one two"), asks())
        assert ("response", "completed", ["message"]) == (body["object"], body["status"], kinds(body))
        assert "one two" == body["output"][0]["content"][0]["text"]
        assert body["id"].startswith("resp_")
        assert body["output"][0]["id"].startswith("msg_")

    @pytest.mark.parametrize("version", VERSIONS)
    def test_usage(self, version: str) -> None:
        usage = told(server(version, says="one two"), asks())["usage"]
        assert 3 == usage["output_tokens"]
        assert usage["input_tokens"] + 3 == usage["total_tokens"]

    @pytest.mark.parametrize("version", VERSIONS)
    def test_what_was_asked_is_repeated(self, version: str) -> None:
        body = told(server(version), asks(instructions="Be brief.", temperature=0.5, max_output_tokens=7, user="me"))
        assert ("Be brief.", 0.5, 7, "me") == tuple(
            body[name] for name in ("instructions", "temperature", "max_output_tokens", "user")
        )

    @pytest.mark.parametrize(
        ("version", "status", "details"),
        [
            ("0.10.2", "completed", None),
            ("0.12.0", "completed", None),
            ("0.16.0", "incomplete", {"reason": "max_output_tokens"}),
            (NEWEST, "incomplete", {"reason": "max_output_tokens"}),
        ],
    )
    def test_a_cut_answer_is_incomplete_from_0_16(self, version: str, status: str, details: Any) -> None:
        body = told(server(version, says=spoken("one two", end=False)), asks(max_output_tokens=2))
        assert (status, details) == (body["status"], body.get("incomplete_details"))

    @pytest.mark.parametrize(
        ("version", "fresh"),
        [
            ("0.12.0", ["incomplete_details", "input_messages", "output_messages"]),
            ("0.20.2", ["presence_penalty", "frequency_penalty", "kv_transfer_params"]),
            ("0.28.0", ["ec_transfer_params"]),
        ],
    )
    def test_members_came_with_versions(self, version: str, fresh: list[str]) -> None:
        before = told(server(VERSIONS[VERSIONS.index(version) - 1]), asks())
        assert set(fresh) == told(server(version), asks()).keys() - before.keys()

    @pytest.mark.parametrize("version", VERSIONS[2:])
    def test_an_empty_answer_is_a_message_without_content(self, version: str) -> None:
        body = told(server(version, says=""), asks())
        assert (["message"], []) == (kinds(body), body["output"][0]["content"])

    def test_and_nothing_at_all_before_0_16(self) -> None:
        assert [] == told(server("0.12.0", says=""), asks())["output"]


class TestItems:
    @pytest.mark.parametrize("version", WITH_TOOLS)
    def test_reasoning_message_and_call_in_this_order(self, version: str) -> None:
        body = told(server(version, *R1, *HERMES, says=ALL), asks(tools=[TOOL]))
        thought, said, called = body["output"]
        assert ["reasoning", "message", "function_call"] == kinds(body)
        assert "hm" == thought["content"][0]["text"]
        assert "Sure. " == said["content"][0]["text"]
        assert ("add", '{"a": 1}') == (called["name"], called["arguments"])

    @pytest.mark.parametrize("version", WITH_TOOLS)
    def test_reasoning_alone(self, version: str) -> None:
        body = told(server(version, *R1, says=spoken("<think>hm", end=False)), asks())
        assert ["reasoning"] == kinds(body)

    def test_a_custom_tool_is_called_with_text(self) -> None:
        tool = {"type": "custom", "name": "shell", "description": "runs"}
        says = '<tool_call>{"name": "shell", "arguments": {"input": "ls"}}</tool_call>'
        (called,) = told(server(NEWEST, *HERMES, says=says), asks(tools=[tool]))["output"]
        assert ("custom_tool_call", "shell", "ls") == (called["type"], called["name"], called["input"])
        assert called["id"].startswith("ctc_")

    @pytest.mark.parametrize(("version", "number"), [("0.28.0", 2), (NEWEST, 1)])
    def test_parallel_tool_calls_false_counts_in_0_32(self, version: str, number: int) -> None:
        playing = server(version, *HERMES, says=CALL + CALL)
        body = told(playing, asks(tools=[TOOL], parallel_tool_calls=False))
        assert ["function_call"] * number == kinds(body)


class TestScores:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_every_token_with_the_end(self, version: str) -> None:
        body = told(server(version, says="one two"), asks(**SCORES, top_logprobs=1))
        entries = body["output"][0]["content"][0]["logprobs"]
        assert [("one", -0.5), (" two", -0.625), ("<|im_end|>", -0.75)] == [
            (entry["token"], entry["logprob"]) for entry in entries
        ]

    @pytest.mark.parametrize("version", VERSIONS)
    def test_none_unless_included(self, version: str) -> None:
        body = told(server(version, says="one two"), asks(top_logprobs=2))
        assert body["output"][0]["content"][0]["logprobs"] is None

    @pytest.mark.parametrize("version", WITH_TOOLS)
    def test_the_message_has_those_of_reasoning_and_calls_too(self, version: str) -> None:
        body = told(server(version, *R1, *HERMES, says=ALL), asks(tools=[TOOL], **SCORES))
        entries = body["output"][1]["content"][0]["logprobs"]
        assert len(TOKENIZER.encode(ALL)) + 1 == len(entries)


class TestRawMessages:
    @pytest.mark.parametrize("version", WITH_MESSAGES)
    def test_all_ids(self, version: str) -> None:
        playing = server(version, *R1, *HERMES, says=ALL)
        body = told(playing, asks(tools=[TOOL], enable_response_messages=True))
        (prompt,), (output,) = body["input_messages"], body["output_messages"]
        assert [*TOKENIZER.encode(ALL), EOS] == output["tokens"]
        assert (prompt["message"], ALL) == (
            TOKENIZER.decode(prompt["tokens"], skip_special_tokens=False),
            output["message"],
        )

    @pytest.mark.parametrize("version", WITH_MESSAGES)
    def test_only_when_asked_for(self, version: str) -> None:
        body = told(server(version), asks(return_token_ids=True))
        assert (None, None) == (body["input_messages"], body["output_messages"])

    def test_0_12_refuses(self) -> None:
        body = told(server("0.12.0"), asks(enable_response_messages=True), status=400)
        assert "only supported for gpt-oss" in body["error"]["message"]


class TestConversation:
    def test_text_is_a_users(self) -> None:
        assert [{"role": "user", "content": "Hi"}] == conversation({"input": "Hi"})

    def test_instructions_come_first(self) -> None:
        found = conversation({"input": "Hi", "instructions": "Be brief."})
        assert {"role": "system", "content": "Be brief."} == found[0]

    def test_what_belongs_to_one_turn_is_one_message(self) -> None:
        items = [
            {"type": "message", "role": "user", "content": "Hi"},
            {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]},
            {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"},
            {"type": "function_call", "call_id": "c2", "name": "add", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "3"},
        ]
        user, said, result = conversation({"input": items})
        assert "user" == user["role"]
        assert ("hm", "ok", ["c1", "c2"]) == (
            said["reasoning"],
            said["content"],
            [call["id"] for call in said["tool_calls"]],
        )
        assert {"role": "tool", "content": "3", "tool_call_id": "c1"} == result

    def test_two_texts_are_two_messages(self) -> None:
        texts = [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}]
        assert ["a", "b"] == [message["content"] for message in conversation({"input": texts})]

    def test_going_on_drops_old_instructions_and_all_but_messages(self) -> None:
        before = [{"role": "system", "content": "old"}, {"role": "user", "content": "Hi"}]
        output = [
            {"type": "reasoning", "content": []},
            {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]},
            {"type": "function_call", "name": "f"},
        ]
        found = conversation({"input": "More"}, before, output)
        assert [("user", "Hi"), ("assistant", "Hello"), ("user", "More")] == [
            (message["role"], message["content"]) for message in found
        ]

    def test_unknown_items_are_refused(self) -> None:
        with pytest.raises(UnknownItem, match="Unsupported input item type: weird"):
            conversation({"input": [{"type": "weird"}]})

    def test_encrypted_reasoning_is_refused(self) -> None:
        with pytest.raises(UnknownItem, match="Encrypted content"):
            conversation({"input": [{"type": "reasoning", "encrypted_content": "x"}]})

    @pytest.mark.parametrize(
        ("status", "going_on"), [("in_progress", True), ("incomplete", True), ("completed", False)]
    )
    def test_an_unfinished_message_is_continued(self, status: str, going_on: bool) -> None:
        text = {"type": "output_text", "text": "One", "annotations": []}
        item = {"id": "msg_1", "type": "message", "role": "assistant", "content": [text], "status": status}
        assert going_on == goes_on([item])
        playing = server(NEWEST, says=" two")
        body = told(playing, asks(input=[{"role": "user", "content": "Hi"}, item], enable_response_messages=True))
        assert going_on == body["input_messages"][0]["message"].endswith("One")

    def test_only_function_tools_are_shown_to_the_model(self) -> None:
        tools = [TOOL, {"type": "web_search"}, {"type": "custom", "name": "shell", "description": "runs"}]
        shown = shown_tools(tools) or []
        assert ["add", "shell"] == [tool["function"]["name"] for tool in shown]
        assert shown_tools([{"type": "web_search"}]) is None
