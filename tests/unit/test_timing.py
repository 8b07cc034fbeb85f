"""When tokens are due, in milliseconds, without a clock."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakellm.timing import MAX_DELAY_MS, LogNormal, Timing

delays = st.floats(0, 1e5) | st.builds(LogNormal, median=st.floats(0, 1e5), sigma=st.floats(0, 10))


class TestFixed:
    def test_without_delays_everything_is_due_at_once(self) -> None:
        assert [0.0, 0.0] == [Timing().due(step) for step in (0, 99)]

    def test_the_first_step_waits_and_the_others_follow_evenly(self) -> None:
        timing = Timing(first_token_ms=50, between_ms=20)

        assert [50.0, 70.0, 90.0] == [timing.due(step) for step in range(3)]


class TestDrawn:
    def test_the_same_seed_gives_the_same_schedule(self) -> None:
        one, other = (Timing(LogNormal(200, 0.5), LogNormal(20, 0.5), seed="s") for _ in range(2))

        assert [one.due(step) for step in range(20)] == [other.due(step) for step in range(20)]

    def test_asking_out_of_order_changes_nothing(self) -> None:
        forward, backward = (Timing(5.0, LogNormal(20, 0.5)) for _ in range(2))

        expected = [forward.due(step) for step in range(10)]
        assert expected == [backward.due(step) for step in reversed(range(10))][::-1]

    def test_another_request_draws_another_schedule(self) -> None:
        timing = Timing(between_ms=LogNormal(20, 0.5))

        assert timing.seeded(1).due(5) != timing.seeded(2).due(5)
        assert timing.seeded(1).due(5) == timing.seeded(1).due(5)

    def test_half_of_the_delays_are_below_the_median(self) -> None:
        timing = Timing(between_ms=LogNormal(20, 0.5))
        gaps = [timing.due(step + 1) - timing.due(step) for step in range(1_000)]

        assert 400 < sum(gap < 20 for gap in gaps) < 600

    @given(first=delays, between=delays, seed=st.integers())
    def test_a_schedule_never_goes_back_and_never_becomes_infinite(
        self, first: float | LogNormal, between: float | LogNormal, seed: int
    ) -> None:
        timing = Timing(first, between, seed=seed)
        due = [timing.due(step) for step in range(8)]

        assert due == sorted(due)
        assert 0.0 <= due[0]
        assert due[-1] <= 8 * MAX_DELAY_MS
