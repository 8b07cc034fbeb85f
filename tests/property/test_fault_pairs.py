"""Any faults together: they never crash, never touch the truth, and the same seed gives the same bytes.

What does not go together (two faults that take the same thing away) is an error that names the fault and the reason.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakellm.errors import LayoutError
from fakellm.faults.registry import faults
from fakellm.house import Choices, House
from fakellm.layouts.registry import find
from fakellm.scenario.load import from_data
from fakellm.scenario.plain import plain_auto
from fakellm.showcase import NOON, OPTIONS, SITUATIONS, Situation
from fakellm.stage import Answer

LAYOUTS = ("vllm-0.32.0", "sglang-0.5.23", "dynamo-1.7")
NAMES = sorted(faults())
HOUSE = House({}, plain_auto(), Choices(plans=False), now=lambda: NOON)
PATIENT = settings(deadline=None, max_examples=250, suppress_health_check=[HealthCheck.too_slow])


def play(situation: Situation, layout: str, entries: tuple[Any, ...]) -> Answer:
    server = OPTIONS.get((find(layout).layout.vendor, situation.needs), {})
    scenario = from_data({"server": server, "replies": [{"say": situation.say}]}, "pairs")
    stage = HOUSE.stage(scenario, layout=layout, faults=entries)
    return stage.answer(situation.request(stage.layout))


SETS: dict[tuple[str, str], tuple[str, ...]] = {}


def applicable(situation: Situation, layout: str) -> tuple[str, ...]:
    """The faults that a situation takes, each alone."""
    key = (situation.name, layout)
    if key not in SETS:
        SETS[key] = _applicable(situation, layout)
    return SETS[key]


def _applicable(situation: Situation, layout: str) -> tuple[str, ...]:
    try:
        if play(situation, layout, ()).wire.status != 200:
            return ()  # an API that this layout does not have
    except LayoutError:
        return ()  # a launch option that this version does not have
    return tuple(name for name in NAMES if play(situation, layout, (name,)).problem is None)


PLACES = [(situation, layout) for layout in LAYOUTS for situation in SITUATIONS if applicable(situation, layout)]


@pytest.mark.parametrize(("situation", "layout"), PLACES, ids=lambda part: getattr(part, "name", part))
def test_every_fault_alone_answers_or_says_why_not(situation: Situation, layout: str) -> None:
    for name in NAMES:
        answer = play(situation, layout, (name,))

        assert answer.problem is None or answer.problem.startswith(f"fault {name}: "), name


@pytest.mark.parametrize(("situation", "layout"), PLACES, ids=lambda part: getattr(part, "name", part))
def test_without_a_fault_the_bytes_are_the_layouts(situation: Situation, layout: str) -> None:
    healthy = play(situation, layout, ()).wire

    for name in applicable(situation, layout):
        assert healthy == play(situation, layout, ({name: {"probability": 0.0}},)).wire, name


@PATIENT
@given(st.data())
def test_any_two_applicable_faults(data: st.DataObject) -> None:
    situation, layout = data.draw(st.sampled_from(PLACES))
    known = applicable(situation, layout)
    pair = (data.draw(st.sampled_from(known)), data.draw(st.sampled_from(known)))

    answer = play(situation, layout, pair)

    assert answer.problem is None or answer.problem.split(":")[0] in {f"fault {name}" for name in pair}
    assert answer.wire == play(situation, layout, pair).wire


@PATIENT
@given(st.data())
def test_the_truth_is_the_same_whatever_happens_to_it(data: st.DataObject) -> None:
    situation, layout = data.draw(st.sampled_from(PLACES))
    name = data.draw(st.sampled_from([each for each in applicable(situation, layout) if faults()[each].hook != "ask"]))

    healthy, faulty = play(situation, layout, ()).behind(), play(situation, layout, (name,)).behind()

    assert healthy is not None
    assert faulty is not None
    assert healthy.generations == faulty.generations
    assert healthy.ask.body == faulty.ask.body


@PATIENT
@given(st.integers(0, 10_000), st.sampled_from(PLACES))
def test_chaos_never_crashes(seed: int, place: tuple[Situation, str]) -> None:
    from fakellm.faults.compose import chaos

    situation, layout = place
    calls = tuple(chaos(seed))

    answer = play(situation, layout, calls)

    assert answer.problem is None or answer.problem.startswith("fault ")
