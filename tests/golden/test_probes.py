"""Requests made up to look where the fake could part from vLLM, as real servers answered them: nothing differs.

``make golden-vllm VERSION=... GOLDEN_ARGS=--probes`` captures them (tools/golden_vllm/probes).
"""

from pathlib import Path

import pytest

from fakellm.fidelity.compare import DIFFERS
from fakellm.fidelity.run import Report, run

PACKED = Path(__file__).with_name("probes.tar.xz")


@pytest.fixture(scope="module")
def report() -> Report:
    return run([PACKED])


def test_every_probe_is_judged(report: Report) -> None:
    assert 16471 == len(report.judged)


def test_nothing_differs(report: Report) -> None:
    assert {} == {
        f"{entry.folder}/{entry.name}": f"at {entry.verdict.where}: {entry.verdict.detail}"
        for entry in report.judged
        if entry.verdict.verdict == DIFFERS
    }
