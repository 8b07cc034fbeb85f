"""What keeps the fake up holds, and is seen to be missing when it is taken out: each probe is green with its guard and
red without it (``support.guards``)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import requires_tool
from support.guards import GUARDS, Arena, Guard, little_patience

pytestmark = pytest.mark.skipif(os.name == "nt", reason="probes limit processes and kill them as Unix does")
NAMES = [guard.name for guard in GUARDS]
PROBES = {guard.probe.__name__: guard for guard in GUARDS}


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    made = Arena(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("probe", PROBES)
async def test_it_holds(probe: str, arena: Arena) -> None:
    guard = PROBES[probe]
    arena.tool = requires_tool(guard.tool) if guard.tool else ""

    await guard.probe(arena)


@pytest.mark.parametrize("guard", GUARDS, ids=NAMES)
async def test_its_probe_is_red_without_it(guard: Guard, arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    arena.tool = requires_tool(guard.tool) if guard.tool else ""
    arena.without = guard.name
    guard.take_out(monkeypatch.setattr)

    with little_patience(), pytest.raises((AssertionError, TimeoutError)):
        await guard.probe(arena)


def test_guards_have_names_of_their_own() -> None:
    assert len(NAMES) == len(set(NAMES))
