"""The admin API: who may call it, what can be armed by it, and how the journal tells what is new."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from fakellm.house import House
from fakellm.scenario.load import from_text
from fakellm.server.run import Bound, make_app_with_admin
from support.stages import NOON

Client = TestClient[web.Request, web.Application]
CHAT = {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}], "return_token_ids": True}
SCENARIOS = {
    "first": from_text("replies: [{say: One}]", "first"),
    "second": from_text("replies: [{when: {last_message: Hi}, say: Two}]", "second"),
}


class Clock:
    """Seconds since 1970, moved by hand."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def client(clock: Clock) -> AsyncIterator[Client]:
    """A server with two scenarios and no token."""
    async with TestClient(TestServer(make_app_with_admin(House(SCENARIOS, SCENARIOS["first"], now=clock)))) as client:
        yield client


async def asked(client: Client, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    answer = await client.request(method, f"/_fakellm/{path}", json=body, headers=headers)
    return answer.status, await answer.json()


async def said(client: Client) -> dict[str, Any]:
    """The choice of a plain request without an address."""
    answer = await client.post("/v1/chat/completions", json=CHAT)
    return (await answer.json())["choices"][0]


class TestGuard:
    """On loopback without a token: this machine's own programs and pages, nobody else's."""

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", "[::2]"])
    async def test_a_name_that_is_not_loopback_is_refused(self, client: Client, host: str) -> None:
        status, body = await asked(client, "GET", "journal", host=host)

        assert 403 == status
        assert host in body["error"]

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8000", "LOCALHOST", "[::1]:8000", "127.8.8.8"])
    async def test_loopback_names_pass(self, client: Client, host: str) -> None:
        assert 200 == (await asked(client, "GET", "journal", host=host))[0]

    @pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "http://[broken"])
    async def test_a_page_of_somebody_else_is_refused(self, client: Client, origin: str) -> None:
        status, _ = await asked(client, "POST", "reset", host="localhost:8000", origin=origin)

        assert 403 == status

    async def test_its_own_page_passes(self, client: Client) -> None:
        given = {"host": "localhost:8000", "origin": "http://localhost:8000"}

        assert 200 == (await asked(client, "POST", "reset", **given))[0]

    async def test_with_a_token_the_name_does_not_matter_and_the_token_does(self) -> None:
        app = make_app_with_admin(House(SCENARIOS, SCENARIOS["first"]), Bound(admin_token="secret"))
        async with TestClient(TestServer(app)) as client:
            there = {"host": "fake.example"}

            assert 401 == (await asked(client, "GET", "journal", **there))[0]
            assert 401 == (await asked(client, "GET", "journal", **there, authorization="Bearer secreT"))[0]
            assert 200 == (await asked(client, "GET", "journal", **there, authorization="Bearer secret"))[0]
            assert 200 == (await asked(client, "GET", "journal", **there, **{"x-fakellm-admin-token": "secret"}))[0]

    async def test_the_page_itself_holds_nothing_and_needs_no_token(self) -> None:
        app = make_app_with_admin(House(SCENARIOS, SCENARIOS["first"]), Bound(admin_token="secret"))
        async with TestClient(TestServer(app)) as client:
            page = await client.get("/_fakellm/")

            assert (200, "text/html") == (page.status, page.content_type)
            assert "default-src 'none'" in page.headers["content-security-policy"]
            assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


class TestArming:
    """Faults and scenarios put in play while the server runs."""

    async def test_a_fault_once(self, client: Client) -> None:
        plain = len((await said(client))["token_ids"])
        status, body = await asked(client, "POST", "faults/arm", {"fault": "completion-ids-doubled"})

        assert (200, 1) == (status, body["armed"]["left"])
        assert [2 * plain, plain] == [len((await said(client))["token_ids"]) for _ in range(2)]
        assert {"armed": []} == (await asked(client, "GET", "faults/armed"))[1]

    async def test_a_fault_is_taken_back(self, client: Client) -> None:
        plain = len((await said(client))["token_ids"])
        armed = {"fault": "completion-ids-doubled", "times": None, "scenario": "first"}
        number = (await asked(client, "POST", "faults/arm", armed))[1]["armed"]["number"]
        assert 2 * plain == len((await said(client))["token_ids"])

        assert 200 == (await asked(client, "DELETE", f"faults/armed/{number}"))[0]

        assert plain == len((await said(client))["token_ids"])
        assert 404 == (await asked(client, "DELETE", f"faults/armed/{number}"))[0]

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ({}, "the body names no fault"),
            ([], "the body is a JSON object"),
            ({"fault": "nope"}, "there is no fault 'nope'"),
            ({"fault": {"logprob-null": {"att": 1}}}, "has no parameter 'att'"),
            ({"fault": "logprob-null", "times": 0}, "times is a number from 1 on"),
            ({"fault": "logprob-null", "tims": 1}, "there is no 'tims'"),
            ({"fault": "logprob-null", "scenario": "third"}, "there is no scenario 'third'"),
            ({"fault": "logprob-null", "scenario": []}, "there is no scenario []"),
        ],
    )
    async def test_what_cannot_be_armed_is_said(self, client: Client, body: Any, words: str) -> None:
        status, answer = await asked(client, "POST", "faults/arm", body)

        assert 400 == status
        assert words in answer["error"]

    async def test_a_scenario_answers_what_has_no_address_until_the_reset(self, client: Client) -> None:
        assert 200 == (await asked(client, "POST", "scenarios/second/arm"))[0]
        assert "Two" == (await said(client))["message"]["content"]
        rows = (await asked(client, "GET", "scenarios"))[1]["scenarios"]
        assert {"first": False, "second": True} == {row["name"]: row["default"] for row in rows}

        await asked(client, "POST", "reset")

        assert "One" == (await said(client))["message"]["content"]

    async def test_a_scenario_that_is_not_there(self, client: Client) -> None:
        status, body = await asked(client, "POST", "scenarios/secnd/arm")

        assert (400, "did you mean 'second'?") == (status, body["hint"])

    async def test_a_reset_takes_back_what_was_armed(self, client: Client) -> None:
        await asked(client, "POST", "faults/arm", {"fault": "completion-ids-doubled", "times": None})

        await asked(client, "POST", "reset")

        assert {"armed": []} == (await asked(client, "GET", "faults/armed"))[1]

    async def test_the_default_is_replaced_by_one_of_its_name_and_never_removed(self, client: Client) -> None:
        await client.put("/_fakellm/scenarios/first", data="replies: [{say: New}]")
        assert "New" == (await said(client))["message"]["content"]

        status, body = await asked(client, "DELETE", "scenarios/first")

        assert 400 == status
        assert "answers whatever has no address" in body["error"]

    async def test_a_default_that_stands_in_no_file_is_not_removed_either(self) -> None:
        async with TestClient(TestServer(make_app_with_admin(House({}, SCENARIOS["first"])))) as client:
            assert 400 == (await asked(client, "DELETE", "scenarios/first"))[0]

            rows = (await asked(client, "GET", "scenarios"))[1]["scenarios"]

        assert ["first"] == [row["name"] for row in rows]


class TestJournal:
    """What is new since a while ago, and the strips of one exchange."""

    async def test_only_what_changed_since_the_last_look(self, client: Client, clock: Clock) -> None:
        await said(client)
        now = (await asked(client, "GET", "journal"))[1]["now"]
        clock.now += 10
        await said(client)

        rows = (await asked(client, "GET", f"journal?changed={now + 1}"))[1]["exchanges"]

        assert [2] == [row["number"] for row in rows]

    async def test_only_the_newest(self, client: Client) -> None:
        for _ in range(5):
            await said(client)

        rows = (await asked(client, "GET", "journal?limit=2"))[1]["exchanges"]

        assert [4, 5] == [row["number"] for row in rows]

    @pytest.mark.parametrize("query", ["since=x", "limit=-1", "changed=nan", "changed=inf", "since=1e400"])
    async def test_odd_numbers_break_nothing(self, client: Client, query: str) -> None:
        assert 200 == (await asked(client, "GET", f"journal?{query}"))[0]

    async def test_the_truth_beside_the_wire(self, client: Client) -> None:
        await said(client)

        status, body = await asked(client, "GET", "journal/1/strips")

        assert 200 == status
        assert ["prompt", "completion"] == [strip["of"] for strip in body["strips"]]
        assert 404 == (await asked(client, "GET", "journal/7/strips"))[0]
