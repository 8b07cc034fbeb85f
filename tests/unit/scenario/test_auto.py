"""Auto scores: plausible, float32, reproducible, and no two positions of a generation share one."""

from __future__ import annotations

import math
import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from fakellm.scenario.auto import (
    Place,
    Pool,
    Row,
    candidate_logprobs,
    pool_of,
    position_digest,
    score_of,
    token_at,
)
from support.asking import TOKENIZER

SIZE = TOKENIZER.vocab_size
keys = st.tuples(st.integers(), st.text(max_size=8), st.integers(0, 50))


def widened(value: float) -> float:
    """A number as float32, widened again."""
    return struct.unpack("f", struct.pack("f", value))[0]


class TestLogprobs:
    @given(key=keys, choices=st.integers(1, 15))
    @settings(max_examples=30)
    def test_no_two_positions_share_a_score_even_after_rounding_to_four_decimals(
        self, key: tuple[object, ...], choices: int
    ) -> None:
        rows = [Row.of_choice(key, choice) for choice in range(choices)] + [Row.of_prompt(key, 0)]
        values = [value for row in rows for value in row.logprobs(256)]

        assert len(values) == len({round(value, 4) for value in values})

    @given(key=keys)
    @settings(max_examples=10)
    def test_thirty_choices_of_five_hundred_tokens_differ_at_five_decimals(self, key: tuple[object, ...]) -> None:
        values = [value for choice in range(30) for value in Row.of_choice(key, choice).logprobs(512)]

        assert len(values) == len({round(value, 5) for value in values})

    def test_a_hundred_thousand_tokens_differ(self) -> None:
        values = Row.of_choice((0, "long", 0), 0).logprobs(100_000) + Row.of_prompt((0, "long", 0), 0).logprobs(30_000)

        assert 130_000 == len(set(values))

    def test_a_hundred_and_twenty_choices_differ(self) -> None:
        key = (0, "wide", 0)
        values = [value for choice in range(120) for value in Row.of_choice(key, choice).logprobs(2_000)]

        assert len(values) == len(set(values))

    @given(key=keys, choice=st.integers(0, 200), count=st.integers(0, 700))
    @settings(max_examples=40)
    def test_scores_are_float32_and_below_zero(self, key: tuple[object, ...], choice: int, count: int) -> None:
        values = Row.of_choice(key, choice).logprobs(count)

        assert count == len(values)
        assert all(value == widened(value) and -9.0 < value < 0.0 for value in values)

    @given(key=keys, count=st.integers(0, 600))
    @settings(max_examples=20)
    def test_a_longer_row_begins_like_a_shorter_one(self, key: tuple[object, ...], count: int) -> None:
        assert Row.of_choice(key, 3).logprobs(600)[:count] == Row.of_choice(key, 3).logprobs(count)

    def test_scores_are_the_same_on_every_machine(self) -> None:
        assert [-0.3352688252925873, -0.36987781524658203, -2.5975260734558105] == Row.of_choice(
            (0, "s", 0), 0
        ).logprobs(3)

    def test_another_seed_scenario_reply_or_choice_has_other_scores(self) -> None:
        rows = [Row.of_choice(key, 0) for key in ((0, "s", 0), (1, "s", 0), (0, "t", 0), (0, "s", 1))]
        rows.append(Row.of_choice((0, "s", 0), 1))

        assert len(rows) == len({tuple(row.logprobs(8)) for row in rows})

    def test_most_tokens_are_likely_and_a_few_are_not(self) -> None:
        values = sorted(Row.of_choice((0, "s", 0), 0).logprobs(256))

        assert -0.5 < values[128] < -0.05
        assert values[25] < -2.0


class TestTokens:
    @given(
        logprob=st.floats(-20, 0, width=32, exclude_max=True),
        position=st.integers(0, 10_000),
        top=st.integers(1, 40),
        sampled=st.integers(0, SIZE - 1),
    )
    def test_alternatives_agree_with_the_sampled_token(
        self, logprob: float, position: int, top: int, sampled: int
    ) -> None:
        place = Place(sampled, TOKENIZER.piece(sampled), logprob)

        token = token_at(place, position_digest(b"key", position), top, pool_of(TOKENIZER), SIZE)

        scores = [candidate.logprob for candidate in token.top if candidate.logprob is not None]
        assert top == len(scores)
        assert scores == sorted(scores, reverse=True)
        assert len(set(scores)) == len(scores)
        assert list(range(1, top + 1)) == [candidate.rank for candidate in token.top]
        assert len({candidate.id for candidate in token.top}) == top
        assert sum(math.exp(score) for score in scores) <= 1.0 + 1e-6
        assert all(score == widened(score) for score in scores)
        own = [candidate for candidate in token.top if candidate.id == sampled]
        if token.rank is not None and token.rank <= top:
            assert [(sampled, logprob, token.rank)] == [(one.id, one.logprob, one.rank) for one in own]
        else:
            assert [] == own
            assert all(score > logprob for score in scores)

    @given(logprob=st.floats(-12, -(2**-20), width=32), position=st.integers(0, 1_000))
    def test_a_longer_list_begins_like_a_shorter_one(self, logprob: float, position: int) -> None:
        place, digest, pool = Place(5, b"x", logprob), position_digest(b"key", position), pool_of(TOKENIZER)

        assert token_at(place, digest, 20, pool, SIZE).top[:7] == token_at(place, digest, 7, pool, SIZE).top

    def test_a_likely_token_ranks_first(self) -> None:
        ranks = {
            token_at(Place(5, b"x", -0.6), position_digest(b"k", at), 0, pool_of(TOKENIZER), SIZE).rank
            for at in range(50)
        }

        assert {1} == ranks

    def test_an_unlikely_token_ranks_lower_now_and_then(self) -> None:
        ranks = {
            token_at(Place(5, b"x", -4.0), position_digest(b"k", at), 0, pool_of(TOKENIZER), SIZE).rank
            for at in range(50)
        }

        assert 1 in ranks
        assert len(ranks) > 5

    def test_minus_infinity_stands_behind_every_candidate(self) -> None:
        token = token_at(Place(5, b"x", -math.inf), position_digest(b"k", 0), 4, pool_of(TOKENIZER), SIZE)

        assert token.rank is not None
        assert token.rank > 4
        assert 4 == len(token.top)
        assert all(candidate.logprob is not None and candidate.logprob > -200 for candidate in token.top)

    def test_a_withheld_score_has_no_alternatives(self) -> None:
        token = token_at(Place(5, b"x", None), position_digest(b"k", 0), 4, pool_of(TOKENIZER), SIZE)

        assert (None, None, ()) == (token.logprob, token.rank, token.top)

    def test_a_written_rank_is_kept_also_where_the_score_contradicts_it(self) -> None:
        scores = candidate_logprobs(-0.1, 4, 6, bytes(32))

        assert 3 == sum(score > -0.1 for score in scores)
        assert scores == sorted(scores, reverse=True)

    def test_an_id_asked_for_has_the_score_it_has_among_the_alternatives(self) -> None:
        place, digest, pool = Place(5, b"x", -2.0), position_digest(b"k", 1), pool_of(TOKENIZER)
        listed = token_at(place, digest, 20, pool, SIZE)
        unlisted = next(each for each in range(SIZE) if each not in {one.id for one in listed.top} and each != 5)

        assert [(one.logprob, one.rank) for one in listed.top] == [
            score_of(one.id or 0, place, digest, pool, SIZE) for one in listed.top
        ]
        logprob, rank = score_of(unlisted, place, digest, pool, SIZE)
        assert logprob is not None
        assert logprob < min(one.logprob for one in listed.top if one.logprob is not None)
        assert rank is not None
        assert rank > 20


class TestPool:
    def test_alternatives_are_readable_and_all_different(self) -> None:
        texts = [piece.decode() for _, piece in pool_of(TOKENIZER).pieces]

        assert len(texts) > 100
        assert len(texts) == len(set(texts))
        assert not TOKENIZER.special_ids & {token_id for token_id, _ in pool_of(TOKENIZER).pieces}

    def test_the_whole_vocabulary_can_be_asked_for(self) -> None:
        found = Pool(TOKENIZER).walk(3, 7, 5, SIZE - 1)

        assert set(range(SIZE)) - {5} == {token_id for token_id, _ in found}

    @given(start=st.integers(0, 2**64 - 1), stride=st.integers(0, 2**64 - 1), sampled=st.integers(0, SIZE))
    def test_the_sampled_token_is_never_its_own_alternative(self, start: int, stride: int, sampled: int) -> None:
        found = [token_id for token_id, _ in pool_of(TOKENIZER).walk(start, stride, sampled, 20)]

        assert 20 == len(set(found))
        assert sampled not in found
