"""A server held to its word: healthy layouts agree with themselves, every visible fault names the rule it breaks."""

from collections.abc import Callable

import pytest
from aiohttp import web

from fakellm.conform.drivers.gateway_process import SetupError
from fakellm.conform.mutants.servers import serving
from fakellm.conform.server import APIS, ServerTarget, conform_server
from fakellm.conform.session import Options, Result
from fakellm.conform.verdict import Word
from fakellm.errors import UsageError
from fakellm.house import Choices, House
from fakellm.layouts import registry
from fakellm.scenario.plain import plain_auto
from fakellm.server.app import make_app

NOTES = {"server.lengths", "server.alternatives", "server.stream-equals-whole"}
"""What declared losses may show in, as notes."""

ONE_CHOICE = {"mlx-lm": {"server.choices", "server.readable"}}
"""Servers that give one answer whatever n says (MLX-LM 0.32.2, seen): true of them, and told."""


async def judged(layout: str, *faults: str, only: tuple[str, ...] = ()) -> Result:
    async with serving(layout, *faults) as url:
        return await conform_server(ServerTarget(url=url), Options(only=only))


def failing(result: Result) -> set[str]:
    return {verdict.finding.check for verdict in result.footer.failing}


async def test_vllm_is_conformant() -> None:
    result = await judged("vllm-0.32.0")

    assert (Word.CONFORMANT, set()) == (result.footer.word, failing(result))
    assert result.footer.tally.carrying == result.footer.tally.usable > 0


async def test_a_layout_with_declared_losses_is_conformant_with_warnings() -> None:
    result = await judged("sglang-0.5.23")

    assert Word.WITH_WARNINGS == result.footer.word
    assert "server.tells-everything" in failing(result)
    assert "known of sglang-0.5.23" in " ".join(one.finding.message for one in result.footer.failing)


@pytest.mark.parametrize("name", [layout.name for layout in registry.all_layouts() if layout.vendor != "atropos"])
async def test_every_layout_keeps_its_word(name: str) -> None:
    layout = registry.find(name).layout
    async with serving(name) as url:
        result = await conform_server(ServerTarget(url=url), Options(layouts=(name,)))

    told = {api for api, _ in layout.accessors} & APIS
    lost = {row.value for (api, _), rows in layout.accessors.items() if api in told for row in rows if row.loss}
    broken = {one.finding.check for one in result.footer.failing if "two-choices" in one.finding.case}
    elsewhere = {one.finding.check for one in result.footer.failing if "two-choices" not in one.finding.case}
    words = (Word.WITH_WARNINGS, Word.CONFORMANT) if lost else (Word.CONFORMANT,)
    assert result.footer.word in ((Word.NONCONFORMANT,) if name in ONE_CHOICE else words)
    assert ONE_CHOICE.get(name, set()) == broken - {"server.tells-everything"} - NOTES
    assert set() == elsewhere - {"server.tells-everything"} - NOTES


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        ("logprobs-one-short", "server.lengths"),
        ("completion-ids-as-strings", "server.ids"),
        ("completion-ids-past-stop", "server.usage"),
        ("logprob-positive", "server.scores"),
        ("logprobs-rounded", "server.scores"),
        ("logprobs-cumulative", "server.scores"),
        ("n-ignored", "server.choices"),
        ("max-tokens-ignored", "server.finish"),
        ("stop-ignored", "server.stop"),
        ("usage-wrong", "server.usage"),
        ("prompt-ids-of-another-prompt", "server.prompt-ids"),
        ("prompt-ids-retokenised", "server.fed-back"),
        ("top-logprobs-without-sampled", "server.alternatives"),
        ("stream-ignored", "server.readable"),
        ("logprobs-cumulative-lists", "server.stream-equals-whole"),
        ("token-bytes-wrong", "server.text"),
        ("model-renamed", "server.envelope"),
        ("done-missing", "server.envelope"),
    ],
)
async def test_a_fault_breaks_the_rule_that_sees_it(fault: str, rule: str) -> None:
    result = await judged("vllm-0.32.0", fault)

    assert Word.NONCONFORMANT == result.footer.word
    assert rule in failing(result)


async def test_the_layout_is_read_off_the_server() -> None:
    async with serving("sglang-0.5.23") as url:
        result = await conform_server(ServerTarget(url=f"{url}/v1"), Options(only=("smoke/**",)))

    assert {"sglang-0.5.23"} == {case.layout for case in result.selection.cases}


async def test_a_server_that_does_not_say_what_it_is_needs_a_layout() -> None:
    app = web.Application()
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        with pytest.raises(UsageError, match="does not say what it is"):
            await conform_server(ServerTarget(url=url), Options())
        with pytest.raises(SetupError, match="none of the known APIs"):
            await conform_server(ServerTarget(url=url), Options(layouts=("vllm-0.32.0",)))
    finally:
        await runner.cleanup()


async def test_nobody_there_is_a_setup_failure(unused_tcp_port_factory: Callable[[], int]) -> None:
    with pytest.raises(SetupError, match="does not answer"):
        await conform_server(ServerTarget(url=f"http://127.0.0.1:{unused_tcp_port_factory()}"), Options())


async def test_an_api_that_is_switched_off_is_not_held_against_the_server() -> None:
    house = House({}, plain_auto(), Choices(layout="vllm-0.32.0"))
    runner = web.AppRunner(make_app(house.fake), shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        result = await conform_server(ServerTarget(url=url), Options())
    finally:
        await runner.cleanup()

    assert Word.CONFORMANT == result.footer.word
    assert "tito" not in {case.api for case in result.selection.cases}
