"""The inspector in a real Chromium: live exchanges, strips, near misses, arming by a click, and hostile text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from fakellm.house import House
from fakellm.scenario.load import from_text
from fakellm.server.run import Bound, make_app_with_admin
from support.browser import Browser

pytestmark = pytest.mark.tool("chromium")

HOSTILE = "</script><b>x</b>\u202e<img src=x onerror=alert(1)>"
SCENARIO = f"""
title: "{HOSTILE}"
replies:
  - when: {{last_message: Hi}}
    say: "Hello {HOSTILE}"
  - when: {{last_message: {{contains: weather}}, model: other}}
    say: Sunny
"""
OTHER = "replies: [{say: Another}]"
ROWS = "document.querySelectorAll('#rows tr').length"
DETAIL = "document.getElementById('detail').innerText"


@pytest.fixture
async def served() -> AsyncIterator[TestServer]:
    scenarios = {"page": from_text(SCENARIO, "page"), "another": from_text(OTHER, "another")}
    async with TestServer(make_app_with_admin(House(scenarios, scenarios["page"]))) as server:
        yield server


def page(served: TestServer) -> str:
    return str(served.make_url("/_fakellm/"))


@pytest.fixture
async def browser(tool: str, tmp_path: Path) -> AsyncIterator[Browser]:
    async with Browser(tool, tmp_path / "profile") as opened:
        yield opened


async def ask(served: TestServer, text: str = "Hi", **body: Any) -> Any:
    """One chat request; the answer's JSON."""
    messages = [{"role": "user", "content": text}]
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            served.make_url("/v1/chat/completions"), json={"model": "m", "messages": messages, **body}
        ) as answer,
    ):
        return await answer.json()


async def opened(browser: Browser, served: TestServer, number: int) -> str:
    """The page with this exchange open; its text."""
    await browser.open(page(served))
    await browser.until(f"{ROWS} >= {number}")
    await browser.ask(f"open('{number}')")
    await browser.until(f"!document.getElementById('detail').hidden && {DETAIL}.startsWith('{number}:')")
    return str(await browser.ask(DETAIL))


async def test_exchanges_appear_while_one_looks(browser: Browser, served: TestServer) -> None:
    await browser.open(page(served))
    await browser.until("document.getElementById('state').textContent === 'live'")
    assert not await browser.ask(ROWS)

    await ask(served)

    await browser.until(f"{ROWS} === 1")
    assert "POST /v1/chat/completions" in str(await browser.ask("document.getElementById('rows').innerText"))
    assert [] == browser.errors


async def test_the_truth_stands_beside_the_wire(browser: Browser, served: TestServer) -> None:
    ids = (await ask(served, return_token_ids=True, logprobs=True))["choices"][0]["token_ids"]

    shown = await opened(browser, served, 1)

    assert "Truth beside the wire" in shown
    assert "nothing diverges" in shown
    for side in ("truth id", "wire id"):
        row = "[...document.querySelectorAll('.strip')].at(-1).querySelectorAll('tr')"
        cells = f"[...{row}].find((one) => one.innerText.startsWith('{side}')).querySelectorAll('td')"
        assert [str(one) for one in ids] == await browser.ask(f"[...{cells}].map((one) => one.textContent)")


async def test_hostile_text_stays_text(browser: Browser, served: TestServer) -> None:
    await ask(served)
    await ask(served, text=HOSTILE, model=HOSTILE)

    for number in (1, 2):
        await opened(browser, served, number)
        assert 0 == await browser.ask("document.querySelectorAll('b, img').length")
    assert HOSTILE in str(await browser.ask("document.body.textContent"))
    assert [] == browser.errors


async def test_near_misses_of_an_unmatched_request(browser: Browser, served: TestServer) -> None:
    await ask(served, text="the weather?")

    shown = await opened(browser, served, 1)

    assert "unmatched" in str(await browser.ask("document.getElementById('rows').innerText"))
    assert "Near misses" in shown
    assert "differs\tmodel" in shown
    assert "fits\tlast_message" in shown


async def test_a_fault_is_armed_by_a_click_and_taken_back(browser: Browser, served: TestServer) -> None:
    await browser.open(page(served))
    await browser.until("document.querySelectorAll('#known option').length > 100")
    await browser.ask("by('fault').value = 'finish-reason-null'; by('fault').dispatchEvent(new Event('input'))")
    assert "finish_reason" in str(await browser.ask("by('about').textContent"))

    await browser.ask("document.querySelector('#arm button').click()")
    await browser.until("by('armed').children.length === 1")
    assert (await ask(served))["choices"][0]["finish_reason"] is None
    assert "stop" == (await ask(served))["choices"][0]["finish_reason"]
    await browser.ask("by('times').value = ''; document.querySelector('#arm button').click()")
    await browser.until("by('armed').innerText.includes('on every answer')")
    await browser.ask("document.querySelector('#armed button').click()")
    await browser.until("by('armed').children.length === 0")

    assert "stop" == (await ask(served))["choices"][0]["finish_reason"]


async def test_what_cannot_be_armed_is_said_on_the_page(browser: Browser, served: TestServer) -> None:
    await browser.open(page(served))

    await browser.ask("by('fault').value = 'finish-reason-nul'; document.querySelector('#arm button').click()")

    await browser.until("by('problem').textContent.includes('did you mean')")


async def test_a_scenario_is_armed_by_a_click(browser: Browser, served: TestServer) -> None:
    await browser.open(page(served))
    await browser.until("document.querySelectorAll('#scenarios button').length === 1")

    await browser.ask("document.querySelector('#scenarios button').click()")
    await browser.until("document.querySelector('#scenarios li').innerText.includes('another')")

    assert "Another" == (await ask(served))["choices"][0]["message"]["content"]


async def test_it_works_by_keyboard(browser: Browser, served: TestServer) -> None:
    for _ in range(2):
        await ask(served)
    await browser.open(page(served))
    await browser.until(f"{ROWS} === 2")

    await browser.press("ArrowDown")
    await browser.press("ArrowDown")
    await browser.press("Enter")
    await browser.until(f"{DETAIL}.startsWith('1:')")
    await browser.press("ArrowUp")
    await browser.press("Enter")
    await browser.until(f"{DETAIL}.startsWith('2:')")
    await browser.press("Escape")
    assert await browser.ask("document.getElementById('detail').hidden")
    await browser.press("f")
    assert "fault" == await browser.ask("document.activeElement.id")
    await browser.press("Escape")
    await browser.press("p")
    await browser.until("document.getElementById('state').textContent === 'paused'")
    await browser.press("/")
    assert "filter" == await browser.ask("document.activeElement.id")


async def test_it_asks_for_the_token_where_there_is_one(browser: Browser) -> None:
    app = make_app_with_admin(House({}, from_text(OTHER, "another")), Bound(admin_token="secret"))
    async with TestServer(app) as served:
        await browser.open(page(served))
        await browser.until("!document.getElementById('gate').hidden")

        await browser.ask("by('token').value = 'secret'; document.querySelector('#gate button').click()")

        await browser.until("document.getElementById('state').textContent === 'live'")
        assert await browser.ask("document.getElementById('gate').hidden")
        assert "secret" not in str(await browser.ask("location.href"))


async def test_nothing_is_loaded_from_elsewhere(browser: Browser, served: TestServer) -> None:
    await ask(served)
    await opened(browser, served, 1)

    loaded = await browser.ask("performance.getEntriesByType('resource').map((one) => one.name)")
    assert loaded
    assert [] == [one for one in loaded if not one.startswith((page(served), "data:"))]


@pytest.mark.parametrize("width", [1200, 420])
async def test_it_never_scrolls_sideways_as_a_whole(tool: str, tmp_path: Path, served: TestServer, width: int) -> None:
    await ask(served, return_token_ids=True, logprobs=True)
    async with Browser(tool, tmp_path / "profile", width=width, dark=True) as browser:
        await opened(browser, served, 1)

        overflow = await browser.ask("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        back = await browser.ask("getComputedStyle(document.body).backgroundColor")

    assert overflow <= 0
    assert "rgb(20, 23, 28)" == back
