"""Where an answer ends and in which deliveries it leaves, version by version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from fakellm.generation import Choice, EngineFailure
from fakellm.layouts.sglang.call import Limits
from fakellm.layouts.sglang.engine import ABORTED, Played, play
from fakellm.layouts.sglang.traits import Traits
from support.stages import EOS, TOKENIZER, spoken

PROMPT = TOKENIZER.encode("user: ")
NEWEST = 23


def played(choice: Choice, *, version: int = NEWEST, stream: bool = True, room: int = 1000, **limits: Any) -> Played:
    wanted = {"interval": limits.pop("interval", 1)}
    traits = Traits.of((0, 5, version))
    return play(choice, Limits(**limits), PROMPT, TOKENIZER, traits, stream=stream, room=room, **wanted)


def grouped(text: str, *steps: int, end: bool = True) -> Choice:
    """A spoken choice in these steps; what remains comes with one more."""
    choice = spoken(text, end=end)
    rest = len(choice.tokens) - sum(steps)
    return replace(choice, steps=(*steps, *([rest] if rest else [])))


def ended(result: Played) -> tuple[str, int, Any]:
    return result.end.reason, result.end.kept, result.end.matched


def texts(result: Played) -> list[str]:
    return [delivery.text for delivery in result.deliveries]


def id_of(text: str) -> int:
    (token_id,) = TOKENIZER.encode(text)
    return token_id


class TestEnds:
    def test_the_end_token_belongs_to_the_answer_and_is_no_text(self) -> None:
        result = played(spoken("Hello, world"))
        assert ("stop", 4, EOS) == ended(result)
        assert "Hello, world" == result.text

    def test_a_limit_cuts(self) -> None:
        result = played(spoken("Hello, world"), max_new_tokens=2)
        assert ("length", 2, None) == ended(result)
        assert "Hello," == result.text

    def test_no_new_tokens_still_takes_the_first_step(self) -> None:
        result = played(spoken("Hello, world"), max_new_tokens=0)
        assert ("length", 0, None) == ended(result)
        assert "" == result.text

    def test_the_context_is_a_limit_too(self) -> None:
        assert ("length", 3, None) == ended(played(spoken("Hello, world"), room=3))

    def test_a_truth_that_simply_ends_filled_its_limit(self) -> None:
        assert ("length", 3, None) == ended(played(spoken("Hello, world", end=False)))

    def test_stop_ids_of_the_request_end_it(self) -> None:
        comma = id_of(",")
        assert ("stop", 2, comma) == ended(played(spoken("Hello, world"), stop_token_ids=frozenset({comma})))

    def test_ignored_end_tokens_are_ordinary(self) -> None:
        tokens = (*spoken("Hello").tokens, *spoken(" you").tokens)
        result = played(Choice(tokens, (), "length"), ignore_eos=True)
        assert "Hello you" == result.text
        assert 4 == result.end.kept

    @pytest.mark.parametrize(
        ("version", "reason"), [(9, "length"), (17, "length"), (18, "stop"), (23, "stop")], ids=str
    )
    def test_what_wins_when_limit_and_end_token_meet(self, version: int, reason: str) -> None:
        choice = spoken("Hello")
        assert reason == played(choice, version=version, max_new_tokens=len(choice.tokens)).end.reason

    def test_a_stop_beyond_the_limit_is_a_length(self) -> None:
        choice = grouped("Hello, world", 4)
        assert ("length", 2, None) == ended(played(choice, max_new_tokens=2))


class TestStopStrings:
    def test_the_answer_ends_before_it_and_keeps_its_ids(self) -> None:
        result = played(spoken("one two three"), stop=(" two",))
        assert ("stop", 2, " two") == ended(result)
        assert "one" == result.text

    def test_it_may_begin_and_end_inside_of_tokens(self) -> None:
        result = played(spoken("Hello, world"), stop=("o, w",))
        assert "Hell" == result.text
        assert ("stop", "o, w") == (result.end.reason, result.end.matched)

    def test_it_stays_in_the_text_when_asked(self) -> None:
        assert "one two" == played(spoken("one two three"), stop=(" two",), no_stop_trim=True).text

    def test_a_beginning_waits_for_the_next_step(self) -> None:
        result = played(spoken("one two three"), stop=("two th",))
        assert "one " == result.text
        assert [(0, 1), (1, 3)] == [delivery.ids for delivery in result.deliveries]

    def test_a_beginning_that_leads_nowhere_is_told_late_and_whole(self) -> None:
        result = played(spoken("one two three"), stop=("two four",))
        assert ["one", " two three", ""] == texts(result)

    def test_old_versions_do_not_wait(self) -> None:
        result = played(spoken("one two three"), version=3, stop=("two four",))
        assert ["one", " two", " three", ""] == texts(result)

    def test_patterns_stop_too(self) -> None:
        result = played(spoken("one 22 three"), stop_regex=(r"\d\d",))
        assert ("stop", r"\d\d") == (result.end.reason, result.end.matched)


class TestManyTokensInAStep:
    @pytest.mark.parametrize(("version", "kept"), [(3, 6), (4, 2), (23, 2)], ids=str)
    def test_tokens_behind_a_stop_id_are_dropped(self, version: int, kept: int) -> None:
        comma = id_of(",")
        choice = grouped("Hello, world, world", 5)
        assert comma == choice.tokens[1].id
        result = played(choice, version=version, stop_token_ids=frozenset({comma}))
        assert kept == result.end.kept

    @pytest.mark.parametrize(("version", "kept"), [(12, 3), (14, 2), (23, 2)], ids=str)
    def test_tokens_behind_a_stop_string_are_dropped(self, version: int, kept: int) -> None:
        result = played(grouped("one two three four", 3), version=version, stop=(" two",))
        assert (kept, "one") == (result.end.kept, result.text)

    def test_old_versions_look_only_at_the_last_tokens_of_a_step_for_strings(self) -> None:
        result = played(grouped("one two three four", 4), version=12, stop=(" two",))
        assert "one two three four" == result.text

    @pytest.mark.parametrize(("version", "scores"), [(9, (0, 4)), (10, (0, 2)), (23, (0, 2))], ids=str)
    def test_scores_of_dropped_tokens(self, version: int, scores: tuple[int, int]) -> None:
        comma = id_of(",")
        result = played(grouped("Hello, world", 4), version=version, stop_token_ids=frozenset({comma}))
        assert [scores] == [delivery.scores for delivery in result.deliveries]


class TestDeliveries:
    def test_spans_join_without_gap_or_overlap(self) -> None:
        result = played(grouped("one two three four five", 1, 2))
        for name in ("ids", "scores"):
            spans: Sequence[tuple[int, int]] = [getattr(delivery, name) for delivery in result.deliveries]
            assert 0 == spans[0][0]
            assert [stop for _, stop in spans[:-1]] == [start for start, _ in spans[1:]]
            assert 6 == spans[-1][1]

    def test_a_whole_answer_is_one_delivery(self) -> None:
        result = played(grouped("one two three", 1, 1), stream=False)
        assert [((0, 4), "one two three")] == [(delivery.ids, delivery.text) for delivery in result.deliveries]

    @pytest.mark.parametrize("given", ["server", "request"])
    def test_an_interval_gathers_tokens_after_the_first(self, given: str) -> None:
        wanted: dict[str, Any] = {"interval": 3} if given == "server" else {"stream_interval": 3}
        result = played(spoken("one two three four five six"), **wanted)
        assert [(0, 1), (1, 4), (4, 7)] == [delivery.ids for delivery in result.deliveries]

    def test_an_empty_truth_is_one_empty_delivery(self) -> None:
        result = played(Choice((), (), "length"))
        assert [((0, 0), "")] == [(delivery.ids, delivery.text) for delivery in result.deliveries]


class TestEngineTrouble:
    def test_an_abort_ends_where_it_happened(self) -> None:
        result = played(replace(spoken("one two three"), finish_reason="abort", finish_at=2))
        assert ("abort", 2, None) == ended(result)
        assert ABORTED is result.end.failure

    def test_a_failure_shows_with_the_step_after_it(self) -> None:
        failure = EngineFailure("out of memory", 500)
        result = played(replace(spoken("one two three"), finish_reason="error", finish_at=1, failure=failure))
        assert ("abort", failure) == (result.end.reason, result.end.failure)
        assert [(0, 1), (1, 2)] == [delivery.ids for delivery in result.deliveries]


def test_a_hostile_stop_regex_does_not_hang() -> None:
    from fakellm.layouts.sglang.engine import pattern_of

    assert not pattern_of("(a+)+$").found_in("a" * 40 + "!")
