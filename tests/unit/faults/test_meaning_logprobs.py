"""Scores that are told wrongly: how many, whose, and which values."""

from __future__ import annotations

from typing import Any

import pytest

from fakellm.errors import FaultError
from fakellm.told import Score, Told
from support import faulty
from support.faulty import LOGPROBS, ask, choice, distorted, told, values


def of(changed: Told, index: int = 0) -> list[Any]:
    return values(changed.choices[index].scores)


def steps_of(changed: Told) -> list[list[Any]]:
    made = changed.choices[0]
    return [values((made.scores or ())[slice(*step.scores)]) for step in made.steps]


class TestNumber:
    @pytest.mark.parametrize(
        ("at", "left"), [(-1, [-0.1, -0.2, -0.3]), (0, [-0.2, -0.3, -0.4]), (1, [-0.1, -0.3, -0.4])]
    )
    def test_one_short(self, at: int, left: list[float]) -> None:
        assert left == of(distorted({"logprobs-one-short": {"at": at}}, told()))

    def test_the_step_of_a_lost_score_delivers_one_fewer(self) -> None:
        changed = distorted({"logprobs-one-short": {"at": 1}}, told())

        assert [[-0.1], [-0.3], [-0.4]] == steps_of(changed)

    def test_one_long(self) -> None:
        assert [*LOGPROBS, -0.4] == of(distorted("logprobs-one-long", told()))

    def test_a_position_that_is_not_there(self) -> None:
        with pytest.raises(FaultError, match="position 9 is outside of the answer's 4 scores"):
            distorted({"logprobs-one-short": {"at": 9}}, told())

    def test_one_choice_is_enough_to_have_the_position(self) -> None:
        short = faulty.replace(choice(1), scores=(faulty.score(0),), steps=())

        changed = distorted({"logprobs-one-short": {"at": 3}}, told(choice(0), short), ask(n=2))

        assert ([-0.1, -0.2, -0.3], [-0.1]) == (of(changed), of(changed, 1))

    def test_cumulative_lists(self) -> None:
        changed = distorted("logprobs-cumulative-lists", told(), ask(stream=True))

        assert [[-0.1], [-0.1, -0.2, -0.3], [-0.1, -0.2, -0.3, -0.4]] == steps_of(changed)

    def test_the_end_never_gets_its_score(self) -> None:
        assert [-0.1, -0.2, -0.3] == of(distorted("eos-score-missing", told()))


class TestParsers:
    def test_scores_of_reasoning_steps_are_lost(self) -> None:
        thinking = told(choice(kinds=("reasoning", "content", None)))

        assert [[], [-0.2, -0.3], [-0.4]] == steps_of(distorted("logprobs-lost-in-reasoning", thinking))

    def test_scores_of_tool_steps_are_lost(self) -> None:
        calling = told(choice(kinds=("content", "tool", None)))

        assert [[-0.1], [], [-0.4]] == steps_of(distorted("logprobs-lost-in-tool-calls", calling))

    def test_without_a_parser_there_is_nothing_to_lose(self) -> None:
        with pytest.raises(FaultError, match="no step of this answer shows reasoning"):
            distorted("logprobs-lost-in-reasoning", told())


class TestWhose:
    def test_every_token_has_the_score_before_it(self) -> None:
        assert [-0.1, -0.1, -0.2, -0.3] == of(distorted("logprobs-shifted", told()))

    def test_or_the_one_after_it_from_some_position_on(self) -> None:
        changed = distorted({"logprobs-shifted": {"by": -1, "start": 1}}, told())

        assert [-0.1, -0.3, -0.4, -0.4] == of(changed)

    def test_the_alternatives_agree_with_the_shifted_score(self) -> None:
        entry = (distorted("logprobs-shifted", told()).choices[0].scores or ())[1]

        assert isinstance(entry, Score)
        assert [-0.1, -5.0] == [each.logprob for each in entry.top or ()]

    def test_cumulative_values(self) -> None:
        assert [-0.1, -0.30000000000000004, -0.6000000000000001, -1.0] == of(distorted("logprobs-cumulative", told()))

    def test_the_neighbours_scores(self) -> None:
        changed = distorted("logprobs-of-another-choice", told(choice(0), choice(1, shift=1.0)), ask(n=2))

        assert [-1.1, -1.2, -1.3, -1.4] == of(changed)
        assert list(LOGPROBS) == of(changed, 1)

    def test_one_choice_has_no_neighbour(self) -> None:
        with pytest.raises(FaultError, match="only one choice"):
            distorted("logprobs-of-another-choice", told())


class TestValues:
    @pytest.mark.parametrize(
        ("entry", "last"),
        [
            ("logprob-null", None),
            ("logprob-sentinel", -9999.0),
            ("logprob-positive", 0.5),
            ({"logprob-positive": {"value": 1.0}}, 1.0),
        ],
    )
    def test_one_value(self, entry: Any, last: float | None) -> None:
        assert [-0.1, -0.2, -0.3, last] == of(distorted(entry, told()))

    def test_rounded(self) -> None:
        bent = faulty.replace(choice(), scores=tuple(faulty.score(place, 0.004) for place in range(4)))

        assert [-0.1, -0.2, -0.3, -0.4] == of(distorted("logprobs-rounded", told(bent)))


class TestTokenTexts:
    def test_each_oddity_leaves_the_scores_alone(self) -> None:
        for name in (
            "top-logprobs-without-sampled",
            "top-logprobs-null",
            "top-logprobs-capped",
            "token-bytes-null",
            "token-bytes-wrong",
            "token-bytes-replacement",
            "token-text-empty",
            "token-text-placeholder",
            "token-text-bpe-alphabet",
        ):
            changed = distorted(name, told())

            assert (name, list(LOGPROBS)) == (name, of(changed))
            assert told() != changed, name

    def test_the_sampled_token_is_not_among_its_alternatives(self) -> None:
        entry = (distorted("top-logprobs-without-sampled", told()).choices[0].scores or ())[0]

        assert [99] == [each.id for each in (entry and entry.top) or ()]

    def test_the_bpe_alphabet(self) -> None:
        entries = distorted("token-text-bpe-alphabet", told()).choices[0].scores or ()

        assert ["He", "llo", "ĠÃ©", "<end>"] == [each.token for each in entries if each]

    def test_only_what_is_not_ascii_is_replaced(self) -> None:
        entries = distorted("token-bytes-replacement", told()).choices[0].scores or ()

        assert ["He", "llo", "�", "<end>"] == [each.token for each in entries if each]
        assert (239, 191, 189) == (entries[2] and entries[2].bytes)
