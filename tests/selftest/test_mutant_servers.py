"""Every fault as a mutant server: each is caught by exactly the rules whose business it is, every rule catches one."""

from __future__ import annotations

import re

import pytest

from fakellm.conform.checks import all_checks
from fakellm.conform.finding import Level
from fakellm.conform.mutants.matrix import try_layout, try_server
from fakellm.conform.mutants.servers import LOSSY, UNSEEN
from fakellm.conform.observation import Mode
from fakellm.faults.registry import faults
from fakellm.resources import resource
from support.server_matrix import SERVERS


@pytest.mark.parametrize("fault", sorted(SERVERS))
async def test_a_mutant_server_breaks_exactly_its_rules(fault: str) -> None:
    trial = await try_server(fault)

    assert SERVERS[fault] == trial.told
    assert trial.errors == ()
    assert trial.word == "nonconformant"


async def test_what_a_layout_declares_as_lost_is_a_warning() -> None:
    trial = await try_layout(LOSSY)

    assert {"server.tells-everything"} == trial.told
    assert "conformant-with-warnings" == trial.word


def test_every_fault_is_seen_or_listed_with_its_reason() -> None:
    text = (resource("conformance") / "NOT_TESTED.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]+) \|$", text, flags=re.MULTILINE))

    assert set(faults()) == set(SERVERS) | set(UNSEEN)
    assert set() == set(SERVERS) & set(UNSEEN)
    assert dict(UNSEEN) == listed


def test_every_rule_of_server_mode_is_killed_by_a_fault() -> None:
    rules = {check.id for check in all_checks() if Mode.SERVER in check.modes and check.level is Level.MUST}

    assert rules == set().union(*SERVERS.values())
