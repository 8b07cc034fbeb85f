"""What a run keeps of each exchange: enough to judge the whole of it, and little."""

from dataclasses import replace

from fakellm.capture import CapturedChoice
from fakellm.conform.light import lightened, shortened
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
