"""report.html in a real Chromium: it draws without network, keeps hostile text as text, and works by keyboard."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fakellm.conform.finding import Outcome
from fakellm.conform.report.html import Html
from fakellm.conform.report.records import CaseRecord
from fakellm.conform.verdict import Standing
from support.browser import Browser
from support.conformance import NASTY, record, strip, verdict, write

pytestmark = pytest.mark.tool("chromium")


def page(folder: Path, *records: CaseRecord) -> Path:
    path = folder / "report.html"
    write(Html(path, {"align.logprobs": "Scores MUST be kept."}), *records)
    return path


@pytest.fixture
async def browser(tool: str, tmp_path: Path) -> AsyncIterator[Browser]:
    async with Browser(tool, tmp_path / "profile") as opened:
        yield opened


def failing(case: str = "scores/late[api=chat]", **changes: object) -> CaseRecord:
    return record(
        verdict(case=case), case=case, strips={"align.logprobs": strip()}, why="https://example.org/1", **changes
    )


def passing(case: str) -> CaseRecord:
    return record(verdict(Outcome.PASS, case=case), case=case)


async def text(browser: Browser) -> str:
    return str(await browser.ask("document.body.innerText"))


async def test_it_opens_at_what_is_red_with_the_strip_and_the_command(browser: Browser, tmp_path: Path) -> None:
    await browser.open(page(tmp_path, passing("ids/plain[api=chat]"), failing()))

    shown = await text(browser)
    assert "usable captures: 1 of 2 exchanges that carried ids" in shown
    assert "Scores MUST be kept." in shown
    assert "one of the ids is lost" in shown
    assert "fakellm conform client --only 'scores/late[api=chat]' -- python adapter.py" in shown
    assert "1 of 2 shown" in shown
    assert [] == browser.errors


async def test_the_first_divergence_is_in_view(browser: Browser, tmp_path: Path) -> None:
    wide = strip() | {"first": 60, "total": 90}
    rows = [{**strip()["rows"][0], "position": at, "differs": at >= 60} for at in range(90)]  # type: ignore[index]
    await browser.open(page(tmp_path, record(verdict(), strips={"align.logprobs": {**wide, "rows": rows}})))

    left = "document.querySelector('.strip .first').getBoundingClientRect().left"
    right = "document.querySelector('.strip').getBoundingClientRect().right"
    assert 0 < float(await browser.ask(left)) < float(await browser.ask(right))


async def test_hostile_text_stays_text(browser: Browser, tmp_path: Path) -> None:
    hostile = failing(title=NASTY, message=NASTY, stderr=NASTY, evidence={"response": NASTY, NASTY: NASTY})
    await browser.open(page(tmp_path, hostile))

    assert 0 == await browser.ask("document.querySelectorAll('b').length")
    assert "</script><b onload=x>" in await text(browser)
    assert [] == browser.errors


async def test_links_are_made_of_http_addresses_only(browser: Browser, tmp_path: Path) -> None:
    why = "javascript:alert(1) data:text/html,x https://example.org/1"
    await browser.open(page(tmp_path, record(verdict(), why=why)))

    assert ["https://example.org/1"] == await browser.ask("[...document.links].map((one) => one.getAttribute('href'))")


async def test_it_works_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    await browser.open(page(tmp_path, failing("a/one[api=chat]"), failing("a/two[api=chat]"), passing("b/three")))
    opened = "document.querySelectorAll('tr.detail').length"
    focused = "document.activeElement.innerText || document.activeElement.id"
    assert 1 == await browser.ask(opened)

    await browser.press("ArrowDown")
    await browser.press("ArrowDown")
    assert "a/two" in str(await browser.ask(focused))
    await browser.press("Enter")
    assert 2 == await browser.ask(opened)
    await browser.press("Escape")
    assert 1 == await browser.ask(opened)
    await browser.press("/")
    assert "filter" == await browser.ask(focused)
    for letter in "two":
        await browser.press(letter)
    assert "1 of 3 shown" in await text(browser)


async def test_expected_failures_are_not_shouted(browser: Browser, tmp_path: Path) -> None:
    await browser.open(page(tmp_path, record(verdict(standing=Standing.EXPECTED))))

    assert "FAIL expected" in " ".join((await text(browser)).split())


async def test_ten_thousand_tokens_and_a_thousand_cases_stay_quick(browser: Browser, tmp_path: Path) -> None:
    rows = [{**strip()["rows"][0], "position": at, "differs": at > 20} for at in range(65)]  # type: ignore[index]
    long = strip() | {"rows": rows, "total": 10_000, "first": 21}
    evidence = {"response": "x" * 20_000, "folder": "evidence/long/"}
    records = [record(verdict(), strips={"align.logprobs": long}, evidence=evidence)]
    records += [failing(f"many/case-{number}[api=chat]") for number in range(1000)]

    async with asyncio.timeout(20):
        await browser.open(page(tmp_path, *records))
        shown = await text(browser)

    assert "65 of 10000 completion tokens" in shown
    assert "1001 of 1001 shown" in shown
    assert "evidence/long/" in str(
        await browser.ask("[...document.links].map((one) => one.getAttribute('href')).join()")
    )


async def test_nothing_is_loaded_from_anywhere(browser: Browser, tmp_path: Path) -> None:
    await browser.open(page(tmp_path, failing()))

    assert [] == await browser.ask("performance.getEntriesByType('resource').map((one) => one.name)")


@pytest.mark.parametrize("width", [1200, 420])
async def test_it_never_scrolls_sideways_as_a_whole(tool: str, tmp_path: Path, width: int) -> None:
    async with Browser(tool, tmp_path / "profile", width=width, dark=True) as browser:
        await browser.open(page(tmp_path, failing()))

        overflow = await browser.ask("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        back = await browser.ask("getComputedStyle(document.body).backgroundColor")

    assert overflow <= 0
    assert "rgb(20, 23, 28)" == back
