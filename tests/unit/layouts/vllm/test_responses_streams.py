"""/v1/responses streams: which events in which order, numbered; what each generation of versions loses."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from fakellm.ask import Request
from fakellm.generation import Choice
from fakellm.layouts.registry import find
from fakellm.reading.reader import read_as_sent
from support.stages import EOS, TOKENIZER, body_of, post, spoken
from support.vllm import ADD, HERMES, NEWEST, QWEN3, R1, VERSIONS, events, in_steps, server, told

CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
ALL = f"<think>hm</think>Sure. {CALL}"
TOOL = {"type": "function", "name": "add", "parameters": ADD["function"]["parameters"]}
SCORES = {"include": ["message.output_text.logprobs"]}
ITEMS = VERSIONS[4:]


def asks(**body: Any) -> Request:
    return post("/v1/responses", {"model": "tiny", "input": "Hi", "stream": True, **body})


def names(found: list[Any]) -> list[str]:
    """The types of the events, neighbours that are alike once."""
    return [name for name, _ in itertools.groupby(event["type"].removeprefix("response.") for event in found)]


def texts(found: list[Any], kind: str) -> str:
    return "".join(event["delta"] for event in found if event["type"] == f"response.{kind}.delta")


def streamed(version: str, *options: str, says: Choice | str, **body: Any) -> list[Any]:
    return events(server(version, *options, says=says), asks(**body))


def scores(found: list[Any]) -> list[str]:
    """The tokens whose scores came in text deltas."""
    rows = [event for event in found if event["type"] == "response.output_text.delta"]
    return [entry["token"] for event in rows for entry in event["logprobs"]]


@pytest.mark.parametrize("version", VERSIONS)
class TestEveryVersion:
    def test_events_are_numbered_from_0(self, version: str) -> None:
        found = streamed(version, says="one two")
        assert [*range(len(found))] == [event["sequence_number"] for event in found]

    def test_a_message(self, version: str) -> None:
        found = names(streamed(version, says="one two"))
        begins = ["created", "in_progress", "output_item.added", "content_part.added", "output_text.delta"]
        ends = ["output_text.done", "content_part.done", "output_item.done"]
        without = version == "0.20.2"  # its last step, the end token's, has no text: that decides
        assert [*begins, *([] if without else ends)] == [name for name in found if name != "completed"]

    def test_the_text_adds_up(self, version: str) -> None:
        found = streamed(version, says=spoken("one two 🦆", end=False))
        done = next(event for event in found if event["type"] == "response.output_text.done")
        assert "one two 🦆" == texts(found, "output_text") == done["text"]

    def test_reasoning_is_an_item_before_the_message(self, version: str) -> None:
        found = streamed(version, *R1, says="<think>hm</think>ok")
        added = [event["item"]["type"] for event in found if event["type"] == "response.output_item.added"]
        assert ["reasoning", "message"] == added
        assert ("hm", "ok") == (texts(found, "reasoning_text"), texts(found, "output_text"))

    def test_event_lines_name_the_type(self, version: str) -> None:
        lines = body_of(server(version).answer(asks())).decode().split("\n\n")
        assert lines[0].startswith("event: response.created\ndata: {")
        assert "[DONE]" not in lines[-2]


class TestCompleted:
    def test_0_10_2_never_gets_there(self) -> None:
        answer = server("0.10.2").answer(asks())
        assert b"response.completed" not in body_of(answer)
        assert answer.wire.cut

    @pytest.mark.parametrize("version", VERSIONS[2:])
    def test_is_the_whole_answer(self, version: str) -> None:
        playing = server(version, *R1, *HERMES, says=ALL)
        final = events(playing, asks(tools=[TOOL]))[-1]["response"]
        whole = told(playing, post("/v1/responses", {"model": "tiny", "input": "Hi", "tools": [TOOL]}))
        assert [item["type"] for item in whole["output"]] == [item["type"] for item in final["output"]]
        assert whole["usage"] == final["usage"]

    def test_0_12_shows_the_last_step_alone(self) -> None:
        assert [] == streamed("0.12.0", says="one two")[-1]["response"]["output"]
        found = streamed("0.12.0", says=spoken("one two", end=False))
        assert " two" == found[-1]["response"]["output"][0]["content"][0]["text"]

    @pytest.mark.parametrize("version", VERSIONS[3:])
    def test_has_all_ids_where_asked_for(self, version: str) -> None:
        final = streamed(version, says="one two", enable_response_messages=True)[-1]["response"]
        assert [*TOKENIZER.encode("one two"), EOS] == final["output_messages"][0]["tokens"]

    def test_0_16_writes_them_as_strings_step_by_step(self) -> None:
        final = streamed("0.16.0", says="one two", enable_response_messages=True)[-1]["response"]
        assert 3 == len(final["output_messages"])
        assert all(isinstance(one, str) for one in final["output_messages"])

    @pytest.mark.parametrize("version", VERSIONS[2:])
    def test_a_failing_engine_cuts_the_stream(self, version: str) -> None:
        failed = replace(spoken("one two", end=False), finish_reason="error")
        answer = server(version, says=failed).answer(asks())
        assert answer.wire.cut
        assert b"response.completed" not in body_of(answer)


class TestCalls:
    @pytest.mark.parametrize("version", VERSIONS[3:])
    def test_a_call_is_an_item_with_its_arguments(self, version: str) -> None:
        found = streamed(version, *HERMES, says=CALL, tools=[TOOL])
        done = next(event for event in found if event["type"] == "response.function_call_arguments.done")
        assert '{"a": 1}' == texts(found, "function_call_arguments") == done["arguments"]
        item = next(event["item"] for event in found if event["type"] == "response.output_item.done")
        assert ("function_call", "add", '{"a": 1}') == (item["type"], item["name"], item["arguments"])

    @pytest.mark.parametrize("version", ITEMS)
    def test_several_calls_are_several_items(self, version: str) -> None:
        found = streamed(version, *HERMES, says=in_steps(CALL + CALL, 100), tools=[TOOL])
        added = [event for event in found if event["type"] == "response.output_item.added"]
        assert [("function_call", 0), ("function_call", 1)] == [
            (event["item"]["type"], event["output_index"]) for event in added
        ]

    @pytest.mark.parametrize("version", ITEMS)
    def test_reasoning_message_and_call(self, version: str) -> None:
        found = streamed(version, *R1, *HERMES, says=ALL, tools=[TOOL])
        items = [event["item"]["type"] for event in found if event["type"] == "response.output_item.done"]
        assert ["reasoning", "message", "function_call"] == items

    @pytest.mark.parametrize("version", VERSIONS[1:3])
    def test_calls_are_text_up_to_0_16(self, version: str) -> None:
        assert CALL == texts(streamed(version, *HERMES, says=CALL, tools=[TOOL]), "output_text")

    @pytest.mark.parametrize(("version", "told_done"), [("0.28.0", False), (NEWEST, True)])
    def test_a_call_without_arguments(self, version: str, told_done: bool) -> None:
        tool = {"type": "custom", "name": "shell"}
        found = names(streamed(version, *HERMES, says='<tool_call>{"name": "add", "argu', tools=[TOOL, tool][:1]))
        assert told_done == ("function_call_arguments.done" in found)

    def test_a_custom_tools_input_is_streamed_as_text(self) -> None:
        says = '<tool_call>{"name": "shell", "arguments": {"input": "ls \\"x\\""}}</tool_call>'
        found = streamed(NEWEST, *HERMES, says=says, tools=[{"type": "custom", "name": "shell", "description": "d"}])
        done = next(event for event in found if event["type"] == "response.custom_tool_call_input.done")
        assert 'ls "x"' == texts(found, "custom_tool_call_input") == done["input"]


class TestNames:
    @pytest.mark.parametrize(
        ("version", "part"), [("0.16.0", "content_part"), ("0.28.0", "reasoning_part"), (NEWEST, "content_part")]
    )
    def test_the_part_around_reasoning(self, version: str, part: str) -> None:
        found = names(streamed(version, *R1, says="<think>hm</think>ok"))
        assert f"{part}.added" == found[found.index("reasoning_text.delta") - 1]

    @pytest.mark.parametrize(("version", "prefixed"), [("0.28.0", False), (NEWEST, True)])
    def test_streamed_ids_have_a_prefix_in_0_32(self, version: str, prefixed: bool) -> None:
        added = next(event for event in streamed(version, says="ok") if event["type"] == "response.output_item.added")
        assert prefixed == added["item"]["id"].startswith("msg_")


class TestScores:
    @pytest.mark.parametrize(
        ("version", "told_scores"),
        [
            ("0.10.2", ["one", " two", "<|im_end|>"]),
            ("0.16.0", ["one", " two", "<|im_end|>"]),
            ("0.20.2", ["one", " two"]),
            (NEWEST, ["one", " two"]),
        ],
    )
    def test_the_end_tokens_score_is_lost_from_0_20_2(self, version: str, told_scores: list[str]) -> None:
        assert told_scores == scores(streamed(version, says="one two", **SCORES))

    @pytest.mark.parametrize("version", ITEMS)
    def test_scores_of_reasoning_are_lost(self, version: str) -> None:
        assert ["ok"] == scores(streamed(version, *R1, says="<think>hm</think>ok", **SCORES))

    @pytest.mark.parametrize(("version", "number"), [("0.16.0", 3), ("0.28.0", 3), (NEWEST, 2)])
    def test_the_last_event_tells_all_of_them_up_to_0_28(self, version: str, number: int) -> None:
        final = streamed(version, says="one two", **SCORES)[-1]["response"]
        assert number == len(final["output"][0]["content"][0]["logprobs"])

    @pytest.mark.parametrize("version", ITEMS[1:])
    def test_hidden_reasoning_hides_scores(self, version: str) -> None:
        says = "<think>hm</think>ok"
        assert [] == scores(streamed(version, *QWEN3, says=says, include_reasoning=False, **SCORES))


class TestPlaces:
    """The accessor table finds what the answers tell."""

    def captured(self, version: str, stream: bool, **body: Any) -> Any:
        table = find(f"vllm-{version}").layout.accessors
        answer = server(version, says="one two").answer(asks(**SCORES, **body, stream=stream))
        return read_as_sent(body_of(answer), api="responses", stream=stream, table=table).choices[0]

    @pytest.mark.parametrize("version", VERSIONS)
    @pytest.mark.parametrize("stream", [False, True])
    def test_text_and_scores(self, version: str, stream: bool) -> None:
        found = self.captured(version, stream)
        assert "one two" == found.text
        assert (-0.5, -0.625) == found.logprobs[:2]

    @pytest.mark.parametrize(
        ("version", "stream"),
        [(version, stream) for version in VERSIONS[2:] for stream in (False, True)][:1]
        + [(version, stream) for version in VERSIONS[3:] for stream in (False, True)],
    )
    def test_ids(self, version: str, stream: bool) -> None:
        found = self.captured(version, stream, enable_response_messages=True)
        assert (*TOKENIZER.encode("one two"), EOS) == found.completion_token_ids
        assert found.prompt_token_ids

    @pytest.mark.parametrize("version", VERSIONS)
    def test_what_streams_lose_is_said(self, version: str) -> None:
        rows = find(f"vllm-{version}").layout.accessors[("responses", True)]
        assert all(row.loss for row in rows if row.value == "logprobs")
