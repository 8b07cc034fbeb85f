"""Workers tell each other what to abort: everyone but the speaker hears it, in full, and nobody waits."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from fakellm.layouts.base import Which
from fakellm.state.by_workers import WorkerState
from fakellm.state.mailboxes import MOST_IDS, Mailboxes

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers need a system that can fork")

PATIENCE_SECONDS = 20.0
Heard = asyncio.Queue[tuple[str, Which]]


def copy_of(boxes: Mailboxes) -> Mailboxes:
    """What another worker inherits by the fork: the same ends."""
    twin = Mailboxes()
    twin.__dict__.update(boxes.__dict__)
    return twin


@pytest.fixture
def boxes() -> Iterator[Mailboxes]:
    made = Mailboxes()
    made.open(3)
    yield made
    made.close()


def workers(boxes: Mailboxes) -> list[tuple[Mailboxes, Heard]]:
    loop = asyncio.get_running_loop()
    made: list[tuple[Mailboxes, Heard]] = []
    for number in range(3):
        heard: Heard = asyncio.Queue()
        own = copy_of(boxes)
        own.take(number, loop, lambda scenario, which, heard=heard: heard.put_nowait((scenario, which)))
        made.append((own, heard))
    return made


async def next_of(heard: Heard) -> tuple[str, Which]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await heard.get()


async def test_the_others_hear_it(boxes: Mailboxes) -> None:
    (first, own), (_, second), (_, third) = workers(boxes)

    first.tell("chat", Which(("a", "b"), prefix=True))

    assert ("chat", Which(("a", "b"), prefix=True)) == await next_of(second)
    assert ("chat", Which(("a", "b"), prefix=True)) == await next_of(third)
    assert own.empty()


async def test_everything_is_a_word_too(boxes: Mailboxes) -> None:
    (first, _), (_, second), _ = workers(boxes)

    first.tell("chat", Which())

    assert ("chat", Which()) == await next_of(second)


async def test_a_long_list_arrives_in_several_words(boxes: Mailboxes) -> None:
    (first, _), (_, second), _ = workers(boxes)
    ids = tuple(f"id-{number}" for number in range(MOST_IDS + 1))

    first.tell("chat", Which(ids))

    one, two = await next_of(second), await next_of(second)
    assert ids == (*(one[1].ids or ()), *(two[1].ids or ()))


async def test_an_inbox_that_is_full_keeps_nobody(boxes: Mailboxes) -> None:
    first = copy_of(boxes)
    first.take(0, asyncio.get_running_loop(), lambda scenario, which: None)

    for _ in range(10_000):
        first.tell("chat", Which(("x" * 1000,)))


def test_who_is_no_worker_tells_nobody(boxes: Mailboxes) -> None:
    boxes.tell("chat", Which())

    for inbox, _ in boxes._pairs:  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(BlockingIOError):
            inbox.recv(1)


async def test_a_worker_that_comes_anew_has_nothing_in_hand() -> None:
    """Whoever was there before it may have died in the middle of answers."""
    state = WorkerState()
    state.mailboxes.open(2)
    others = state.elsewhere("chat")
    state.mailboxes.own = 1
    others.have(3)

    state.mailboxes.own = 0
    assert 3 == others.requests()
    state.begin(1, asyncio.get_running_loop(), lambda scenario, which: None)
    state.mailboxes.own = 0

    assert 0 == others.requests()
    state.mailboxes.close()
