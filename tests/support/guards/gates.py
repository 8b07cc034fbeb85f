"""Probes of who gets in and what gets out: the admin API, files that scenarios name, pages for the browser."""

from __future__ import annotations

import asyncio
import itertools
import json
import urllib.error
import urllib.request

from fakellm.conform.report import html
from fakellm.scenario.load import from_text, load_file
from fakellm.server import heads

from ..browser import Browser
from .arena import SCENARIO, here
from .mechanism import Arena, Guard, answer_of, chat, connection, head_of, post, refused

COUNT = itertools.count()
HOSTILE = "</script><b>x</b><img src=x onerror=alert(1)>"


async def _status(address: tuple[str, int], *lines: bytes) -> int:
    """The status of a look at the journal with these header lines."""
    async with connection(address) as (reader, writer):
        writer.write(b"GET /_fakellm/journal HTTP/1.1\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n")
        return int((await head_of(reader)).split()[1])


async def no_other_page_reaches_the_admin_api(arena: Arena) -> None:
    """Neither under a name that was pointed at this machine, nor from a page of somebody else's."""
    async with here() as server:
        assert 200 == await _status(server.address, b"host: localhost")
        assert 403 == await _status(server.address, b"host: evil.example")
        assert 403 == await _status(server.address, b"host: localhost", b"origin: http://evil.example")


async def the_admin_api_wants_its_token(arena: Arena) -> None:
    """The right one."""
    async with here(admin_token="right") as server:
        for given, status in (
            (b"x: y", 401),
            (b"authorization: Bearer wrong", 401),
            (b"authorization: Bearer right", 200),
        ):
            assert status == await _status(server.address, b"host: a", given)


async def elsewhere_than_loopback_there_is_always_a_token(arena: Arena) -> None:
    """One is made up and said, where none was given."""
    server = arena.process("serve", "--host", "0.0.0.0")
    try:
        await asyncio.to_thread(urllib.request.urlopen, server.url + "/_fakellm/journal", None, 10)
    except urllib.error.HTTPError as answer:
        status = answer.code
    else:
        status = 200
    _, errors = await asyncio.to_thread(server.stopped)
    assert 401 == status
    assert "can be reached from elsewhere; the admin API wants the token" in errors, errors


async def without_a_word_only_this_machine_is_served(arena: Arena) -> None:
    """The default address is loopback."""
    assert "127.0.0.1" == arena.process("serve", "-q").address[0]


async def no_file_outside_of_the_folder_is_read(arena: Arena) -> None:
    """Not through ``..``, not by a path from the root, not through a link."""
    folder = arena.folder / "in"
    folder.mkdir(exist_ok=True)
    truth = {"prompt_token_ids": [1], "choices": [{"tokens": [{"id": 65, "bytes": [65], "logprob": -0.5, "top": []}]}]}
    outside = arena.folder / "out.json"
    outside.write_text(json.dumps(truth))
    link = folder / "link.json"
    if not link.is_symlink():
        link.symlink_to(outside)
    for name in ("../out.json", str(outside), "link.json"):
        (folder / "probe.yaml").write_text(f"replies: [{{say: {{from: {json.dumps(name)}}}}}]")
        with refused("lies outside of the scenario's folder"):
            load_file(folder / "probe.yaml")


async def a_scenario_from_the_network_reads_no_file(arena: Arena) -> None:
    """What the admin API is given stands in no folder."""
    (arena.folder / "one.json").write_text("{}")
    with refused("needs a scenario that stands in a file"):
        from_text("replies: [{say: {from: one.json}}]", "probe")


async def a_scenario_name_is_a_plain_word(arena: Arena) -> None:
    """It becomes part of addresses, keys and folders."""
    for name in ("../x", "a/b", "a b", "", "A", "x\n", "café"):
        with refused("kebab-case"):
            from_text(SCENARIO, name)


async def text_from_a_wire_is_text_in_the_inspector(arena: Arena) -> None:
    """In a real Chromium."""
    async with here() as server, Browser(arena.tool, arena.folder / "profile") as browser:
        async with connection(server.address) as (reader, writer):
            path = "/v1/" + HOSTILE.replace(" ", "%20").replace("/", "%2f")
            writer.write(post(chat(model=HOSTILE), path))
            assert await answer_of(reader)
        await browser.open(f"http://127.0.0.1:{server.address[1]}/_fakellm/")
        await browser.until("document.querySelectorAll('#rows tr').length === 1")
        await browser.ask("open('1')")
        await browser.until("!document.getElementById('detail').hidden")
        await asyncio.sleep(0.2)
        assert 0 == await browser.ask("document.querySelectorAll('b, img').length")


async def data_in_a_report_is_no_markup(arena: Arena) -> None:
    """Every character that HTML reads is written as its number."""
    assert not set("<>&") & set(html.embedded({HOSTILE: [HOSTILE]}))


async def the_inspector_loads_and_sends_nothing_elsewhere(arena: Arena) -> None:
    """By a policy that the browser enforces."""
    async with here() as server, connection(server.address) as (reader, writer):
        writer.write(b"GET /_fakellm/ HTTP/1.1\r\nhost: localhost\r\n\r\n")
        head = (await head_of(reader)).lower()
        assert b"content-security-policy: default-src 'none'; script-src 'self';" in head
        assert b"frame-ancestors 'none'" in head


async def header_text_cannot_begin_a_line(arena: Arena) -> None:
    """A fault or a scenario may put any text into a header."""
    value = f"{next(COUNT)}\r\nx: y"  # heads are remembered
    assert b"\r\nx: y" not in heads.answer_lines(200, (("a", value),))[0]


GATE = "fakellm.server.guard:"
GUARDS = (
    Guard("admin-host", no_other_page_reaches_the_admin_api, GATE + "foreign", "not is_loopback(_name(host))", "False"),
    Guard(
        "admin-origin", no_other_page_reaches_the_admin_api, GATE + "foreign", "origin is not None and ", "False and "
    ),
    Guard(
        "admin-token",
        the_admin_api_wants_its_token,
        "fakellm.server.admin:guarded",
        "if token is None else",
        "if True else",
    ),
    Guard(
        "admin-elsewhere",
        elsewhere_than_loopback_there_is_always_a_token,
        "fakellm.cli.serve:serve.callback",
        "if not is_loopback(host) and admin_token is None:",
        "if False:",
    ),
    Guard(
        "loopback",
        without_a_word_only_this_machine_is_served,
        "fakellm.cli.serve:serve.params",
        "",
        "[setattr(one, 'default', 'localhost.localdomain') if one.name == 'host' else None for one in serve.params] "
        "and serve.params",
    ),
    Guard(
        "from-folder",
        no_file_outside_of_the_folder_is_read,
        "fakellm.scenario.recorded:inside",
        "not path.is_relative_to(root)",
        "False",
    ),
    Guard(
        "from-network",
        a_scenario_from_the_network_reads_no_file,
        "fakellm.scenario.load:read_recorded",
        "if folder is None:",
        "folder = folder or Path.cwd()\n    if False:",
    ),
    Guard(
        "scenario-name",
        a_scenario_name_is_a_plain_word,
        "fakellm.scenario.load:_NAME",
        "",
        "re.compile('.*', re.S)",
    ),
    Guard(
        "inspector-text",
        text_from_a_wire_is_text_in_the_inspector,
        "fakellm.server.inspector:page_part",
        'read_text(encoding="utf-8")',
        "read_text(encoding=\"utf-8\").replace('element.append(one)',"
        ' \'typeof one === "string" ? element.insertAdjacentHTML("beforeend", one) : element.append(one)\')',
        tool="chromium",
    ),
    Guard(
        "report-text",
        data_in_a_report_is_no_markup,
        "fakellm.conform.report.html:embedded",
        'for character in "<>&"',
        'for character in "&"',
    ),
    Guard(
        "inspector-policy",
        the_inspector_loads_and_sends_nothing_elsewhere,
        "fakellm.server.inspector:HEADERS",
        "",
        "{}",
    ),
    Guard(
        "header-lines",
        header_text_cannot_begin_a_line,
        "fakellm.server.heads:_CONTROL",
        "",
        "re.compile('[^\\\\s\\\\S]')",
    ),
)
