"""Scenario files: what they mean, and how the wrong ones are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fakellm.errors import FaultError, ScenarioError
from fakellm.generation import EngineFailure
from fakellm.scenario.load import (
    check_name,
    default_of,
    examine,
    files_of,
    from_data,
    from_text,
    load_file,
    load_set,
    reply_from_data,
)
from fakellm.scenario.model import ChoiceOptions, SayAuto, SayChoices, SayStructure, SayText, SayTokens, Score, ToolCall
from fakellm.timing import Dribble, LogNormal
from support.examples import FUZZED

DESIGN = """
title: A greeting whose last score comes late
why: the score of the end token arrives after the last text
server: {layout: vllm-0.32.0, model: tiny, max-model-len: 4096, reasoning-parser: qwen3}
replies:
  - when: {api: chat, last_message: {contains: hello}}
    say: "Hello, world!"
    faults: [late-eos-score]
    times: 1
  - when: {model: tiny}
    say: {tokens: [" H", AV, ING], finish_reason: stop}
    faults: [{ids-nested-under-choice: {prompt: true, completion: true}}]
    timing: {first_token_ms: 50, between_ms: 20}
  - say: {reasoning: "Let me see.", content: "Four.", tool_calls: [{name: add, arguments: {a: 2, b: 2}}]}
    extras: {routed_experts: [[1, 2]]}
"""


def reply(**keys: Any) -> Any:
    return reply_from_data(keys)


def wrong(text: str, *, read_fault: Any = None) -> ScenarioError:
    with pytest.raises(ScenarioError) as caught:
        from_text(text, "x", read_fault=read_fault)
    return caught.value


class TestMeaning:
    def test_the_example_of_the_design_loads(self) -> None:
        scenario = from_text(DESIGN, "greeting")

        assert "greeting" == scenario.name
        assert [SayText, SayTokens, SayStructure] == [type(each.say) for each in scenario.replies]
        assert 1 == scenario.replies[0].limit
        assert ["late-eos-score"] == [use.to_entry() for use in scenario.replies[0].faults]
        assert (" H", "AV", "ING") == scenario.replies[1].say.tokens  # type: ignore[union-attr]
        assert [{"ids-nested-under-choice": {"prompt": True, "completion": True}}] == [
            use.to_entry() for use in scenario.replies[1].faults
        ]
        assert (ToolCall("add", {"a": 2, "b": 2}),) == scenario.replies[2].say.tool_calls  # type: ignore[union-attr]
        assert {"routed_experts": [[1, 2]]} == scenario.replies[2].extras

    def test_options_of_the_vendor_become_its_command_line(self) -> None:
        server = from_data(
            {
                "server": {
                    "layout": "vllm",
                    "model": "tiny",
                    "max-model-len": 4096,
                    "enable-auto-tool-choice": True,
                    "enforce-eager": False,
                    "lora-modules": ["a=b", "c=d"],
                    "default-chat-template-kwargs": {"enable_thinking": False},
                    "env": {"VLLM_X": "1"},
                },
                "replies": [{"say": "x"}],
            },
            "x",
        ).server

        assert ("vllm", "tiny", {"VLLM_X": "1"}) == (server.layout, server.model, server.env)
        assert (
            *("--max-model-len", "4096", "--enable-auto-tool-choice", "--lora-modules", "a=b", "c=d"),
            *("--default-chat-template-kwargs", '{"enable_thinking": false}'),
        ) == server.options

    def test_choice_options_of_a_reply_hold_where_say_does_not_speak(self) -> None:
        say = reply(say={"choices": ["a", {"text": "b", "finish_reason": "stop"}]}, finish_reason="length", steps=2).say

        assert isinstance(say, SayChoices)
        assert [ChoiceOptions("length", steps=2), ChoiceOptions("stop", steps=2)] == [
            one.options for one in say.choices
        ]

    @pytest.mark.parametrize(
        ("keys", "options"),
        [
            ({}, ChoiceOptions()),
            ({"error_at": 2}, ChoiceOptions("error", finish_at=2, failure=EngineFailure("engine failure", 500))),
            ({"abort_at": 0}, ChoiceOptions("abort", finish_at=0)),
            ({"error": {"message": "boom", "code": 400}}, ChoiceOptions("error", failure=EngineFailure("boom", 400))),
            ({"finish_reason": None}, ChoiceOptions(None)),
            ({"stop_reason": "END", "eos": False}, ChoiceOptions(stop_reason="END", eos=False)),
            (
                {"logprobs": [-1, "-inf", None, {"logprob": -2, "rank": 3, "top": [{"token": "a", "logprob": -0.5}]}]},
                ChoiceOptions(scores=(Score(-1.0), Score(float("-inf")), Score(None), Score(-2.0, 3, (("a", -0.5),)))),
            ),
        ],
    )
    def test_what_the_engine_does(self, keys: dict[str, Any], options: ChoiceOptions) -> None:
        assert options == reply(say={"text": "x", **keys}).say.options

    def test_timing_is_read_in_milliseconds(self) -> None:
        timing = reply(
            say="x",
            timing={
                "first_token_ms": {"lognormal": {"median": 200, "sigma": 0.5}},
                "between_ms": 20,
                "dribble": {"bytes": 7, "every_ms": 2},
            },
        ).timing

        assert (LogNormal(200.0, 0.5), 20.0, Dribble(7, 2.0)) == (
            timing.first_token_ms,
            timing.between_ms,
            timing.dribble,
        )

    def test_a_row_plays_once_unless_times_says_more(self) -> None:
        assert 3 == reply(say="a", then=[{"say": "b"}, {"say": "c"}]).limit
        assert 6 == reply(say="a", then=[{"say": "b"}, {"say": "c"}], times=2).limit
        assert reply(say="a").limit is None

    def test_auto_text_is_read(self) -> None:
        assert SayAuto(50, from_request=True) == reply(say={"auto": {"tokens": 50, "from_request": True}}).say

    def test_faults_are_read_by_the_function_given(self) -> None:
        seen: list[Any] = []

        def read_fault(entry: Any, where: str) -> str:
            seen.append((entry, where))
            return "parsed"

        scenario = from_text("replies:\n- say: x\n  faults: [a, {b: {at: 1}}]\n", "x", read_fault=read_fault)

        assert [
            ("a", "x.yaml:3, field replies[0].faults[0]"),
            ({"b": {"at": 1}}, "x.yaml:3, field replies[0].faults[1]"),
        ] == seen
        assert ["parsed", "parsed"] == [use.call for use in scenario.replies[0].faults]


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "where", "message", "hint"),
        [
            ("replys: []", "x.yaml:1, field replys", "there is no key 'replys' here", "did you mean 'replies'?"),
            ("title: x", "x.yaml:1, field replies", "the key 'replies' is missing", None),
            ("- a", "x.yaml:1", "this must be a mapping (key: value), not a list", None),
            (
                "replies: []",
                "x.yaml:1, field replies",
                "list should have at least 1 item after validation, not 0",
                None,
            ),
            (
                "replies:\n- say: x\n  when:\n    last_message: {contain: y}",
                "x.yaml:4, field replies[0].when.last_message.contain",
                "there is no key 'contain' here",
                "did you mean 'contains'?",
            ),
            (
                "replies:\n- say: {tokens: [1, true]}",
                "x.yaml:2, field replies[0].say.tokens[1]",
                "a token is an id (a whole number) or a piece (text), not true",
                'quote it: "true"',
            ),
            (
                "replies:\n- say: {text: 7}",
                "x.yaml:2, field replies[0].say.text",
                "this must be text, not 7",
                'quote it: "7"',
            ),
            (
                "replies:\n- say: x\n  when: {stream: yes}",
                "x.yaml:3, field replies[0].when.stream",
                "this must be true or false, not 'yes'",
                "only true and false are booleans",
            ),
            (
                "replies:\n- say: x\n  times: '2'",
                "x.yaml:3, field replies[0].times",
                "this must be a whole number, not '2'",
                "take the quotes away",
            ),
            (
                "replies:\n- say: {text: x, finish_reason: stpo}",
                "x.yaml:2, field replies[0].say.finish_reason",
                "'stpo' is not one of 'stop', 'length', 'abort' or 'error'",
                "did you mean 'stop'?",
            ),
            (
                "replies:\n- say: x\n  when: {last_message: {regex: '('}}",
                "x.yaml:3, field replies[0].when.last_message.regex",
                "this is not a regex: missing ), unterminated subpattern at position 0",
                None,
            ),
            (
                "replies:\n- say: {text: x, error_at: 1, abort_at: 2}",
                "x.yaml:2, field replies[0].say",
                "error_at and abort_at cannot stand together",
                "keep one of them",
            ),
            (
                "replies:\n- say: x\nserver: {max-model-len: }",
                "x.yaml:3, field server.max-model-len",
                "the option max-model-len has no value",
                "write true to switch it on",
            ),
        ],
    )
    def test_an_error_names_line_field_and_cure(self, text: str, where: str, message: str, hint: str | None) -> None:
        error = wrong(text)

        assert (where, message, hint) == (error.where, error.message, error.hint)

    @pytest.mark.parametrize(
        ("say", "words"),
        [
            ("7", "one of text, tokens, content"),
            ("{foo: 1}", "one of text, tokens, content"),
            ("{}", "one of text, tokens, content"),
            ("{text: x, tokens: [1]}", "there is no key 'text' here"),
            ("{text: x, logprobs: [0.5]}", "a logprob is a number not above 0"),
            ("{text: x, logprobs: [.nan]}", "a logprob is a number not above 0"),
            ("{text: x, logprobs: recorded}", "only a reply that says {from: ...} has recorded scores"),
            ("{text: x, steps: 0}", "greater than or equal to 1"),
            ("{auto: {tokens: 0}}", "greater than or equal to 1"),
            ("{text: x, error_at: 1, finish_reason: stop}", "with error_at the finish_reason is error"),
            ("{choices: [{from: a.json}]}", "one of text, tokens, content"),
            ("{from: a.json}", "`from` needs a scenario that stands in a file"),
        ],
    )
    def test_what_cannot_be_said_is_refused(self, say: str, words: str) -> None:
        assert words in wrong(f"replies:\n- say: {say}").message

    @pytest.mark.parametrize(
        ("when", "words"),
        [
            ("{json: {a: {is: 1}}}", "exactly one of equals, contains, regex and present"),
            ("{json: {a: {present: 1}}}", "present is true or false"),
            ("{json: {a: {contains: 1}}}", "contains needs text"),
            ("{last_message: {contains: a, regex: b}}", "exactly one of equals, contains and regex"),
            ("{turn: 0}", "greater than or equal to 1"),
            ("{api: []}", "at least 1 item"),
            ("{headers: {x: {matches: y}}}", "there is no key 'matches' here"),
        ],
    )
    def test_rules_that_are_no_rules_are_refused(self, when: str, words: str) -> None:
        assert words in wrong(f"replies:\n- say: x\n  when: {when}").message

    def test_the_first_prompt_token_has_no_score(self) -> None:
        assert "first prompt token" in wrong("replies:\n- say: x\n  prompt_logprobs: [-1, -2]").message

    def test_one_error_says_how_many_more_there_are(self) -> None:
        error = wrong("replies:\n- sya: x\n- sya: y\n- say: 1\n")

        assert "(and 2 more; `fakellm validate` lists them)" in error.message

    def test_a_fault_that_does_not_exist_is_told_with_its_place(self) -> None:
        def read_fault(entry: Any, where: str) -> None:
            raise FaultError(f"there is no fault {entry!r}", hint="did you mean 'late-eos-score'?")

        error = wrong("replies:\n- say: x\n  faults: [late-eos]", read_fault=read_fault)

        assert "x.yaml:3, field replies[0].faults[0]: there is no fault 'late-eos'\n  hint: did you mean" in str(error)


class TestFiles:
    def test_the_stem_is_the_name(self, tmp_path: Path) -> None:
        (tmp_path / "my-story.yaml").write_text("replies: [{say: x}]")

        scenario = load_file(tmp_path / "my-story.yaml")

        assert ("my-story", str(tmp_path / "my-story.yaml"), tmp_path) == (
            scenario.name,
            scenario.file,
            scenario.folder,
        )

    @pytest.mark.parametrize("name", ["My-Story", "my_story", "my--story", "-a", "a-", "", "ä", "a b", "../a"])
    def test_names_are_kebab_case(self, name: str) -> None:
        with pytest.raises(ScenarioError, match="kebab-case"):
            check_name(name, "x")

    @pytest.mark.parametrize(
        ("content", "words"),
        [(b"", "the file is empty"), (b"\xff\xfe", "the file is not UTF-8"), (b"a: [", "not YAML"), (b"{}", "missing")],
    )
    def test_a_file_that_cannot_be_used_is_told(self, tmp_path: Path, content: bytes, words: str) -> None:
        (tmp_path / "a.yaml").write_bytes(content)

        with pytest.raises(ScenarioError, match=words) as caught:
            load_file(tmp_path / "a.yaml")

        assert str(tmp_path / "a.yaml") in str(caught.value)

    def test_a_file_that_is_not_there_or_cannot_be_one_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "folder.yaml").mkdir()

        for path, words in [("nope.yaml", "no such file"), ("folder.yaml", "cannot be read"), ("x.txt", "is a .yaml")]:
            with pytest.raises(ScenarioError, match=words):
                load_file(tmp_path / path)
        with pytest.raises(ScenarioError, match="not a path"):
            load_file("a\0.yaml")

    def test_a_byte_order_mark_is_no_obstacle(self, tmp_path: Path) -> None:
        (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbfreplies: [{say: x}]")

        assert "a" == load_file(tmp_path / "a.yaml").name

    def test_a_folder_gives_all_its_scenarios_but_not_its_recordings(self, tmp_path: Path) -> None:
        (tmp_path / "area" / "deep").mkdir(parents=True)
        (tmp_path / ".hidden").mkdir()
        (tmp_path / "default.yaml").write_text("replies: [{say: x}]")
        (tmp_path / "area" / "b.yml").write_text("replies: [{say: x}]")
        (tmp_path / "area" / "deep" / "c.json").write_text('{"replies": [{"say": "x"}]}')
        (tmp_path / "area" / "recording.json").write_text('{"truth": []}')
        (tmp_path / ".hidden" / "d.yaml").write_text("not read")

        scenarios = load_set(tmp_path)

        assert {"b", "c", "default"} == set(scenarios)
        assert scenarios["default"] is default_of(tmp_path, scenarios)

    def test_a_folder_without_default_has_none(self, tmp_path: Path) -> None:
        (tmp_path / "a.yaml").write_text("replies: [{say: x}]")

        scenarios = load_set(tmp_path)

        assert default_of(tmp_path, scenarios) is None
        assert scenarios["a"] is default_of(tmp_path / "a.yaml", scenarios)

    def test_a_name_may_stand_only_once(self, tmp_path: Path) -> None:
        (tmp_path / "one").mkdir()
        for file in ("a.yaml", "one/a.yaml"):
            (tmp_path / file).write_text("replies: [{say: x}]")

        with pytest.raises(ScenarioError, match="the name 'a' is taken by"):
            load_set(tmp_path)

    def test_an_empty_folder_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(ScenarioError, match="holds no scenario"):
            files_of(tmp_path)

    def test_a_tokenizer_path_starts_at_the_scenario(self, tmp_path: Path) -> None:
        (tmp_path / "a.yaml").write_text("server: {tokenizer: ./my/tok}\nreplies: [{say: x}]")

        assert str(tmp_path / "my" / "tok") == load_file(tmp_path / "a.yaml").server.tokenizer


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    *(
        "say",
        "when",
        "times",
        "then",
        "faults",
        "timing",
        "logprobs",
        "steps",
        "eos",
        "text",
        "tokens",
        "choices",
        "auto",
    ),
    *(
        "api",
        "last_message",
        "json",
        "headers",
        "flags",
        "regex",
        "contains",
        "extras",
        "top",
        "prompt_token_ids",
        "from",
    ),
]
near = st.recursive(
    values,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


def told(load: Callable[[], Any]) -> str:
    """Where the error that loading raises is said to be; ``x.yaml`` when there is none."""
    try:
        load()
    except ScenarioError as error:
        return error.where or ""
    return "x.yaml"


class TestNothingElseIsRaised:
    @FUZZED
    @given(near)
    def test_whatever_the_data_is(self, data: Any) -> None:
        for candidate in (data, {"replies": data}, {"replies": [data]}, {"replies": [{"say": data}]}):
            assert told(lambda data=candidate: from_data(data, "x"))

    @FUZZED
    @given(near)
    def test_whatever_the_yaml_is(self, data: Any) -> None:
        text = yaml.safe_dump({"replies": [{"say": "x", "when": data}, {"say": data}], "server": data})

        assert told(lambda: from_text(text, "x")).startswith("x.yaml")

    @FUZZED
    @given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
    def test_whatever_the_file_holds(self, tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
        path = tmp_path_factory.getbasetemp() / "any.yaml"
        path.write_bytes(content)

        examined = examine(path)

        assert (examined.scenario is None) == bool(examined.problems)

    def test_json_is_read_like_yaml(self, tmp_path: Path) -> None:
        data = {"replies": [{"say": {"text": "x"}, "when": {"api": "chat"}}]}
        (tmp_path / "a.json").write_text(json.dumps(data))

        assert from_data(data, "a").replies[0].say == load_file(tmp_path / "a.json").replies[0].say
