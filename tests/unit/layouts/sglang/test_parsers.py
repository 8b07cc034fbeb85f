"""Reasoning and tool parsers, alone and on the chat wire: however the text is cut, the parts add up."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakellm.ask import Request
from fakellm.layouts.sglang.parsers import AnswerParser, ParserChoice
from fakellm.layouts.sglang.parsers.partial import NotJson, read_partial
from fakellm.layouts.sglang.traits import Traits
from fakellm.told import Part
from support.sglang import NEWEST, events, server, told
from support.stages import chat, spoken

WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
CALL = '{"name": "weather", "arguments": {"city": "Paris", "days": 3}}'
QWEN = f"Let me see.\n<tool_call>\n{CALL}\n</tool_call>"
THOUGHT = "<think>hmm, well</think>It rains."


def parser(
    reasoning: str | None = None, tools: str | None = None, *, version: int = 23, forced: bool = False, **variables: Any
) -> AnswerParser:
    traits = Traits.of((0, 5, version))
    return AnswerParser(ParserChoice(traits, reasoning, tools, ("clock", "weather"), variables, forced))


def joined(parts: list[Part]) -> dict[str, Any]:
    """Texts by kind, and the name of the call."""
    found: dict[str, Any] = {}
    for part in parts:
        found[part.kind] = found.get(part.kind, "") + part.text
        if part.name is not None:
            found["name"] = part.name
    return found


def pushed(machine: AnswerParser, text: str, cuts: list[int]) -> list[Part]:
    places = [0, *sorted({min(cut, len(text)) for cut in cuts}), len(text)]
    parts: list[Part] = []
    for start, stop in pairwise(places):
        parts += machine.push(text[start:stop], finished=stop == len(text), aborted=False)
    return parts


class TestReasoning:
    @pytest.mark.parametrize(
        ("name", "text", "reasoning", "content"),
        [
            ("qwen3", THOUGHT, "hmm, well", "It rains."),
            ("qwen3", "hmm</think>yes", "hmm", "yes"),
            ("deepseek-r1", "hmm</think>yes", "hmm", "yes"),
            ("deepseek-r1", "all of it", "all of it", ""),
            ("deepseek-v3", "plain", "", "plain"),
            ("kimi", "◁think▷hmm◁/think▷yes", "hmm", "yes"),
            ("kimi", "plain", "", "plain"),
        ],
    )
    def test_whole_answers(self, name: str, text: str, reasoning: str, content: str) -> None:
        found = joined(list(parser(name).whole(text)))
        assert (reasoning, content) == (found.get("reasoning", ""), found.get("content", ""))

    @pytest.mark.parametrize(
        ("name", "variables", "kind"),
        [
            ("qwen3", {"enable_thinking": False}, "content"),
            ("qwen3", {}, "reasoning"),
            ("deepseek-v3", {"thinking": True}, "reasoning"),
            ("deepseek-v3", {}, "content"),
        ],
    )
    def test_variables_of_the_template_say_where_it_begins(
        self, name: str, variables: dict[str, Any], kind: str
    ) -> None:
        assert [kind] == [part.kind for part in parser(name, **variables).whole("plain words")]

    @given(st.lists(st.integers(0, len(THOUGHT)), max_size=8))
    @settings(max_examples=60)
    def test_cuts_do_not_matter(self, cuts: list[int]) -> None:
        found = joined(pushed(parser("qwen3"), THOUGHT, cuts))
        assert {"reasoning": "hmm, well", "content": "It rains."} == found


class TestTools:
    @pytest.mark.parametrize(
        ("name", "text", "content"),
        [
            ("qwen25", QWEN, "Let me see."),
            ("hermes", f"Well. <tool_call>{CALL}</tool_call>", "Well."),
            ("llama3", CALL.replace("arguments", "parameters"), ""),
            ("mistral", f"[TOOL_CALLS] [{CALL}]", ""),
        ],
    )
    def test_whole_answers(self, name: str, text: str, content: str) -> None:
        found = joined(list(parser(tools=name).whole(text)))
        assert ("weather", content) == (found["name"], found.get("content", "").strip())
        assert {"city": "Paris", "days": 3} == json.loads(found["tool"])

    def test_two_calls_have_two_indexes(self) -> None:
        text = f"<tool_call>\n{CALL}\n</tool_call>\n<tool_call>\n{CALL}\n</tool_call>"
        assert [0, 1] == [part.tool_index for part in parser(tools="qwen25").whole(text) if part.kind == "tool"]

    def test_a_tool_that_was_not_offered_is_no_call(self) -> None:
        parts = parser(tools="qwen25").whole(QWEN.replace("weather", "climate"))
        assert "name" not in joined(list(parts))

    @given(st.lists(st.integers(0, len(QWEN)), min_size=5, max_size=40))
    @settings(max_examples=60)
    def test_streamed_arguments_add_up(self, cuts: list[int]) -> None:
        found = joined(pushed(parser(tools="qwen25"), QWEN, [*range(0, len(QWEN), 3), *cuts]))
        assert "weather" == found["name"]
        assert {"city": "Paris", "days": 3} == json.loads(found["tool"])


class TestPartialJson:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ('{"a": 1', {"a": 1}),
            ('{"a": "on', {"a": "on"}),
            ('{"a": [1, 2', {"a": [1, 2]}),
            ('{"a": {"b": tr', {"a": {"b": True}}),
            ("{", {}),
        ],
    )
    def test_what_is_there_is_read(self, text: str, value: Any) -> None:
        found, _, complete = read_partial(text)
        assert (value, False) == (found, complete)

    def test_a_whole_value_is_complete_and_says_where_it_ends(self) -> None:
        assert ({"a": None}, 11, True) == read_partial('{"a": null} and more')

    def test_an_open_string_may_be_left_out(self) -> None:
        assert {} == read_partial('{"a": "on', strings=False)[0]

    @pytest.mark.parametrize("text", ["", "words", "}", '{"a" 1}'])
    def test_what_is_no_json_is_refused(self, text: str) -> None:
        with pytest.raises(NotJson):
            read_partial(text)


PARSERS = ("--reasoning-parser", "qwen3", "--tool-call-parser", "qwen25")


def asked(**more: Any) -> Request:
    return chat(tools=[WEATHER], **more)


class TestOnTheWire:
    def test_a_whole_answer(self) -> None:
        playing = server(NEWEST, *PARSERS, says=spoken(f"<think>rain?</think>{QWEN}"))
        choice = told(playing, asked())["choices"][0]
        message = choice["message"]
        assert "tool_calls" == choice["finish_reason"]
        assert "rain?" == message["reasoning_content"]
        call = message["tool_calls"][0]
        assert ("function", "weather") == (call["type"], call["function"]["name"])
        assert {"city": "Paris", "days": 3} == json.loads(call["function"]["arguments"])
        assert call["id"].startswith("call_")

    def test_a_stream(self) -> None:
        playing = server(NEWEST, *PARSERS, says=spoken(f"<think>rain?</think>{QWEN}"))
        found = events(playing, asked(stream=True))
        deltas = [event["choices"][0]["delta"] for event in found if event["choices"]]
        calls = [call for delta in deltas for call in delta.get("tool_calls") or ()]
        assert "rain?" == "".join(delta.get("reasoning_content") or "" for delta in deltas)
        assert ["weather"] == [call["function"]["name"] for call in calls if call["function"].get("name")]
        arguments = "".join(call["function"].get("arguments") or "" for call in calls)
        assert {"city": "Paris", "days": 3} == json.loads(arguments)
        assert "tool_calls" == found[-1]["choices"][0]["finish_reason"]

    def test_no_tool_choice_is_no_parser(self) -> None:
        playing = server(NEWEST, *PARSERS, says=spoken(f"</think>{QWEN}"))
        message = told(playing, asked(tool_choice="none"))["choices"][0]["message"]
        assert "<tool_call>" in message["content"]

    def test_reasoning_need_not_be_separated(self) -> None:
        playing = server(NEWEST, *PARSERS, says=spoken(THOUGHT))
        message = told(playing, chat(separate_reasoning=False))["choices"][0]["message"]
        assert (None, THOUGHT) == (message["reasoning_content"], message["content"])

    @pytest.mark.parametrize(("version", "kept"), [("0.5.13", False), (NEWEST, True)])
    def test_scores_of_reasoning_chunks(self, version: str, kept: bool) -> None:
        playing = server(version, "--reasoning-parser", "qwen3", says=spoken("<think>rain</think>It rains."))
        found = events(playing, chat(stream=True, logprobs=True))
        rows = [event["choices"][0] for event in found if event["choices"]]
        thinking = [row for row in rows if row["delta"].get("reasoning_content")]
        assert kept == any(row["logprobs"] for row in thinking)
