"""Plans are found by what their answers depend on; long ones when they are asked for twice, within bounds."""

from __future__ import annotations

from fakellm.context import FixedContext
from fakellm.layouts.base import Served
from fakellm.message import Frame, Wire
from fakellm.plan import MAX_JOINED, ROOMY_TOKENS, Marks, Plan, PromptWords, coalesced, make_plan
from fakellm.plans import Planned, Plans

SERVED = Served("chat", 1, 2, ("stop",), None)


def plan(size: int = 10) -> Plan:
    made = make_plan(lambda marks: Wire(200, (), (Frame(b"x" * size),)))
    assert made is not None
    return made


def test_a_short_answer_is_kept_the_second_time_whatever_its_limits() -> None:
    plans = Plans()

    assert plans.wanted("key", "limit 10", 50) is None
    assert "key" == plans.wanted("key", "limit 20", 50)
    planned = plans.keep("key", plan(), SERVED)

    assert planned is plans.find("key", "limit 30")
    assert isinstance(planned, Planned)


def test_a_long_answer_is_kept_the_second_time_and_for_its_limits_only() -> None:
    plans = Plans()

    assert plans.wanted("key", "limit 10", ROOMY_TOKENS) is None
    again = plans.wanted("key", "limit 10", ROOMY_TOKENS)
    assert again is not None
    planned = plans.keep(again, plan(), SERVED)

    assert planned is plans.find("key", "limit 10")
    assert plans.find("key", "limit 20") is None
    assert plans.wanted("key", "limit 20", ROOMY_TOKENS) is None


def test_what_has_no_plan_is_not_tried_again() -> None:
    plans = Plans()

    assert plans.keep("key", None, SERVED) is None

    assert plans.find("key", "") is None
    assert plans.wanted("key", "", 1) is None


def test_a_plan_as_large_as_all_others_together_is_not_kept() -> None:
    plans = Plans(max_bytes=1000)

    assert plans.keep("large", plan(900), SERVED) is None
    assert plans.keep("small", plan(700), SERVED) is not None


def test_the_oldest_make_room() -> None:
    plans = Plans(max_plans=3, max_bytes=1000)

    for number in range(5):
        plans.keep(number, plan(), SERVED)
        plans.find(0, "")
    plans.keep("large", plan(740), SERVED)

    assert plans.find(1, "") is None
    assert plans.find(0, "") is not None
    assert plans.find("large", "") is not None
    assert 3 == len(plans)


def test_signs_of_percent_are_played_as_they_are() -> None:
    def render(marks: Marks) -> Wire:
        name = marks.hex(8)
        return Wire(200, (), tuple(Frame(f"100%b {name} %% {int(marks.now())} %".encode(), due) for due in (0.0, 5.0)))

    made = make_plan(render)
    assert made is not None
    played = made.play(FixedContext(1_800_000_000.0, 1), PromptWords.of((1, 2)))

    name = FixedContext(seed=1).hex(8)
    assert [f"100%b {name} %% 1800000000 %".encode()] * 2 == [frame.data for frame in played.frames]


def test_frames_that_are_due_together_are_joined_up_to_a_size() -> None:
    small = tuple(Frame(b"x", due) for due in (0.0, 0.0, 5.0))
    large = tuple(Frame(b"x" * (MAX_JOINED // 2)) for _ in range(5))

    assert (Frame(b"xx"), Frame(b"x", 5.0)) == coalesced(small)
    assert [MAX_JOINED, MAX_JOINED, MAX_JOINED // 2] == [len(frame.data) for frame in coalesced(large)]
