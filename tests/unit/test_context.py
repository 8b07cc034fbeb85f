"""context: clocks and ids that answers depend on."""

import re
import time

import pytest

from fakellm.context import FixedContext, LiveContext


def test_a_fixed_clock_moves_only_when_told() -> None:
    context = FixedContext(now=100.0)
    context.advance(2.5)

    assert 102.5 == context.now()


def test_the_live_clock_is_the_real_one() -> None:
    before = time.time()

    assert before <= LiveContext().now() <= time.time()


@pytest.mark.parametrize("digits", [1, 16, 24, 32, 128, 200])
@pytest.mark.parametrize(
    "context", [FixedContext(), LiveContext(), LiveContext(seed=7)], ids=["fixed", "live", "seeded"]
)
def test_ids_are_hex_of_the_length_that_is_asked_for(context: FixedContext | LiveContext, digits: int) -> None:
    assert re.fullmatch(rf"[0-9a-f]{{{digits}}}", context.hex(digits))


@pytest.mark.parametrize("kind", [lambda seed: FixedContext(seed=seed), lambda seed: LiveContext(seed=seed)])
def test_ids_depend_on_seed_and_ordinal_alone_and_never_repeat(kind: type[FixedContext]) -> None:
    one, same, other = (kind(seed) for seed in ("a", "a", "b"))
    ids = [one.hex(16) for _ in range(500)]

    assert ids == [same.hex(16) for _ in range(500)]
    assert 500 == len(set(ids))
    assert not set(ids) & {other.hex(16) for _ in range(500)}


def test_timing_is_what_the_reply_says() -> None:
    context = FixedContext()
    assert context.timing() is None

    context.set_timing("slow")

    assert "slow" == context.timing()
