"""What the suite takes for the truth where vendors tell it differently: parsed and failed answers, scored prompts."""

import pytest

from fakellm.conform.client import ClientTarget, conform_client
from fakellm.conform.finding import Outcome
from fakellm.conform.session import Options, Result

REFERENCE = "fakellm.conform.mutants.reference:Reference"


async def run(layout: str, *only: str, profile: str = "capture-client") -> Result:
    options = Options(profile=profile, layouts=(layout,), extended=True, only=only)
    return await conform_client(ClientTarget(adapter=REFERENCE), options)


def complaints(result: Result) -> list[str]:
    """Failures, warnings and errors; what so few cases leave untested is no complaint."""
    found = [verdict.finding for verdict in result.footer.failing if verdict.finding.outcome is not Outcome.UNTESTED]
    return [f"{finding.check} {finding.case}: {finding.message}" for finding in found]


@pytest.mark.parametrize("layout", ["vllm-0.32.0", "sglang-0.5.23"])
@pytest.mark.parametrize("area", ["reasoning/**", "tools/**"])
async def test_parsed_answers_are_played_and_judged(layout: str, area: str) -> None:
    result = await run(layout, area)

    assert [] == complaints(result)
    assert {False, True} == {case.stream for case in result.selection.cases}


@pytest.mark.parametrize("layout", ["vllm-0.32.0", "sglang-0.5.23"])
async def test_what_an_engine_told_before_it_failed_is_no_loss_of_the_layout(layout: str) -> None:
    result = await run(layout, "errors/engine-failure", "smoke/one-*")

    assert [] == complaints(result)
    assert ("completions", True) in {(case.api, case.stream) for case in result.selection.cases}


@pytest.mark.parametrize(
    ("layout", "apis"), [("vllm-0.32.0", {"chat", "completions"}), ("sglang-0.5.23", {"generate"})]
)
async def test_scores_of_the_prompt_are_asked_for_where_the_layout_has_them(layout: str, apis: set[str]) -> None:
    result = await run(layout, "happy/prompt-logprobs")

    assert [] == complaints(result)
    assert apis == {case.api for case in result.selection.cases}


@pytest.mark.parametrize("layout", ["vllm-0.32.0", "sglang-0.5.23"])
async def test_an_echoed_prompt_is_scored_before_the_answer(layout: str) -> None:
    result = await run(layout, "echo/healthy", profile="sdk")

    assert [] == complaints(result)
    assert 1 == result.footer.tally.usable
