"""A run against a client: who is right is conformant, who does nothing is red, whatever it claims."""

import json
import sys
from pathlib import Path

import pytest

from fakellm.conform.client import ClientTarget, conform_client
from fakellm.conform.finding import Outcome
from fakellm.conform.report import jsonl
from fakellm.conform.session import Options, Result, report_again
from fakellm.conform.verdict import Exit, Word
from fakellm.errors import UsageError
from support.clients import (
    AlwaysRefuses,
    AlwaysSkips,
    Crashes,
    GivesUpBeforeItCalls,
    NeverCalls,
    Nonsense,
    ShiftsScores,
)

SMOKE = Options(smoke=True, layouts=("vllm-0.32.0",), only=("smoke/**api=chat**",))
REFERENCE = "fakellm.conform.mutants.reference:Reference"


async def run(adapter: str | type, options: Options = SMOKE) -> Result:
    name = adapter if isinstance(adapter, str) else f"{adapter.__module__}:{adapter.__name__}"
    return await conform_client(ClientTarget(adapter=name), options)


def failing(result: Result) -> set[str]:
    return {verdict.finding.check for verdict in result.footer.failing}


async def test_the_reference_client_is_conformant() -> None:
    result = await run(REFERENCE)

    assert (Word.CONFORMANT, Exit.OK) == (result.footer.word, result.footer.exit_code)
    assert (3, 3) == (result.footer.tally.usable, result.footer.tally.carrying)


@pytest.mark.parametrize("adapter", [NeverCalls, AlwaysSkips])
async def test_a_client_that_never_calls_is_never_green(adapter: type) -> None:
    result = await run(adapter)

    assert Exit.NOTHING_RAN == result.footer.exit_code
    assert Word.CONFORMANT != result.footer.word


@pytest.mark.parametrize("adapter", [AlwaysRefuses, Crashes])
async def test_a_client_that_takes_no_healthy_answer_is_nonconformant(adapter: type) -> None:
    result = await run(adapter)

    assert Word.NONCONFORMANT == result.footer.word
    assert "outcome.healthy-captured" in failing(result)


async def test_an_adapter_that_returns_nonsense_is_an_error_not_its_clients_failure() -> None:
    result = await run(Nonsense)

    assert Exit.ERROR == result.footer.exit_code
    assert {"runner.schema-violation"} == {
        verdict.finding.check for verdict in result.footer.failing if verdict.finding.outcome is Outcome.ERROR
    }


async def test_lost_scores_are_found_with_their_place() -> None:
    result = await run(ShiftsScores)

    assert Word.NONCONFORMANT == result.footer.word
    found = next(one.finding for one in result.footer.failing if one.finding.check == "align.logprobs")
    assert "choices[0].logprobs[0]" == found.where


async def test_a_filtered_run_is_partial_because_musts_stay_untested() -> None:
    result = await run(REFERENCE, Options(layouts=("vllm-0.32.0",), only=("smoke/**api=chat**",)))

    assert (Word.PARTIAL, Exit.RED) == (result.footer.word, result.footer.exit_code)


async def test_a_call_that_was_given_up_before_it_was_made_gets_more_time() -> None:
    options = Options(layouts=("vllm-0.32.0",), only=("cancel/stream[api=chat**",))

    assert "call.made" not in failing(await run(GivesUpBeforeItCalls, options))
    assert "call.made" in failing(await run(NeverCalls, options))


async def test_nothing_selected_is_red() -> None:
    result = await run(NeverCalls, Options(smoke=True, layouts=("vllm-0.32.0",), only=("smoke/**api=completions**",)))

    assert Exit.NOTHING_RAN == result.footer.exit_code


async def test_a_pattern_that_selects_nothing_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="no case matches 'smoke/one-answers'") as caught:
        await run(REFERENCE, Options(only=("smoke/one-answers",)))

    assert "did you mean 'smoke/one-answer'?" in str(caught.value)


async def test_an_extractor_is_fed_the_bytes() -> None:
    result = await conform_client(ClientTarget(extract="support.clients:extract"), SMOKE)

    assert (Word.CONFORMANT, 2) == (result.footer.word, result.footer.tally.cases)


async def test_a_command_per_case_is_judged_by_the_line_it_prints(tmp_path: Path) -> None:
    script = tmp_path / "call.py"
    script.write_text(
        """
import json, os, sys, urllib.request
sys.path[:0] = SUPPORT
from support.clients import extract
url = sys.argv[1] + "/chat/completions"
body = os.environ["FAKELLM_REQUEST"]
request = urllib.request.Request(url, body.encode(), {"content-type": "application/json"})
answer = urllib.request.urlopen(request).read()
if PRINTS: print("talk first"); print(json.dumps(extract(answer, "")))
""".replace("SUPPORT", repr([str(Path(__file__).parents[2]), *sys.path])),
        encoding="utf-8",
    )
    command = (sys.executable, str(script))
    options = Options(smoke=True, layouts=("vllm-0.32.0",), only=("smoke/one-answer",))
    text = script.read_text(encoding="utf-8")

    script.write_text(f"PRINTS = True\n{text}", encoding="utf-8")
    judged = await conform_client(ClientTarget(command=command, per_case=True), options)
    script.write_text(f"PRINTS = False\n{text}", encoding="utf-8")
    silent = await conform_client(ClientTarget(command=command, per_case=True), options)

    assert (Word.CONFORMANT, 1) == (judged.footer.word, judged.footer.tally.usable)
    assert 0 == silent.footer.tally.usable
    assert silent.footer.tally.counts["pass"] > 0


async def test_a_command_per_case_that_fails_says_so() -> None:
    command = (sys.executable, "-c", "import sys; sys.exit('no network')")
    result = await conform_client(ClientTarget(command=command, per_case=True), SMOKE)

    assert Exit.NOTHING_RAN == result.footer.exit_code


@pytest.mark.parametrize(
    "target", [ClientTarget(), ClientTarget(adapter="a:b", extract="c:d"), ClientTarget(adapter="no.such.module:X")]
)
async def test_no_client_or_two_or_one_that_is_not_there_is_a_mistake(target: ClientTarget) -> None:
    with pytest.raises(UsageError):
        await conform_client(target, SMOKE)


async def test_reports_are_written_and_shards_come_to_the_verdict_of_the_whole(tmp_path: Path) -> None:
    only = ("smoke/**", "scores/late-eos**", "ids/prompt-null**")
    whole = await run(ShiftsScores, Options(layouts=("vllm-0.32.0",), only=only, report_dir=tmp_path / "whole"))
    files: list[Path] = []
    for part in (1, 2, 3):
        folder = tmp_path / str(part)
        await run(ShiftsScores, Options(layouts=("vllm-0.32.0",), only=only, shard=(part, 3), report_dir=folder))
        files.append(folder / "report.jsonl")

    (merged,) = report_again(files, Options(report_dir=tmp_path / "merged"), [])

    assert whole.footer.to_json() | {"failing": []} == merged.to_json() | {"failing": []}
    failures = sorted(json.dumps(one, sort_keys=True) for one in whole.footer.to_json()["failing"])
    assert failures == sorted(json.dumps(one, sort_keys=True) for one in merged.to_json()["failing"])
    assert set(jsonl.read(tmp_path / "whole" / "report.jsonl").cases) == set(
        jsonl.read(tmp_path / "merged" / "report.jsonl").cases
    )
    assert {"report.jsonl", "report.html", "junit.xml", "summary.md", "badge.json", "evidence"} == {
        path.name for path in (tmp_path / "whole").iterdir()
    }


@pytest.fixture
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in CI, where a baseline's reasons must be written."""
    monkeypatch.delenv("CI", raising=False)


async def test_a_written_baseline_makes_the_next_run_exit_with_0(tmp_path: Path, at_home: None) -> None:
    path = tmp_path / "fakellm-baseline.yaml"
    first = await run(ShiftsScores, Options(smoke=True, layouts=("vllm-0.32.0",), write_baseline=path))
    second = await run(ShiftsScores, Options(smoke=True, layouts=("vllm-0.32.0",), baseline=path))

    assert (Exit.RED, Exit.OK) == (first.footer.exit_code, second.footer.exit_code)
    assert Word.NONCONFORMANT == second.footer.word


async def test_a_client_that_was_mended_makes_its_baseline_stale(tmp_path: Path, at_home: None) -> None:
    path = tmp_path / "fakellm-baseline.yaml"
    await run(ShiftsScores, Options(smoke=True, layouts=("vllm-0.32.0",), write_baseline=path))

    mended = await run(REFERENCE, Options(smoke=True, layouts=("vllm-0.32.0",), baseline=path))

    assert Exit.RED == mended.footer.exit_code
    assert mended.footer.stale


async def test_the_same_seed_gives_the_same_report(tmp_path: Path) -> None:
    texts: list[list[object]] = []
    for name in ("one", "two"):
        folder = tmp_path / name
        await run(REFERENCE, Options(smoke=True, layouts=("vllm-0.32.0",), seed=7, report_dir=folder))
        rows = [json.loads(line) for line in (folder / "report.jsonl").read_text(encoding="utf-8").splitlines()]
        texts.append([row.get("observed") for row in rows if row["type"] == "case"])

    assert texts[0] == texts[1]


async def test_several_clients_make_one_matrix(tmp_path: Path) -> None:
    files: list[Path] = []
    for adapter in (REFERENCE, f"{AlwaysRefuses.__module__}:AlwaysRefuses"):
        folder = tmp_path / adapter.rpartition(":")[2]
        await run(adapter, Options(smoke=True, layouts=("vllm-0.32.0",), report_dir=folder))
        files.append(folder / "report.jsonl")

    footers = report_again(files, Options(report_dir=tmp_path / "matrix"), [])

    assert [Word.CONFORMANT, Word.NONCONFORMANT] == [footer.word for footer in footers]
    page = (tmp_path / "matrix" / "report.html").read_text(encoding="utf-8")
    assert "fakellm reference client" in page
    assert "AlwaysRefuses" in page
