"""The sandwich: an honest gateway is conformant, a lossy one is told what it loses, and setup failures are apart."""

import sys
from pathlib import Path

import pytest
from aiohttp import web

from fakellm.conform.drivers.gateway_process import GatewayProcess, SetupError
from fakellm.conform.gateway import GatewayTarget, conform_gateway
from fakellm.conform.mutants.matrix import try_gateway
from fakellm.conform.session import Options, Result
from fakellm.conform.verdict import Exit, Word
from fakellm.errors import UsageError
from support import passthrough_gateway

GATEWAY = f"{sys.executable} {passthrough_gateway.__file__} {{upstream}} {{port}}"
SMOKE = Options(smoke=True, layouts=("vllm-0.32.0",))
DROP = r"""
def drop(chunk):
    import re
    return re.sub(rb'"token_ids":\[[^]]*\],?', b"", chunk)


"""


def failing(result: Result) -> set[str]:
    return {verdict.finding.check for verdict in result.footer.failing}


async def test_a_gateway_that_changes_nothing_is_conformant() -> None:
    result = await conform_gateway(GatewayTarget(start=GATEWAY), SMOKE)

    assert (Word.CONFORMANT, Exit.OK) == (result.footer.word, result.footer.exit_code)
    assert result.footer.tally.carrying == result.footer.tally.usable > 0


async def test_a_gateway_that_drops_unknown_fields_is_told_which(tmp_path: Path) -> None:
    source = Path(passthrough_gateway.__file__).read_text(encoding="utf-8")
    lossy = tmp_path / "lossy.py"
    text = source.replace("response.write(chunk)", "response.write(drop(chunk))").replace("def app(", f"{DROP}def app(")
    lossy.write_text(text, encoding="utf-8")
    start = f"{sys.executable} {lossy} {{upstream}} {{port}}"
    only = ("smoke/**api=chat**stream=true]",)

    result = await conform_gateway(GatewayTarget(start=start), Options(smoke=True, layouts=("vllm-0.32.0",), only=only))

    assert Word.NONCONFORMANT == result.footer.word
    lost = [one.finding for one in result.footer.failing if "completion_token_ids" in one.finding.message]
    assert lost


async def test_a_running_gateway_is_reached_by_url(unused_tcp_port_factory) -> None:  # type: ignore[no-untyped-def]
    port: int = unused_tcp_port_factory()
    runner = web.AppRunner(passthrough_gateway.app(f"http://127.0.0.1:{port}"))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        result = await conform_gateway(GatewayTarget(url=url, upstream_port=port), SMOKE)
    finally:
        await runner.cleanup()

    assert Word.CONFORMANT == result.footer.word


async def test_a_gateway_that_answers_by_itself_never_called() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"choices": []})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        result = await conform_gateway(GatewayTarget(url=url, upstream_port=1 << 15), SMOKE)
    finally:
        await runner.cleanup()

    assert "call.made" in failing(result)


@pytest.mark.parametrize(
    ("template", "words"),
    [
        (f"{sys.executable} -c 'raise SystemExit(7)' {{upstream}} {{port}}", "ended with 7"),
        (f"{sys.executable} -c 'import time; time.sleep(60)' {{upstream}} {{port}}", "not ready within 0.5 s"),
        ("no-such-gateway {upstream} {port}", "cannot start 'no-such-gateway'"),
    ],
)
async def test_a_gateway_that_does_not_come_up_is_a_setup_failure(template: str, words: str) -> None:
    with pytest.raises(SetupError, match=words) as caught:
        async with GatewayProcess(template, "http://127.0.0.1:1", timeout=0.5):
            pytest.fail("it cannot be ready")

    assert 3 == caught.value.exit_code


@pytest.mark.parametrize(
    "target",
    [
        GatewayTarget(),
        GatewayTarget(start="x {upstream} {port}", url="http://127.0.0.1:1"),
        GatewayTarget(url="http://127.0.0.1:1"),
        GatewayTarget(start="x {port}"),
        GatewayTarget(start="x {upstream} {port}", apis=("chats",)),
    ],
)
async def test_a_target_that_names_no_gateway_is_a_mistake(target: GatewayTarget) -> None:
    with pytest.raises(UsageError):
        await conform_gateway(target, SMOKE)


async def test_a_gateway_that_hangs_costs_no_more_than_the_runs_patience() -> None:
    trial = await try_gateway("hang", only=("smoke/**",))

    assert {"gateway.answered"} == trial.told
    assert trial.seconds < 9
