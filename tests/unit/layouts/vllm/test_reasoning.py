"""Reasoning parsers: what is thought and what is said, whole and in streams, by version and parser."""

from __future__ import annotations

from typing import Any

import pytest

from fakellm.generation import Choice
from support.stages import TOKENIZER, chat, spoken
from support.vllm import NEWEST, QWEN3, R1, VERSIONS, deltas, events, in_steps, joined, message, server, told

THOUGHT = "<think>hm</think>ok"
ALL_IDS = [*TOKENIZER.encode(THOUGHT), TOKENIZER.eos_ids[0]]


def thought_of(said: Any) -> Any:
    return said.get("reasoning", said.get("reasoning_content"))


def both(version: str, options: tuple[str, ...], says: Choice | str, **body: Any) -> tuple[Any, Any]:
    """((reasoning, content) of the whole answer, the same of the stream)."""
    said = message(server(version, *options, says=says), chat(**body))
    reasoning, content, _ = joined(deltas(server(version, *options, says=says), chat(stream=True, **body)))
    return (thought_of(said), said["content"]), (reasoning, content)


@pytest.mark.parametrize("version", VERSIONS)
class TestEveryVersion:
    @pytest.mark.parametrize("options", [R1, QWEN3])
    @pytest.mark.parametrize("length", [1, 100])
    def test_thought_and_said_are_told_apart(self, version: str, options: tuple[str, ...], length: int) -> None:
        whole, stream = both(version, options, in_steps(THOUGHT, length))
        assert ("hm", "ok") == whole == stream

    def test_deepseek_r1_takes_an_answer_without_marks_for_reasoning(self, version: str) -> None:
        whole, stream = both(version, R1, "just text")
        assert (("just text", None), ("just text", "")) == (whole, stream)

    def test_deepseek_r1_needs_no_opening_mark(self, version: str) -> None:
        whole, stream = both(version, R1, "hm</think>ok")
        assert ("hm", "ok") == whole == stream

    def test_unfinished_reasoning_is_all_reasoning(self, version: str) -> None:
        whole, stream = both(version, R1, spoken("<think>hm", end=False))
        assert (("hm", None), ("hm", "")) == (whole, stream)

    def test_without_a_parser_marks_are_text(self, version: str) -> None:
        whole, stream = both(version, (), THOUGHT)
        assert ((None, THOUGHT), ("", THOUGHT)) == (whole, stream)


class TestQwen3:
    @pytest.mark.parametrize("version", VERSIONS[:3])
    def test_needs_both_marks_up_to_0_16(self, version: str) -> None:
        assert ((None, "<think>hm"), ("hm", "")) == both(version, QWEN3, spoken("<think>hm", end=False))
        assert ((None, "just text"), ("", "just text")) == both(version, QWEN3, "just text")

    @pytest.mark.parametrize("version", VERSIONS[3:])
    def test_begins_as_reasoning_from_0_20_2(self, version: str) -> None:
        assert (("just text", None), ("just text", "")) == both(version, QWEN3, "just text")

    @pytest.mark.parametrize("version", VERSIONS[4:])
    def test_thinking_switched_off_makes_all_content(self, version: str) -> None:
        whole, stream = both(version, QWEN3, "just text", chat_template_kwargs={"enable_thinking": False})
        assert ((None, "just text"), ("", "just text")) == (whole, stream)

    @pytest.mark.parametrize("version", VERSIONS[4:])
    def test_a_tool_call_ends_the_reasoning(self, version: str) -> None:
        says = "<think>hm<tool_call>x"
        assert (("hm", "<tool_call>x"), ("hm", "<tool_call>x")) == both(version, QWEN3, says)


class TestNames:
    @pytest.mark.parametrize(
        ("version", "names"),
        [
            ("0.10.2", ["reasoning_content"]),
            ("0.12.0", ["reasoning", "reasoning_content"]),
            ("0.16.0", ["reasoning"]),
            (NEWEST, ["reasoning"]),
        ],
    )
    def test_the_member_by_version(self, version: str, names: list[str]) -> None:
        said = message(server(version, *R1, says=THOUGHT), chat())
        streamed = [
            delta for delta in deltas(server(version, *R1, says=THOUGHT), chat(stream=True)) if "hm" in str(delta)
        ]
        assert names == [name for name in said if name.startswith("reasoning")]
        assert all(names == [name for name in delta if name.startswith("reasoning")] for delta in streamed)


class TestIncludeReasoning:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_whole_answers_never_show_it(self, version: str) -> None:
        assert thought_of(message(server(version, *R1, says=THOUGHT), chat(include_reasoning=False))) is None

    @pytest.mark.parametrize(
        ("version", "shown"), [(version, "" if place >= 4 else "hm") for place, version in enumerate(VERSIONS)]
    )
    def test_streams_obey_from_0_24(self, version: str, shown: str) -> None:
        found = deltas(server(version, *R1, says=THOUGHT), chat(stream=True, include_reasoning=False))
        assert (shown, "ok", []) == joined(found)


class TestMerged:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_one_step_may_end_the_reasoning_and_begin_the_content(self, version: str) -> None:
        found = deltas(server(version, *R1, says=in_steps(THOUGHT, 100)), chat(stream=True))
        assert 2 == len(found)
        assert ("hm", "ok", []) == joined(found[1:])

    @pytest.mark.parametrize("version", VERSIONS)
    def test_deepseek_r1_shows_an_opening_mark_that_does_not_come_alone(self, version: str) -> None:
        found = deltas(server(version, *R1, says=in_steps(THOUGHT, 2)), chat(stream=True))
        assert ("<think>hm", "ok", []) == joined(found)

    @pytest.mark.parametrize("version", VERSIONS[4:])
    @pytest.mark.parametrize("length", [2, 3, 4])
    def test_the_grammar_of_qwen3_does_not(self, version: str, length: int) -> None:
        assert ("hm", "ok", []) == joined(
            deltas(server(version, *QWEN3, says=in_steps(THOUGHT, length)), chat(stream=True))
        )


class TestLost:
    def streamed(self, version: str, **body: Any) -> tuple[list[int], int]:
        """(ids, number of scores) of a stream with a reasoning parser."""
        rows = [row["choices"][0] for row in events(server(version, *R1, says=THOUGHT), chat(stream=True, **body))]
        ids = [token_id for row in rows for token_id in row.get("token_ids") or ()]
        return ids, sum(len((row.get("logprobs") or {}).get("content") or ()) for row in rows)

    @pytest.mark.parametrize("version", VERSIONS[:2])
    def test_ids_of_marks_up_to_0_12(self, version: str) -> None:
        ids, _ = self.streamed(version, return_token_ids=True)
        assert [*ALL_IDS[1:3], *ALL_IDS[4:]] == ids

    @pytest.mark.parametrize("version", VERSIONS[2:])
    def test_no_ids_from_0_16(self, version: str) -> None:
        assert ALL_IDS == self.streamed(version, return_token_ids=True)[0]

    @pytest.mark.parametrize(("version", "scores"), [("0.16.0", 4), ("0.28.0", 4), (NEWEST, 6)])
    def test_scores_of_marks_where_no_ids_are_asked_for_up_to_0_28(self, version: str, scores: int) -> None:
        assert scores == self.streamed(version, logprobs=True)[1]


class TestUsage:
    @pytest.mark.parametrize(("version", "counted"), [("0.24.0", None), ("0.28.0", 2), (NEWEST, 2)])
    def test_reasoning_tokens_from_0_28(self, version: str, counted: int | None) -> None:
        usage = told(server(version, *R1, says=THOUGHT), chat())["usage"]
        assert counted == (usage.get("completion_tokens_details") or {}).get("reasoning_tokens")

    def test_streams_count_them_too(self) -> None:
        asked = chat(stream=True, stream_options={"include_usage": True})
        last = events(server(NEWEST, *R1, says=THOUGHT), asked)[-1]
        assert {"reasoning_tokens": 2} == last["usage"]["completion_tokens_details"]
