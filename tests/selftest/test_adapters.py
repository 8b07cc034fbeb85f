"""No false alarm on honest clients, and a word of its own for every adapter that is none."""

from __future__ import annotations

import sys

import pytest

from fakellm.conform.client import ClientTarget, conform_client
from fakellm.conform.drivers.base import Patience
from fakellm.conform.finding import Level, Outcome
from fakellm.conform.session import Options, Setup

SHORT = Setup(patience=Patience(start=20.0, answer=-9.0, stop=0.5))
"""One second for an answer: the deadline of the protocol is never under ten."""
ONE = Options(only=("smoke/one-answer[api=chat,layout=vllm-0.32.0,stream=false]",))


@pytest.mark.parametrize("name", ["TextOnly", "WholeChatOnly"])
async def test_a_client_that_declares_what_it_does_not_show_is_conformant(name: str) -> None:
    result = await conform_client(ClientTarget(adapter=f"support.honest:{name}"), Options())

    assert result.footer.word == "conformant"
    assert len(result.selection.cases) > 100


async def test_a_value_that_is_null_in_all_streams_is_a_warning() -> None:
    result = await conform_client(ClientTarget(adapter="support.honest:NoScoresInStreams"), Options())

    fails = [one.finding for one in result.findings if one.finding.outcome is Outcome.FAIL]
    assert result.footer.word == "conformant-with-warnings"
    assert {"capture.kept"} == {one.check for one in fails if one.level is Level.SHOULD}


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("does-nothing", "call.made"),
        ("always-refuses", "call.made"),
        ("always-skips", "call.made"),
        ("exits-at-once", "runner.early-exit"),
        ("floods-stdout", "runner.flood"),
        ("hangs", "runner.no-answer"),
        ("splits-lines", "runner.not-json"),
        ("answers-twice", "runner.duplicate-seq"),
        ("unknown-seq", "runner.unknown-seq"),
        ("hangs-on-stop", "runner.hang-on-stop"),
    ],
)
async def test_an_adapter_that_is_none_is_red_in_its_own_word(name: str, check: str) -> None:
    command = (sys.executable, "-m", "fakellm.conform.mutants.degenerate", name)

    result = await conform_client(ClientTarget(command=command), ONE, setup=SHORT)

    assert check in {one.finding.check for one in result.findings}
    assert result.footer.exit_code in (1, 3, 5)
    assert result.footer.word not in ("conformant", "conformant-with-warnings")
