"""The main job on a real client: the openai SDK keeps what its baselines say, loses what they say, and nothing else."""

import sys
from pathlib import Path

import pytest

from fakellm.conform.client import ClientTarget, conform_client
from fakellm.conform.session import Options, Result
from fakellm.conform.verdict import Exit, Standing
from fakellm.resources import resource

pytest.importorskip("openai", reason="the real SDK is a development dependency")
ADAPTER = resource("conformance") / "adapters" / "openai-python"


async def judged(mode: str, folder: Path) -> Result:
    options = Options(baseline=ADAPTER / f"baseline-{mode}.yaml", report_dir=folder)
    return await conform_client(ClientTarget(command=(sys.executable, str(ADAPTER / "adapter.py"), mode)), options)


async def test_whole_and_streamed_answers_keep_ids_and_scores(tmp_path: Path) -> None:
    result = await judged("create", tmp_path)

    assert Exit.OK == result.footer.exit_code, [one.finding for one in result.footer.failing if one.standing is None]
    tally = result.footer.tally
    assert tally.usable > 0.9 * tally.carrying > 100
    losing = {one.finding.check for one in result.footer.failing}
    assert not losing & {"align.completion-ids", "align.prompt-ids", "align.logprobs"}


async def test_the_stream_helper_loses_completion_ids_and_the_report_shows_which(tmp_path: Path) -> None:
    result = await judged("helper", tmp_path)

    assert Exit.OK == result.footer.exit_code
    lost = [one for one in result.footer.failing if one.finding.check == "capture.kept"]
    assert {Standing.EXPECTED} == {one.standing for one in lost}
    assert {"completion_token_ids"} <= {one.finding.where for one in lost}
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "ids are lost" in page
    assert "adapter.py helper" in page
