"""The handle without pytest's fixtures, and our own fixtures on the loop of a test."""

from __future__ import annotations

from typing import Any

import pytest

from fakellm.errors import FakellmError, UsageError
from fakellm.testing import Fakellm

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "return_token_ids": True}


async def test_the_application_of_the_fixture_runs_on_this_loop(fakellm: Fakellm, aiohttp_client: Any) -> None:
    fakellm.say("Hello").once()
    client = await aiohttp_client(fakellm.app())

    answer = await (await client.post("/v1/chat/completions", json=CHAT)).json()

    assert "Hello" == answer["choices"][0]["message"]["content"]
    fakellm.assert_captured(completion_token_ids=answer["choices"][0]["token_ids"])
    assert not fakellm.server.address


async def test_asking_less_often_than_was_said_is_a_problem(fakellm_factory: Any, aiohttp_client: Any) -> None:
    fake: Fakellm = fakellm_factory(unused="ignore")
    fake.say("Hello").times(2)
    client = await aiohttp_client(fake.app())
    await client.post("/v1/chat/completions", json=CHAT)

    assert [] == fake.problems()
    fake.settings = fake.settings.updated({"unused": "fail"}, where="here")
    assert ["was played 1 of 2 times"] == [problem.partition(" ")[2] for problem in fake.problems()]
    fake.settings = fake.settings.updated({"unused": "ignore"}, where="here")


def test_what_never_came_cannot_be_asked_for() -> None:
    with Fakellm() as fake, pytest.raises(UsageError, match="no request has reached"):
        assert fake.last


@pytest.mark.parametrize("words", [{"layout": "vlm"}, {"scenario": "nowhere.yaml"}, {"seed": "x"}, {"unused": "maybe"}])
def test_a_setting_that_cannot_be_is_told(words: dict[str, Any]) -> None:
    with pytest.raises(FakellmError):
        Fakellm(**words)


def test_a_reply_that_cannot_be_leaves_the_script_as_it_was() -> None:
    with Fakellm() as fake:
        said = fake.say("Hello")
        with pytest.raises(FakellmError, match="did you mean"):
            said.fault("late-eos-scores")
        before = repr(said)
        with pytest.raises(FakellmError):
            said.times(0)

        assert before == repr(said)
        assert 1 == len(fake._script.script.scenario.replies)
