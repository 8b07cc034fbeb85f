"""``make golden-sglang``: what a version's environment needs, the scores the player tells, the made-up requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from golden_sglang import masks
from golden_sglang.engine.rows import BELOW, scores
from golden_sglang.environment import requirements
from golden_sglang.probes.plans import plans
from golden_vllm.installing import InstallError

from fakellm.fidelity.library import Library
from fakellm.resources import resource


@pytest.fixture(scope="module")
def tokenizer() -> Iterator[Path]:
    """The one that the library's SGLang servers ran with."""
    with Library([resource("golden")]) as library:
        folder = next(one for one in library.folders if one.server.server == "sglang" and one.tokenizer)
        assert folder.tokenizer is not None
        yield folder.tokenizer


def unpacked(site: Path, *wanted: str) -> Path:
    place = site / "sglang-1.0.dist-info"
    place.mkdir(parents=True)
    lines = "".join(f"Requires-Dist: {one}\n" for one in wanted)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sglang\nVersion: 1.0\n{lines}")
    return site


def test_only_what_runs_without_a_graphics_card_is_installed(tmp_path: Path) -> None:
    site = unpacked(tmp_path, "fastapi", "torch==2.9", "flashinfer_python==0.5", "pytest; extra == 'test'", "orjson")
    assert ["fastapi", "orjson"] == requirements(site)


def test_a_folder_without_the_wheel(tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="holds no sglang"):
        requirements(tmp_path)


def test_scores_that_the_truth_knows() -> None:
    token = {"id": 7, "logprob": -0.5, "rank": 1, "top": [{"id": 7, "logprob": -0.5, "rank": 1}], "asked": []}
    told = scores(token, 1, None)
    assert (7, -0.5, ((7, -0.5),), None) == (told.id, told.logprob, told.top, told.asked)


def test_scores_asked_for_lie_below_the_sampled_one() -> None:
    told = scores({"id": 7, "logprob": -0.5, "rank": 1, "top": []}, 0, [3, 4])
    assert ((3, -0.5 - BELOW), (4, -1.5 - BELOW)) == told.asked


def test_the_masks_of_a_capture(tmp_path: Path) -> None:
    masks.write(tmp_path)
    written = json.loads((tmp_path / "masks.json").read_text())["servers"]["sglang"]
    assert list(masks.FURTHER) == written[-len(masks.FURTHER) :]


@pytest.mark.parametrize("version", ["0.5.3", "0.5.9", "0.5.23"])
def test_every_request_is_named_once(version: str, tokenizer: Path) -> None:
    made = plans(version, tokenizer)
    names = [(plan.name, request.name) for plan in made for request in plan.requests]
    assert len(set(names)) == len(names)
    assert 11_000 < len(names)
