"""``conform server --record``: what was asked is kept with the truth that the answers show, ready to be replayed."""

import json
from pathlib import Path

import pytest

from fakellm.conform.server import ServerTarget, conform_server
from fakellm.conform.session import Options
from fakellm.errors import UsageError
from fakellm.fidelity.run import run as fidelity
from fakellm.house import Choices, House
from fakellm.record.session import facts_beside, packed
from fakellm.scenario.plain import plain_auto
from fakellm.server.run import serving

ONLY = Options(only=("smoke/**", "server/**"))


async def recorded(layout: str, folder: Path) -> None:
    options = ("--enable-scale-out",) if layout == "vllm-0.32.0" else ()
    house = House({}, plain_auto(), Choices(layout=layout, options=options))
    async with serving(house) as server:
        await conform_server(ServerTarget(url=server.url, record=folder), ONLY)


@pytest.mark.parametrize("layout", ["vllm-0.32.0", "sglang-0.5.23"])
async def test_a_recording_replays_exactly(layout: str, tmp_path: Path) -> None:
    await recorded(layout, tmp_path / "taken")

    report = fidelity([tmp_path / "taken"])

    assert {"exact"} == {judged.verdict.verdict for judged in report.judged}
    assert len(report.judged) > 10


async def test_the_lines_can_be_packed_again(tmp_path: Path) -> None:
    await recorded("vllm-0.32.0", tmp_path / "taken")
    file = tmp_path / "taken" / "exchanges.jsonl"

    outcome = packed(file, tmp_path / "again", facts_beside(file, None, None, ()), "unmatched")

    assert outcome.exchanges == outcome.with_truth > 10
    assert (tmp_path / "again" / "truths.json").read_bytes() == (tmp_path / "taken" / "truths.json").read_bytes()


async def test_another_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")

    with pytest.raises(UsageError, match="something else than a recording"):
        await recorded("vllm-0.32.0", tmp_path)

    assert ["thesis.txt"] == [path.name for path in tmp_path.iterdir()]


async def test_without_the_servers_tokenizer_no_truth_is_made_up(tmp_path: Path) -> None:
    from fakellm.conform.mutants.servers import serving as without_admin

    async with without_admin("vllm-0.32.0") as url:
        await conform_server(ServerTarget(url=url, record=tmp_path), ONLY)

    lines = [json.loads(line) for line in (tmp_path / "exchanges.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {None} == {line["truth"] for line in lines}
