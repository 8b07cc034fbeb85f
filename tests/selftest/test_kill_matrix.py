"""The suite tests itself: every mutant is caught, by exactly the checks whose business it is; every check catches one.

Everything runs in process: mutant clients and gateways against the fake on loopback, on the cases of their areas.
"""

from __future__ import annotations

import pytest

from fakellm.conform.checks import all_checks
from fakellm.conform.finding import Level
from fakellm.conform.mutants.clients import CLIENTS
from fakellm.conform.mutants.gateway_mutants import BENIGN, MUTANTS, RUDE
from fakellm.conform.mutants.matrix import areas_of, try_client, try_gateway
from fakellm.conform.mutants.reference import Reference
from fakellm.conform.observation import Mode
from support import kill_matrix as expected

SHOULD_ONLY = {"crash-on-untrusted", "forget-weights", *RUDE}
"""Mutants of checks that are SHOULD themselves."""


@pytest.mark.parametrize("name", CLIENTS)
async def test_a_mutant_client_fails_exactly_its_checks(name: str) -> None:
    trial = await try_client(name, CLIENTS[name], only=areas_of(name))

    assert expected.CLIENTS[name] == trial.told
    assert trial.errors == ()
    assert trial.musts or name in SHOULD_ONLY


@pytest.mark.parametrize("name", [*MUTANTS, *RUDE])
async def test_a_mutant_gateway_fails_exactly_its_checks(name: str) -> None:
    trial = await try_gateway(name, only=areas_of(name))

    assert expected.GATEWAYS[name] == trial.told
    assert trial.errors == ()
    assert trial.musts or name in SHOULD_ONLY


async def test_the_reference_client_passes_the_whole_core() -> None:
    trial = await try_client("reference", Reference)

    assert set() == trial.told
    assert trial.word == "conformant"
    assert trial.cases > 250


@pytest.mark.parametrize("name", BENIGN)
async def test_a_benign_gateway_stays_green(name: str) -> None:
    trial = await try_gateway(name)

    assert set() == trial.told
    assert trial.word == "conformant"
    assert trial.cases > 250


@pytest.mark.parametrize(("mode", "sets"), [(Mode.CLIENT, expected.CLIENTS), (Mode.GATEWAY, expected.GATEWAYS)])
def test_every_check_is_killed_by_a_mutant(mode: Mode, sets: dict[str, set[str]]) -> None:
    weighty = {check.id for check in all_checks() if mode in check.modes and check.level is not Level.INFO}

    assert set() == weighty - set().union(*sets.values())


def test_every_mutant_has_its_set() -> None:
    assert set(CLIENTS) == set(expected.CLIENTS)
    assert {*MUTANTS, *RUDE} == set(expected.GATEWAYS)
