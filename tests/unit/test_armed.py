"""Faults armed by hand: on the next so many answers that they apply to, and then no more."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.armed import SLOTS, Armory
from fakellm.errors import FaultError, UsageError
from fakellm.scenario.match import MemoryCounters
from fakellm.stage import Stage
from support.stages import Spoken, body_of, chat, spoken, stage

DOUBLED = "completion-ids-doubled"


def playing(armory: Armory, **more: Any) -> Stage:
    return stage(Spoken(spoken("Hello")), armed=armory, **more)


def ids(playing: Stage, **body: Any) -> int:
    """How many completion ids the next answer tells."""
    answer = playing.answer(chat(return_token_ids=True, **body))
    return len(json.loads(body_of(answer))["choices"][0]["token_ids"])


class TestTimes:
    """How long an armed fault lasts."""

    def test_once_and_then_the_plain_answer_again(self) -> None:
        armory = Armory()
        server = playing(armory)
        plain = ids(server)
        armory.arm(DOUBLED)

        assert [2 * plain, plain, plain] == [ids(server) for _ in range(3)]
        assert [] == armory.rows()

    def test_a_plan_that_is_known_does_not_hide_it(self) -> None:
        armory = Armory()
        server = playing(armory)
        plain = [ids(server) for _ in range(3)][-1]

        armory.arm(DOUBLED)

        assert 2 * plain == ids(server)

    def test_without_a_number_until_it_is_taken_back(self) -> None:
        armory = Armory()
        server = playing(armory)
        plain = ids(server)
        armed = armory.arm(DOUBLED, times=None)
        assert [2 * plain] * 3 == [ids(server) for _ in range(3)]

        assert armory.disarm(armed.number)

        assert plain == ids(server)
        assert not armory.disarm(armed.number)

    def test_workers_that_share_counters_play_it_once_together(self) -> None:
        counters = MemoryCounters()
        armories = [Armory(counters), Armory(counters)]
        servers = [playing(armory) for armory in armories]
        plain = ids(servers[0])
        for armory in armories:
            armory.arm(DOUBLED)

        assert [2 * plain, plain] == [ids(server) for server in servers]
        assert [[], []] == [armory.rows() for armory in armories]


class TestWhere:
    """Which answers it waits for."""

    def test_it_waits_for_a_request_that_it_applies_to(self) -> None:
        armory = Armory()
        server = playing(armory)
        armory.arm("logprobs-null")

        without = json.loads(body_of(server.answer(chat())))
        scored = json.loads(body_of(server.answer(chat(logprobs=True))))

        assert "Hello" == without["choices"][0]["message"]["content"]
        assert scored["choices"][0]["logprobs"] is None
        assert [] == armory.rows()

    def test_only_in_the_scenario_that_it_is_armed_for(self) -> None:
        armory = Armory()
        server = playing(armory)
        armory.arm(DOUBLED, scenario="another")

        assert ids(server) == ids(server)
        assert 1 == len(armory.rows())

    def test_the_journal_names_it(self) -> None:
        armory = Armory()
        armory.arm({DOUBLED: {"choice": 0}})

        played = playing(armory).answer(chat(return_token_ids=True)).behind()

        assert played is not None
        assert [DOUBLED] == [call.fault.id for call in played.distortion.calls]


class TestRefusals:
    """What cannot be armed is said."""

    def test_a_fault_that_nobody_knows(self) -> None:
        with pytest.raises(FaultError, match="no fault") as problem:
            Armory().arm("completion-ids-doubeld")
        assert "did you mean 'completion-ids-doubled'?" == problem.value.hint

    @pytest.mark.parametrize("times", [0, -1, 1.5, True, "2"])
    def test_a_number_of_times_that_is_none(self, times: Any) -> None:
        with pytest.raises(FaultError, match="times is a number from 1 on"):
            Armory().arm(DOUBLED, times=times)

    def test_slots_are_never_used_twice_before_a_reset(self) -> None:
        armory = Armory()
        for _ in range(SLOTS):
            armory.disarm(armory.arm(DOUBLED).number)

        with pytest.raises(UsageError, match="since the last reset"):
            armory.arm(DOUBLED)
        armory.clear()
        assert 0 == armory.arm(DOUBLED).number
