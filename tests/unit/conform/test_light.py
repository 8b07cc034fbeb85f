"""What a run keeps of each exchange: enough to judge the whole of it, and little."""

import tracemalloc
from dataclasses import replace

from fakellm.capture import VALUES, CapturedChoice
from fakellm.conform.baseline import Baseline
from fakellm.conform.judging import Run, remember_values
from fakellm.conform.light import KEPT_WHOLE, lightened, shortened
from fakellm.conform.observation import Supports
from support.observations import WHOLE, observation

EXCHANGES = 10_000


def long(tokens: int, salt: int = 0) -> CapturedChoice:
    """A choice of many tokens, made anew each time."""
    ids = tuple(range(100_000 + salt, 100_000 + salt + tokens))
    return replace(WHOLE, completion_token_ids=ids, logprobs=tuple(-1 / (1 + one) for one in ids))


def test_what_is_wrong_keeps_its_values() -> None:
    right = lightened(observation(long(50), truth=[long(50)]))
    wrong = lightened(observation(long(50, salt=1), truth=[long(50)]))

    assert wrong is shortened(wrong)
    assert 1 == len(shortened(right).truth.capture.choices[0].completion_token_ids or ())
    assert wrong.case.request == {} == right.case.request


def test_equal_stays_equal_and_null_stays_null() -> None:
    whole = shortened(lightened(observation(long(50), truth=[long(50)])))
    again = shortened(lightened(observation(long(50), truth=[long(50)])))
    bare = replace(long(50), logprobs=None)
    less = shortened(lightened(observation(bare, truth=[bare])))

    assert whole.ending.capture == again.ending.capture
    assert less.ending.capture is not None
    assert less.ending.capture.choices[0].logprobs is None


def test_memory_stays_flat_over_ten_thousand_exchanges() -> None:
    run = Run(
        supports=Supports(name="client", captures=frozenset(VALUES)),
        checks=(),
        baseline=Baseline(),
        writers=(),
        reproduce=lambda case: "",
    )

    def run_on(exchanges: int) -> int:
        for number in range(exchanges):
            choice = long(200, salt=number)
            remember_values(run, observation(choice, truth=[choice]))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        whole = run_on(KEPT_WHOLE)
        grown = run_on(EXCHANGES - KEPT_WHOLE) - whole
    finally:
        tracemalloc.stop()

    assert EXCHANGES == len(run.light)
    assert grown < whole
    assert grown < 5_000 * (EXCHANGES - KEPT_WHOLE)
