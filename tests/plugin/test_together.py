"""The plugin among others: xdist, pytest-asyncio, anyio, pytest-aiohttp; and in an environment that does not use it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.suites import Run

ASYNC_CALL = """
from aiohttp import ClientSession
from client import ASK

async def acall(fakellm):
    body = {**ASK, "messages": [{"role": "user", "content": "Hi"}]}
    async with ClientSession() as session:
        async with session.post(fakellm.base_url + "/chat/completions", json=body) as answer:
            return await answer.json()
"""


def test_every_xdist_worker_has_a_server_of_its_own(run: Run) -> None:
    result = run(
        """
        import json, os, pathlib

        @pytest.mark.parametrize("number", range(8))
        def test_it(fakellm, number, tmp_path_factory):
            fakellm.say(f"Number {number}.").once()
            assert text(call(fakellm)) == f"Number {number}."
            assert len(fakellm.requests) == 1
            seen = pathlib.Path("seen") / f"{os.environ['PYTEST_XDIST_WORKER']}-{number}.txt"
            seen.parent.mkdir(exist_ok=True)
            seen.write_text(fakellm.root_url)
        """,
        "-n",
        "2",
        apart=True,
    )

    result.assert_outcomes(passed=8)
    urls: dict[str, set[str]] = {}
    for file in Path("seen").iterdir():
        urls.setdefault(file.name.partition("-")[0], set()).add(file.read_text())
    assert all(len(seen) == 1 for seen in urls.values()), urls
    assert len(urls) == len(set.union(*urls.values()))


def test_a_failing_worker_tells_the_journal_and_the_findings(run: Run) -> None:
    result = run(
        """
        def test_it(fakellm):
            fakellm.say("Hello").times(2)
            call(fakellm)
        """,
        "-n",
        "1",
        apart=True,
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*was played 1 of 2 times", "*fakellm journal*", "#1 POST /v1/chat/completions -> 200*"]
    )


@pytest.mark.parametrize("mark", ["@pytest.mark.asyncio", "@pytest.mark.anyio"])
def test_an_asynchronous_test_reaches_the_same_server(run: Run, mark: str) -> None:
    result = run(
        f"""{ASYNC_CALL}
@pytest.fixture
def anyio_backend():
    return "asyncio"

{mark}
async def test_it(fakellm):
    fakellm.say("Hello").once()
    assert text(await acall(fakellm)) == "Hello"

{mark}
async def test_undone(fakellm):
    fakellm.say("Hello").once()
"""
    )

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*was played 0 of 1 times"])


def test_the_application_runs_on_the_loop_of_pytest_aiohttp(run: Run) -> None:
    result = run(
        """
        @pytest.mark.asyncio
        async def test_it(fakellm, aiohttp_client):
            fakellm.say("Hello").once()
            client = await aiohttp_client(fakellm.app())
            answer = await client.post("/v1/completions", json={"model": "m", "prompt": "Hi"})
            assert (await answer.json())["choices"][0]["text"] == "Hello"
            assert fakellm.last.path == "/v1/completions"
        """
    )

    result.assert_outcomes(passed=1)


def test_a_suite_that_does_not_use_it_imports_nothing_of_it(run: Run) -> None:
    result = run(
        """
        import sys

        def test_it():
            heavy = ("fakellm", "pydantic", "aiohttp", "yaml")
            loaded = {name for name in sys.modules if name.partition(".")[0] in heavy}
            assert loaded == {"fakellm", "fakellm.pytest_plugin"}
        """,
        "-p",
        "no:aiohttp",
        apart=True,
    )

    result.assert_outcomes(passed=1)


def test_another_package_of_the_name_ends_the_run_with_the_words_that_mend_it(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = pytester.mkdir("site")
    info = site / "fakellm-1.2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fakellm\nVersion: 1.2.3\n")
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)

    result = run("def test_it(): pass\n", apart=True)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: another distribution brings a package called fakellm: fakellm 1.2.3."])
    assert not any("Traceback" in line for line in result.errlines)
