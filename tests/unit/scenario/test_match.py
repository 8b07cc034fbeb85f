"""Which reply answers: rules, order, counters, what is left over, and that looking up does not grow."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakellm.ask import Ask
from fakellm.scenario.load import from_data, reply_from_data
from fakellm.scenario.match import Script
from fakellm.scenario.nearest import NoReply
from fakellm.scenario.rules import View, same
from support.asking import ask, assistant, user


def script(*replies: Any) -> Script:
    return Script(from_data({"replies": list(replies)}, "story"))


def holds(when: dict[str, Any], request: Ask, call: int = 1) -> bool:
    return reply_from_data({"say": "x", "when": when}).when.holds(View(request, call))


REQUEST = ask(
    {"role": "system", "content": "You are a poet."},
    user("What is the weather in Paris?"),
    assistant("Sunny."),
    {"role": "user", "content": [{"type": "text", "text": "And in "}, {"type": "text", "text": "Rome?"}]},
    api="chat",
    model="tiny",
    stream=True,
    headers={"x-team": "blue"},
    max_tokens=5,
    stop=["END"],
    return_token_ids=True,
    logprobs=False,
    temperature=0.0,
    **{"a.b": 1},
)


class TestRules:
    @pytest.mark.parametrize(
        "when",
        [
            {},
            {"api": "chat"},
            {"api": ["completions", "chat"]},
            {"model": "tiny"},
            {"model": {"regex": "^ti"}},
            {"stream": True},
            {"last_message": "And in Rome?"},
            {"last_message": {"contains": "Rome"}},
            {"last_message": {"regex": r"in \w+\?$"}},
            {"messages": "What is the weather in Paris?"},
            {"messages": {"contains": "Sunny"}},
            {"system": {"contains": "poet"}},
            {"prompt": {"contains": "assistant: Sunny."}},
            {"json": {"max_tokens": 5}},
            {"json": {"stop.0": "END"}},
            {"json": {"stop.-1": {"regex": "^E"}}},
            {"json": {"stop": ["END"]}},
            {"json": {"stop": {"contains": "END"}}},
            {"json": {"temperature": 0}},
            {"json": {"messages.1.role": "user"}},
            {"json": {"messages.1": {"equals": {"content": "What is the weather in Paris?", "role": "user"}}}},
            {"json": {"seed": {"present": False}, "stop": {"present": True}}},
            {"json": {r"a\.b": 1}},
            {"headers": {"X-Team": "blue"}},
            {"flags": ["return_token_ids", "stop"]},
            {"turn": 2},
            {"call": 1},
        ],
    )
    def test_a_rule_that_holds(self, when: dict[str, Any]) -> None:
        assert holds(when, REQUEST)

    @pytest.mark.parametrize(
        "when",
        [
            {"api": "completions"},
            {"model": "Tiny"},
            {"stream": False},
            {"last_message": "Rome"},
            {"last_message": {"contains": "rome"}},
            {"messages": "Paris"},
            {"system": "poet"},
            {"json": {"max_tokens": "5"}},
            {"json": {"max_tokens": True}},
            {"json": {"stop.1": "END"}},
            {"json": {"stop.x": "END"}},
            {"json": {"max_tokens.x": 5}},
            {"json": {"return_token_ids": 1}},
            {"json": {"seed": {"present": True}}},
            {"json": {"a.b": 1}},
            {"headers": {"x-team": "red"}},
            {"headers": {"x-other": {"contains": ""}}},
            {"flags": ["logprobs"]},
            {"flags": ["seed"]},
            {"turn": 1},
            {"call": 2},
            {"api": "chat", "model": "other"},
        ],
    )
    def test_a_rule_that_does_not_hold(self, when: dict[str, Any]) -> None:
        assert not holds(when, REQUEST)

    def test_a_request_without_messages_has_no_last_message(self) -> None:
        assert not holds({"last_message": {"contains": ""}}, ask(api="completions", prompts=["Once"]))
        assert holds({"prompt": "Once"}, ask(api="completions", prompts=["Once"]))

    def test_any_prompt_of_a_batch_will_do(self) -> None:
        assert holds({"prompt": "b"}, ask(api="completions", prompts=["a", "b"]))

    @pytest.mark.parametrize(
        ("messages", "turn"),
        [
            (["a"], 1),
            (["a", assistant("b"), "c"], 2),
            (["a", assistant("b"), {"role": "tool", "content": "4"}], 2),
            (["a", assistant("b"), "c", assistant("to be contin")], 2),
            ([], 1),
        ],
    )
    def test_a_turn_is_the_answer_that_is_asked_for(self, messages: list[Any], turn: int) -> None:
        assert holds({"turn": turn}, ask(*messages))

    @given(st.recursive(st.booleans() | st.integers(0, 2) | st.floats(0, 2) | st.none(), st.lists, max_leaves=4))
    def test_a_json_value_equals_itself_and_true_is_not_one(self, value: Any) -> None:
        assert same(value, value)
        assert not same(True, 1)
        assert not same([1], [True])
        assert same({"a": [1]}, {"a": [1.0]})


class TestOrder:
    def test_the_first_reply_that_holds_answers(self) -> None:
        story = script({"say": "a", "when": {"last_message": "a"}}, {"say": "b"}, {"say": "c"})

        assert [0, 1] == [story.match(ask(text)).index for text in ("a", "z")]

    def test_a_one_shot_reply_gives_way_to_the_next(self) -> None:
        story = script({"say": "a", "times": 2}, {"say": "b"})

        matched = [story.match(ask("x")) for _ in range(4)]
        assert [(0, 0), (0, 1), (1, 0), (1, 1)] == [(each.index, each.ordinal) for each in matched]
        assert [False, False, True, True] == [each.stateless for each in matched]

    def test_a_row_is_played_in_order_and_then_is_over(self) -> None:
        story = script({"say": "a", "then": [{"say": "b"}, {"say": "c"}]})

        said = [story.match(ask("x")) for _ in range(3)]
        assert ["a", "b", "c"] == [each.reply.say.text for each in said]  # type: ignore[union-attr]
        assert [0, 1, 2] == [each.turn for each in said]
        assert 3 == len({each.key for each in said})
        with pytest.raises(NoReply):
            story.match(ask("x"))

    def test_rows_of_different_conversations_do_not_mix(self) -> None:
        story = script(
            {"say": "a", "when": {"model": "one"}, "then": [{"say": "b"}]},
            {"say": "c", "when": {"model": "two"}, "then": [{"say": "d"}]},
        )

        said = [story.match(ask("x", model=name)).reply.say.text for name in ("one", "two", "one", "two")]  # type: ignore[union-attr]
        assert ["a", "c", "b", "d"] == said

    def test_calls_are_counted_also_when_nothing_matches(self) -> None:
        story = script({"say": "third", "when": {"call": 3}}, {"say": "x", "when": {"last_message": "x"}})

        with pytest.raises(NoReply):
            story.match(ask("nothing"))
        assert [1, 0, 1] == [story.match(ask("x")).index for _ in range(3)]

    def test_a_scenario_that_counts_calls_is_never_stateless(self) -> None:
        story = script({"say": "first", "when": {"call": 1}}, {"say": "x"})

        assert not any(story.match(ask("x")).stateless for _ in range(2))

    def test_reset_begins_again(self) -> None:
        story = script({"say": "a", "times": 1}, {"say": "b", "when": {"call": 2}})
        first = [story.match(ask("x")).index for _ in range(2)]

        story.reset()

        assert first == [story.match(ask("x")).index for _ in range(2)]

    def test_replies_may_be_added_while_it_plays(self) -> None:
        story = script({"say": "a", "times": 1})
        story.match(ask("x"))

        story.extend([reply_from_data({"say": "b"})])

        assert 1 == story.match(ask("x")).index


class TestUnused:
    def test_replies_that_were_not_played_to_the_end_are_left_over(self) -> None:
        story = script(
            {"say": "a", "when": {"last_message": "a"}, "times": 2},
            {"say": "b", "when": {"last_message": "b"}, "then": [{"say": "c"}]},
            {"say": "d"},
        )
        story.match(ask("a"))

        assert [(0, 1, 2), (1, 0, 2)] == [(each.index, each.played, each.due) for each in story.unused()]
        assert "story: replies[0] (scenario story) was played 1 of 2 times" == str(story.unused()[0])

    def test_nothing_is_left_over_when_all_was_played(self) -> None:
        story = script({"say": "a", "times": 1}, {"say": "b"})
        story.match(ask("x"))

        assert () == story.unused()


WHENS: list[dict[str, Any]] = [
    {},
    {"api": "chat"},
    {"last_message": "a"},
    {"last_message": {"contains": "a"}},
    {"last_message": "b", "model": "tiny"},
    {"messages": "a"},
    {"json": {"max_tokens": 1}},
    {"json": {"max_tokens": {"present": False}}},
    {"json": {"stop": ["x"]}},
    {"stream": False},
    {"turn": 1, "last_message": {"regex": "^b"}},
]


class TestLookUp:
    @given(
        whens=st.lists(st.sampled_from(WHENS), min_size=1, max_size=8),
        text=st.sampled_from(["a", "b", "ab", ""]),
        body=st.sampled_from([{}, {"max_tokens": 1}, {"max_tokens": True}, {"stop": ["x"]}]),
    )
    def test_looking_up_finds_what_trying_every_reply_would_find(
        self, whens: list[dict[str, Any]], text: str, body: dict[str, Any]
    ) -> None:
        story, request = script(*({"say": "x", "when": when} for when in whens)), ask("a", text, **body)
        expected = next((at for at, when in enumerate(whens) if holds(when, request)), None)

        try:
            found: int | None = story.match(request).index
        except NoReply:
            found = None

        assert expected == found

    def test_ten_thousand_exact_replies_are_not_tried_one_by_one(self) -> None:
        story = script(*({"say": "x", "when": {"api": "chat", "last_message": f"q{at}"}} for at in range(10_000)))
        view = View(ask("q9876"))

        assert [9876] == list(story.candidates(view))
        assert 9876 == story.match(ask("q9876")).index
