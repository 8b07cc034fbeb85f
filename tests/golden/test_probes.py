"""Made-up requests, asked where the fake could part from a real server, as real servers answered: nothing differs.

``make golden-vllm VERSION=... GOLDEN_ARGS=--probes`` and ``make golden-sglang VERSION=...`` capture them
(tools/golden_vllm/probes, tools/golden_sglang/probes).
"""

from pathlib import Path

import pytest

from fakellm.fidelity.compare import DIFFERS
from fakellm.fidelity.run import Report, run

PACKED = {"probes.tar.xz": 54050, "probes_routes.tar.xz": 234, "probes_sglang.tar.xz": 21502}


@pytest.fixture(scope="module", params=list(PACKED))
def report(request: pytest.FixtureRequest) -> tuple[str, Report]:
    return request.param, run([Path(__file__).with_name(request.param)])


def test_every_probe_is_judged(report: tuple[str, Report]) -> None:
    name, judged = report
    assert PACKED[name] == len(judged.judged)


def test_nothing_differs(report: tuple[str, Report]) -> None:
    assert {} == {
        f"{entry.folder}/{entry.name}": f"at {entry.verdict.where}: {entry.verdict.detail}"
        for entry in report[1].judged
        if entry.verdict.verdict == DIFFERS
    }
