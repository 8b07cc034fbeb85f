"""Tool parsers: calls in the model's text become tool_calls, whole and in streams, by version, parser and choice."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from fakellm.generation import Choice
from support.stages import chat, spoken
from support.vllm import (
    ADD,
    CODER,
    HERMES,
    NEWEST,
    R1,
    VERSIONS,
    calls_of,
    deltas,
    events,
    in_steps,
    joined,
    message,
    server,
    told,
)

CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
SUB = '<tool_call>\n{"name": "sub", "arguments": {"s": "}<"}}\n</tool_call>'
PARAMETERS = '<parameter=a>\n2\n</parameter>\n<parameter=s>\nx "y"\n</parameter>'
CODED = f"<tool_call>\n<function=add>\n{PARAMETERS}\n</function>\n</tool_call>"
ADDED, SUBBED = ("add", '{"a": 1}'), ("sub", '{"s": "}<"}')
WROTE = ("add", '{"a": 2, "s": "x \\"y\\""}')
NAMED = {"type": "function", "function": {"name": "add"}}
GRAMMAR = VERSIONS[4:]


def whole(version: str, options: tuple[str, ...], says: Choice | str, **body: Any) -> tuple[Any, Any]:
    """(content, calls) of a whole answer."""
    said = message(server(version, *options, says=says), chat(**{"tools": [ADD], **body}))
    return said["content"], calls_of(said)


def stream(version: str, options: tuple[str, ...], says: Choice | str, **body: Any) -> tuple[Any, Any]:
    """(content, calls) that a stream adds up to."""
    found = deltas(server(version, *options, says=says), chat(stream=True, **{"tools": [ADD], **body}))
    return joined(found)[1:]


@pytest.mark.parametrize("version", VERSIONS)
class TestHermesWhole:
    def test_a_call_alone(self, version: str) -> None:
        assert (None, [ADDED]) == whole(version, HERMES, CALL)

    def test_text_before_stays_text_behind_is_lost(self, version: str) -> None:
        assert ("Sure. ", [ADDED]) == whole(version, HERMES, f"Sure. {CALL}Done.")

    def test_several_calls(self, version: str) -> None:
        assert (None, [ADDED, SUBBED]) == whole(version, HERMES, CALL + SUB)

    def test_an_unclosed_call_is_a_call(self, version: str) -> None:
        says = '<tool_call>{"name": "add", "arguments": {"a": 1}}'
        assert (None, [ADDED]) == whole(version, HERMES, spoken(says, end=False))

    @pytest.mark.parametrize("broken", ["<tool_call>{oops}</tool_call>", '<tool_call>{"name": "add", "argu'])
    def test_broken_json_is_text(self, version: str, broken: str) -> None:
        assert (broken, []) == whole(version, HERMES, broken)

    def test_no_arguments(self, version: str) -> None:
        says = '<tool_call>{"name": "add", "arguments": {}}</tool_call>'
        assert (None, [("add", "{}")]) == whole(version, HERMES, says)

    def test_no_tools_given_no_calls(self, version: str) -> None:
        assert (CALL, []) == whole(version, HERMES, CALL, tools=None)

    def test_choice_none_leaves_the_text(self, version: str) -> None:
        assert (CALL, []) == whole(version, HERMES, CALL, tool_choice="none")

    def test_without_the_launch_option_calls_are_text(self, version: str) -> None:
        assert (CALL, []) == whole(version, ("--tool-call-parser", "hermes"), CALL, tool_choice="none")

    def test_a_call_finishes_the_choice(self, version: str) -> None:
        choice = told(server(version, *HERMES, says=CALL), chat(tools=[ADD]))["choices"][0]
        assert "tool_calls" == choice["finish_reason"]


class TestHermesStreams:
    @pytest.mark.parametrize("version", VERSIONS[3:])
    @pytest.mark.parametrize("length", [1, 2, 5, 100])
    def test_add_up_to_the_whole_from_0_20_2(self, version: str, length: int) -> None:
        assert ("Sure. ", [ADDED, SUBBED]) == stream(version, HERMES, in_steps(f"Sure. {CALL}{SUB}", length))

    @pytest.mark.parametrize("version", VERSIONS[:3])
    def test_a_call_within_one_step_is_lost_up_to_0_16(self, version: str) -> None:
        assert ("", []) == stream(version, HERMES, in_steps(CALL, 100))

    @pytest.mark.parametrize(("version", "arguments"), [("0.10.2", '{"a": '), ("0.12.0", '{"a": 1}\n')])
    def test_the_end_of_arguments_up_to_0_16(self, version: str, arguments: str) -> None:
        assert ("", [("add", arguments)]) == stream(version, HERMES, CALL)

    @pytest.mark.parametrize("version", VERSIONS[1:])
    def test_an_unfinished_call_has_a_name_alone(self, version: str) -> None:
        says = spoken('<tool_call>\n{"name": "add", "arg', end=False)
        assert ("", [("add", "")]) == stream(version, HERMES, says)

    @pytest.mark.parametrize("version", VERSIONS[3:])
    def test_what_may_become_a_mark_waits_and_is_lost_at_the_end(self, version: str) -> None:
        found = deltas(server(version, *HERMES, says="a <b> <tool_"), chat(stream=True, tools=[ADD]))
        assert ["", "a", " ", "<b", ">", " ", None] == [delta.get("content") for delta in found]

    @pytest.mark.parametrize("version", GRAMMAR)
    def test_the_grammar_gives_it_back(self, version: str) -> None:
        assert ("a <b> <tool_", []) == stream(version, CODER, "a <b> <tool_")

    @pytest.mark.parametrize("version", VERSIONS)
    def test_the_name_comes_first_and_once(self, version: str) -> None:
        found = deltas(server(version, *HERMES, says=CALL), chat(stream=True, tools=[ADD]))
        calls = [call for delta in found for call in delta.get("tool_calls") or ()]
        assert "add" == calls[0]["function"]["name"]
        assert calls[0]["id"]
        assert [None] * (len(calls) - 1) == [call["function"].get("name") for call in calls[1:]]

    @pytest.mark.parametrize("version", VERSIONS)
    def test_the_last_chunk_says_that_there_were_calls(self, version: str) -> None:
        found = events(server(version, *HERMES, says=CALL), chat(stream=True, tools=[ADD]))
        assert "tool_calls" == found[-1]["choices"][0]["finish_reason"]

    @pytest.mark.parametrize("version", VERSIONS[4:])
    def test_choice_none_is_content(self, version: str) -> None:
        assert (CALL, []) == stream(version, HERMES, CALL, tool_choice="none")

    def test_0_20_2_parses_although_the_choice_is_none(self) -> None:
        assert ("", [ADDED]) == stream("0.20.2", HERMES, CALL, tool_choice="none")


class TestCoder:
    @pytest.mark.parametrize("version", GRAMMAR)
    @pytest.mark.parametrize("length", [1, 2, 3, 7, 100])
    def test_streams_add_up_to_the_whole(self, version: str, length: int) -> None:
        says = in_steps(CODED + CODED, length)
        assert (None, [WROTE, WROTE]) == whole(version, CODER, says)
        assert ("", [WROTE, WROTE]) == stream(version, CODER, says)

    @pytest.mark.parametrize("version", GRAMMAR)
    def test_values_become_what_the_schema_says(self, version: str) -> None:
        says = "<tool_call><function=add><parameter=a>7</parameter><parameter=s>7</parameter></function></tool_call>"
        (_, arguments), *_ = whole(version, CODER, says)[1]
        assert {"a": 7, "s": "7"} == json.loads(arguments)

    @pytest.mark.parametrize("version", GRAMMAR)
    def test_no_arguments(self, version: str) -> None:
        says = "<tool_call>\n<function=add>\n</function>\n</tool_call>"
        assert (None, [("add", "{}")]) == whole(version, CODER, says)
        assert ("", [("add", "{}")]) == stream(version, CODER, says)

    @pytest.mark.parametrize(("version", "value"), [("0.24.0", "x"), ("0.28.0", " x ")])
    def test_blanks_around_values(self, version: str, value: str) -> None:
        says = "<tool_call><function=add><parameter=s>\n x \n</parameter></function></tool_call>"
        assert [("add", json.dumps({"s": value}))] == whole(version, CODER, says)[1]

    @pytest.mark.parametrize("version", GRAMMAR)
    def test_a_call_that_was_cut_has_what_is_complete(self, version: str) -> None:
        says = spoken("<tool_call>\n<function=add>\n<parameter=a>\n2\n</parameter>\n<par", end=False)
        assert (None, [("add", '{"a": 2}')]) == whole(version, CODER, says)
        assert ("", [("add", '{"a": 2}')]) == stream(version, CODER, says)

    @pytest.mark.parametrize("version", GRAMMAR)
    def test_text_behind_a_call_is_streamed_but_not_in_whole_answers(self, version: str) -> None:
        assert (None, [WROTE]) == whole(version, CODER, CODED + "Done")
        assert ("Done", [WROTE]) == stream(version, CODER, CODED + "Done")

    @pytest.mark.parametrize(("version", "content"), [("0.24.0", CODED), ("0.28.0", None), (NEWEST, None)])
    def test_choice_none_leaves_calls_out_from_0_28(self, version: str, content: str | None) -> None:
        assert (content, []) == whole(version, CODER, CODED, tool_choice="none")
        assert (content or "", []) == stream(version, CODER, CODED, tool_choice="none")


class TestOldCoder:
    """qwen3_coder up to 0.20.2, a parser of its own."""

    @pytest.mark.parametrize("version", VERSIONS[:4])
    def test_token_by_token_the_stream_adds_up(self, version: str) -> None:
        says = f"Ok {CODED}{CODED}"
        assert ("Ok ", [WROTE, WROTE]) == whole(version, CODER, says) == stream(version, CODER, says)

    @pytest.mark.parametrize(
        ("version", "calls"),
        [
            ("0.10.2", [("add", '"a": 2}'), ("add", '"a": 2, "s": "x \\"y\\""}')]),
            ("0.16.0", [("add", '"a": 2}'), ("add", '"a": 2, "s": "x \\"y\\""}')]),
            ("0.20.2", [WROTE, WROTE]),
        ],
    )
    def test_larger_steps_lose_braces_and_parameters_up_to_0_16(self, version: str, calls: Any) -> None:
        assert ("Ok ", calls) == stream(version, CODER, in_steps(f"Ok {CODED}{CODED}", 5))

    @pytest.mark.parametrize("version", VERSIONS[:4])
    def test_a_whole_call_in_one_step_is_lost(self, version: str) -> None:
        assert ("", []) == stream(version, CODER, in_steps(CODED, 100))

    @pytest.mark.parametrize("version", VERSIONS[:4])
    def test_a_call_that_was_cut(self, version: str) -> None:
        says = spoken("<tool_call>\n<function=add>\n<parameter=a>\n2\n</parameter>\n<par", end=False)
        assert [("add", '{"a": 2}')] == whole(version, CODER, says)[1]
        assert [("add", '{"a": 2')] == stream(version, CODER, says)[1]

    @pytest.mark.parametrize(("version", "calls"), [("0.16.0", []), ("0.20.2", [("add", "{}")])])
    def test_one_call_without_a_name_spoils_all_up_to_0_16(self, version: str, calls: Any) -> None:
        says = "<tool_call><function=add></function></tool_call><tool_call><function=x</function></tool_call>"
        assert calls == whole(version, CODER, says)[1]

    @pytest.mark.parametrize("version", VERSIONS[:4])
    @pytest.mark.parametrize(
        ("kind", "text", "value"),
        [
            ("integer", "7", 7),
            ("integer", "seven", "seven"),
            ("number", "2.0", 2),
            ("number", "2.5", 2.5),
            ("boolean", "TRUE", True),
            ("boolean", "yes", False),
            ("object", "{'x': 1}", {"x": 1}),
            ("array", "[1, 2", "[1, 2"),
            ("string", "null", None),
            ("string", "7", "7"),
            (["integer", "null"], "7", 7),
        ],
    )
    def test_values_become_what_the_schema_says(self, version: str, kind: Any, text: str, value: Any) -> None:
        properties = {"v": {"type": kind}}
        tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": properties}}}
        says = f"<tool_call><function=f><parameter=v>\n{text}\n</parameter></function></tool_call>"
        expected = [("f", json.dumps({"v": value}))]
        assert expected == whole(version, CODER, says, tools=[tool])[1]
        assert expected == stream(version, CODER, says, tools=[tool])[1]

    @pytest.mark.parametrize("version", VERSIONS[:4])
    def test_streamed_calls_have_ids_of_the_parsers_own(self, version: str) -> None:
        found = deltas(server(version, *CODER, says=CODED), chat(stream=True, tools=[ADD]))
        ids = [call["id"] for delta in found for call in delta.get("tool_calls") or () if call.get("id")]
        assert [True] == [re.fullmatch("call_[0-9a-f]{24}", call_id) is not None for call_id in ids]


class TestForced:
    @pytest.mark.parametrize("version", VERSIONS[:4])
    def test_a_named_function_is_called_with_the_text_up_to_0_20_2(self, version: str) -> None:
        assert ("", [ADDED]) == whole(version, HERMES, '{"a": 1}', tool_choice=NAMED)
        assert ("", [ADDED]) == stream(version, HERMES, '{"a": 1}', tool_choice=NAMED)

    @pytest.mark.parametrize("version", VERSIONS[:4])
    def test_required_reads_a_list_up_to_0_20_2(self, version: str) -> None:
        says = '[{"name": "add", "parameters": {"a": 1}}, {"name": "sub", "parameters": {"s": "q"}}]'
        expected = ("", [ADDED, ("sub", '{"s": "q"}')])
        assert expected == whole(version, HERMES, says, tool_choice="required")
        if version != "0.10.2":
            assert expected == stream(version, HERMES, says, tool_choice="required")

    def test_a_required_stream_without_reasoning_parser_reads_its_text_twice_and_breaks_in_0_10_2(self) -> None:
        says = in_steps('[{"name": "add", "parameters": {"a": 1}}]', 1)

        last = events(server("0.10.2", *HERMES, says=says), chat(stream=True, tools=[ADD], tool_choice="required"))[-1]

        assert ("BadRequestError", 400) == (last["error"]["type"], last["error"]["code"])
        assert "line 1 column" in last["error"]["message"]

    def test_a_required_stream_with_one_shows_the_calls_and_no_reasoning_in_0_10_2(self) -> None:
        says = '<think>hm</think>[{"name": "add", "parameters": {"a": 1}}]'

        assert ("", [ADDED]) == stream("0.10.2", (*R1, *HERMES), says, tool_choice="required")

    def test_qwen3_coder_breaks_a_stream_that_ends_in_a_call_up_to_0_16(self) -> None:
        says = in_steps("<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>", 4)
        ask = chat(stream=True, tools=[ADD])

        told_by = [events(server(version, *CODER, says=says), ask)[-1] for version in ("0.16.0", "0.20.2")]

        assert "list index out of range" == told_by[0]["error"]["message"]
        assert "error" not in told_by[1]

    def test_required_without_a_list_is_nothing_in_0_20_2(self) -> None:
        assert ("", []) == whole("0.20.2", HERMES, CALL, tool_choice="required")

    @pytest.mark.parametrize("version", VERSIONS[:3])
    @pytest.mark.parametrize(
        "says, place",
        [
            (
                "[1",
                "\n  Invalid JSON: EOF while parsing a list at line 1 column 2 [type=json_invalid, input_value='[1'",
            ),
            ('[{"parameters": {}}]', "\n0.name\n  Field required [type=missing, input_value={'parameters': {}}"),
        ],
    )
    def test_required_without_a_list_of_calls_is_refused_up_to_0_16(self, version: str, says: str, place: str) -> None:
        refused = told(server(version, *HERMES, says=says), chat(tools=[ADD], tool_choice="required"), 400)

        head = "1 validation error for list[function-wrap[__log_extra_fields__()]]"
        assert refused["error"]["message"].startswith(head + place)
        assert "BadRequestError" == refused["error"]["type"]

    @pytest.mark.parametrize(
        "version, status, kind", [("0.12.0", 500, "Internal Server Error"), ("0.16.0", 200, "InternalServerError")]
    )
    def test_required_with_an_empty_list_is_too_much_for_0_12_and_0_16(
        self, version: str, status: int, kind: str
    ) -> None:
        failed = told(server(version, *HERMES, says="[]"), chat(tools=[ADD], tool_choice="required"), status)

        assert {"message": "", "type": kind, "param": None, "code": 500} == failed["error"]

    @pytest.mark.parametrize(
        "version, status", [("0.10.2", 400), ("0.12.0", 500), ("0.16.0", 200), ("0.20.2", 500), ("0.24.0", 200)]
    )
    def test_a_named_function_needs_content_up_to_0_20_2(self, version: str, status: int) -> None:
        answered = told(
            server(version, *R1, *HERMES, says="all of it thought"), chat(tools=[ADD], tool_choice=NAMED), status
        )

        assert ("error" in answered) == (version != "0.24.0")

    @pytest.mark.parametrize("version", VERSIONS[4:])
    @pytest.mark.parametrize("length", [1, 3])
    def test_they_are_json_where_the_engine_is_not_bound_to_the_parsers_format(self, version: str, length: int) -> None:
        playing = server(
            version,
            *HERMES,
            says=in_steps('[{"name": "add", "parameters": {"a": 1}}]', length),
            env={"VLLM_ENFORCE_STRICT_TOOL_CALLING": "0"},
        )
        assert [ADDED] == calls_of(message(playing, chat(tools=[ADD], tool_choice="required")))
        assert [ADDED] == joined(deltas(playing, chat(stream=True, tools=[ADD], tool_choice="required")))[2]

    @pytest.mark.parametrize("version", VERSIONS[4:])
    @pytest.mark.parametrize("choice", ["required", NAMED])
    def test_the_tool_parser_reads_them_from_0_24(self, version: str, choice: Any) -> None:
        assert ("", [ADDED]) == whole(version, HERMES, CALL, tool_choice=choice)
        assert ("", [ADDED]) == stream(version, HERMES, CALL, tool_choice=choice)


class TestTogether:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_reasoning_then_text_then_a_call(self, version: str) -> None:
        playing = server(version, *R1, *HERMES, says=f"<think>hm</think>Sure. {CALL}")
        said = message(playing, chat(tools=[ADD]))
        assert ("Sure. ", [ADDED]) == (said["content"], calls_of(said))
        assert "hm" in said.values()

    def test_0_20_2_loses_the_reasoning_of_a_step_that_begins_a_call(self) -> None:
        playing = server("0.20.2", *R1, *HERMES, says=in_steps(f"<think>hm</think>{CALL}", 100))
        assert ("", "", [ADDED]) == joined(deltas(playing, chat(stream=True, tools=[ADD])))

    @pytest.mark.parametrize("version", VERSIONS[4:])
    @pytest.mark.parametrize("length", [1, 100])
    def test_streams(self, version: str, length: int) -> None:
        playing = server(version, *R1, *HERMES, says=in_steps(f"<think>hm</think>Sure. {CALL}", length))
        assert ("hm", "Sure. ", [ADDED]) == joined(deltas(playing, chat(stream=True, tools=[ADD])))

    @pytest.mark.parametrize("version", VERSIONS)
    def test_calls_in_the_reasoning_are_thought(self, version: str) -> None:
        playing = server(version, *R1, *HERMES, says=f"<think>{CALL}</think>ok")
        said = message(playing, chat(tools=[ADD]))
        assert ("ok", []) == (said["content"], calls_of(said))


class TestOneCall:
    @pytest.mark.parametrize(("version", "number"), [("0.10.2", 2), ("0.12.0", 1), (NEWEST, 1)])
    def test_parallel_tool_calls_false_from_0_12(self, version: str, number: int) -> None:
        calls = whole(version, HERMES, CALL + SUB, parallel_tool_calls=False)[1]
        assert [ADDED, SUBBED][:number] == calls


class TestUnknownNames:
    def test_stand_ins_are_told(self) -> None:
        playing = server(
            NEWEST, "--reasoning-parser", "granite", "--enable-auto-tool-choice", "--tool-call-parser", "xlam"
        )
        notes = " ".join(playing.station.notes)  # pyright: ignore[reportAttributeAccessIssue]
        assert "granite: not known here" in notes
        assert "xlam: not known here" in notes
