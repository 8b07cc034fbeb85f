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

    @pytest.mark.parametrize(("version", "kind"), [(6, "content"), (9, "reasoning"), (23, "reasoning")])
    def test_a_thinking_model_thinks_by_default_since(self, version: int, kind: str) -> None:
        assert [kind] == [part.kind for part in parser("qwen3", version=version).whole("plain words")]

    @pytest.mark.parametrize(
        ("version", "reasoning", "content"), [(12, "hmm ", "yes"), (13, " hmm ", "\n\nyes"), (23, " hmm ", "\n\nyes")]
    )
    def test_blanks_around_the_markers(self, version: int, reasoning: str, content: str) -> None:
        found = joined(list(parser("qwen3", version=version).whole("<think> hmm </think>\n\nyes")))
        assert (reasoning, content) == (found["reasoning"], found["content"])

    @pytest.mark.parametrize(("version", "ends"), [(13, False), (17, True), (23, True)])
    def test_a_tool_call_ends_reasoning_that_nobody_closed(self, version: int, ends: bool) -> None:
        found = joined(list(parser("qwen3", version=version).whole("<think>hmm <tool_call>x")))
        assert ends == ("content" in found)

    @pytest.mark.parametrize(("version", "pieces"), [(17, ["hmm</th", "ink>yes"]), (18, ["hmm"])])
    def test_half_a_marker_waits_since(self, version: int, pieces: list[str]) -> None:
        machine = parser("deepseek-r1", version=version)
        parts = [part for cut in ("hmm</th", "ink>yes") for part in machine.push(cut, finished=False, aborted=False)]
        assert pieces == [part.text for part in parts if part.kind == "reasoning"]

    def test_reasoning_may_be_told_in_one_piece(self) -> None:
        choice = ParserChoice(Traits.of((0, 5, 23)), "qwen3", stream_reasoning=False)
        parts = pushed(AnswerParser(choice), THOUGHT, [*range(0, len(THOUGHT), 2)])
        assert ["hmm, well"] == [part.text for part in parts if part.kind == "reasoning"]

    def test_reasoning_alone_becomes_content_when_asked(self) -> None:
        machine = parser("qwen3", force_nonempty_content=True)
        assert {"content": "all thought"} == joined(list(machine.whole("<think>all thought")))

    def test_a_continued_answer_goes_on_where_the_message_was(self) -> None:
        choice = ParserChoice(Traits.of((0, 5, 23)), "qwen3", continued="<think>so</think> It")
        assert {"content": " rains."} == joined(list(AnswerParser(choice).whole(" rains.")))

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

    @pytest.mark.parametrize(("version", "content"), [(13, "the call"), (17, "Let me see."), (23, "Let me see.")])
    def test_a_tool_that_was_not_offered_is_no_call(self, version: int, content: str) -> None:
        text = QWEN.replace("weather", "climate")
        wanted = text if content == "the call" else content
        assert {"content": wanted} == joined(list(parser(tools="qwen25", version=version).whole(text)))

    @pytest.mark.parametrize(("version", "index"), [(6, -1), (9, 1), (20, 1), (23, 0)])
    def test_the_index_of_a_call_in_whole_answers(self, version: int, index: int) -> None:
        parts = parser(tools="qwen25", version=version).whole(QWEN)
        assert [index] == [part.tool_index for part in parts if part.kind == "tool"]

    @pytest.mark.parametrize(("version", "found"), [(9, {}), (12, {"name": "weather", "tool": "{}"})])
    def test_streams_without_arguments(self, version: int, found: dict[str, str]) -> None:
        text = '<tool_call>\n{"name": "weather", "arguments": {}}\n</tool_call>'
        streamed = joined(pushed(parser(tools="qwen25", version=version), text, [*range(0, len(text), 3)]))
        assert found.get("tool", "") == streamed.get("tool", "")

    @pytest.mark.parametrize(("version", "spelled"), [(6, '{"city": "Z\\u00fcrich"}'), (9, '{"city": "Zürich"}')])
    def test_arguments_of_streams_are_spelled(self, version: int, spelled: str) -> None:
        text = '<tool_call>\n{"name": "weather", "arguments": {"city": "Zürich"}}\n</tool_call>'
        found = joined(pushed(parser(tools="qwen25", version=version), text, [*range(0, len(text), 4)]))
        assert spelled == found["tool"]

    def test_compact_calls_of_mistral(self) -> None:
        text = '[TOOL_CALLS]weather[ARGS]{"days": 3}[TOOL_CALLS]clock[ARGS]{}'
        parts = parser(tools="mistral").whole(text)
        assert [("weather", '{"days": 3}'), ("clock", "{}")] == [(part.name, part.text) for part in parts]

    def test_python_dicts_of_llama(self) -> None:
        parts = parser(tools="llama3").whole("<|python_tag|>{'name': 'weather', 'parameters': {'days': 3}}")
        assert [("weather", '{"days": 3}')] == [(part.name, part.text) for part in parts]


class TestForcedCalls:
    ARRAY = '[{"name": "weather", "parameters": {"days": 3}}, {"name": "clock", "parameters": {}}]'

    @pytest.mark.parametrize(
        ("version", "text", "calls"),
        [
            (9, ARRAY, 2),
            (9, QWEN, 0),
            (12, ARRAY, 2),
            (12, QWEN, 1),
            (17, ARRAY, 2),
            (20, ARRAY, 0),
            (23, ARRAY, 0),
            (23, QWEN, 1),
        ],
    )
    def test_what_a_version_reads(self, version: int, text: str, calls: int) -> None:
        parts = parser(tools="qwen25", version=version, forced=True).whole(text)
        assert calls == sum(part.kind == "tool" for part in parts)

    def test_a_streamed_array(self) -> None:
        cuts = [*range(0, len(self.ARRAY), 3)]
        parts = pushed(parser(tools="qwen25", version=9, forced=True), self.ARRAY, cuts)
        assert [(0, "weather"), (1, "clock")] == [(part.tool_index, part.name) for part in parts if part.name]
        assert '{"days": 3}' == "".join(part.text for part in parts if part.tool_index == 0)

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


class TestThinking:
    """What a request's effort means for where the answer begins."""

    @pytest.mark.parametrize(
        ("version", "asked", "kind"),
        [
            ("0.5.9", {"reasoning_effort": "low"}, "reasoning_content"),
            ("0.5.12", {"reasoning_effort": "none"}, "content"),
            (NEWEST, {"reasoning_effort": "none"}, "content"),
            (NEWEST, {"reasoning": {"effort": "none"}}, "content"),
            (NEWEST, {"reasoning_effort": 0.3}, "reasoning_content"),
            (
                NEWEST,
                {"reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": True}},
                "reasoning_content",
            ),
        ],
    )
    def test_effort_and_variables(self, version: str, asked: dict[str, Any], kind: str) -> None:
        playing = server(version, "--reasoning-parser", "qwen3", says=spoken("plain words"))
        message = told(playing, chat(**asked))["choices"][0]["message"]
        assert "plain words" == message[kind]

    def test_the_servers_variables_are_defaults(self) -> None:
        options = ("--reasoning-parser", "qwen3", "--default-chat-template-kwargs", '{"enable_thinking": false}')
        playing = server(NEWEST, *options, says=spoken("plain words"))
        assert "plain words" == told(playing, chat())["choices"][0]["message"]["content"]
        asked = chat(chat_template_kwargs={"enable_thinking": True})
        assert "plain words" == told(playing, asked)["choices"][0]["message"]["reasoning_content"]

    @pytest.mark.parametrize(
        ("version", "effort", "words"),
        [
            ("0.5.9", "none", "'low', 'medium' or 'high'"),
            ("0.5.12", "xhigh", "'high' or 'max'"),
            (NEWEST, 1.5, "less than or equal to 0.99"),
            (NEWEST, "some", "unable to parse string as a number"),
        ],
    )
    def test_efforts_that_a_version_does_not_know(self, version: str, effort: Any, words: str) -> None:
        assert words in told(server(version), chat(reasoning_effort=effort), status=400)["message"]


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
