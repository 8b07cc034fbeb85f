"""``conform server``: what a server by URL is, which APIs it answers, and whether it agrees with itself.

result = await conform_server(ServerTarget(url="http://127.0.0.1:8000"), Options())
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from ..errors import UsageError
from ..layouts import registry
from ..layouts.base import Layout
from .case import Case, load
from .drivers.gateway_process import SetupError
from .drivers.http import post
from .host import Host, needed
from .judging import Run
from .observation import Mode, Supports
from .protocol import RunnerError
from .recording import Recorder
from .report.records import Writer
from .run_server import Server, possible_apis, run_server_cases
from .select import Wanted, select
from .session import USUAL, Options, Result, Setup, Subject, case_files, conduct

APIS = frozenset({"chat", "completions", "generate", "tito"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTarget:
    """The server under test. ``layout`` None: read from /version or /server_info. ``record``: write exchanges
    there, with their truth where ``tokenizer`` (a folder) tells the server's tokens, or the server is a fake."""

    url: str
    model: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    record: Path | None = None
    tokenizer: str | None = None

    def words(self) -> tuple[str, ...]:
        """How it stands on a command line."""
        return ("--url", self.url, *(("--model", self.model) if self.model else ()))


async def conform_server(
    target: ServerTarget, options: Options, writers: Sequence[Writer] = (), setup: Setup = USUAL
) -> Result:
    """Hold a server to its word; raises UsageError, or SetupError when it does not answer."""
    url = target.url.rstrip("/").removesuffix("/v1")
    layout = await _layout(url, target, options)
    model = target.model or await _model(url, target.headers)
    server = Server(url, layout, model, target.headers)
    options = replace(options, profile="server", layouts=(layout.name,))
    async with Host(seed=options.seed) as host:
        apis = await possible_apis(server, host, _probe_cases(layout, host, setup))
        if not apis:
            raise SetupError("the server answers none of the known APIs", where=url)
        supports = Supports(
            name=f"{layout.vendor} at {url}", version=_version(layout), apis=apis, captures=_told(layout, apis)
        )
        server.recorder = await _recorder(target, server, apis)

        async def run(run: Run, cases: Sequence[Case]) -> None:
            await run_server_cases(run, server, cases)

        async def stop() -> Sequence[RunnerError]:
            return []

        subject = Subject(mode=Mode.SERVER, supports=supports, words=target.words(), run=run, stop=stop)
        result = await conduct(subject, host, options, writers, setup)
        if server.recorder is not None:
            server.recorder.packed()
        return result


def _probe_cases(layout: Layout, host: Host, setup: Setup) -> Sequence[Case]:
    templates = load(case_files()) if setup.templates is None else setup.templates
    wanted = Wanted(profile="server", layouts=(layout.name,), extended=True)
    return select(templates, wanted, Supports(name="", apis=APIS), host.serves).cases


async def _layout(url: str, target: ServerTarget, options: Options) -> Layout:
    """The layout by name, or by what the server says of itself."""
    if len(options.layouts) > 1:
        raise UsageError("a server has one layout", hint="--layout vllm-0.32.0")
    if options.layouts:
        return registry.find(options.layouts[0]).layout
    for path, vendor, keys in (
        ("/server_info", "sglang", ("version",)),
        ("/get_server_info", "sglang", ("version",)),
        ("/version", "vllm", ("version",)),
    ):
        answer = await post(url + path, b"", method="GET", headers=target.headers, timeout=10.0)
        if answer.status == 0:
            raise SetupError(f"the server does not answer: {answer.error}", where=url)
        version = _member(answer.body, keys) if answer.status == 200 else None
        if version is not None:
            return registry.find(f"{vendor}-{version}").layout
    raise UsageError("the server does not say what it is", where=url, hint="give --layout, for example vllm-0.32.0")


async def _model(url: str, headers: Mapping[str, str]) -> str:
    answer = await post(f"{url}/v1/models", b"", method="GET", headers=headers, timeout=10.0)
    try:
        return str(json.loads(answer.body)["data"][0]["id"])
    except (ValueError, KeyError, IndexError, TypeError):
        return "conform"


def _member(body: bytes, keys: Sequence[str]) -> str | None:
    try:
        found: Any = json.loads(body)
    except ValueError:
        return None
    for key in keys:
        found = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
    return found if isinstance(found, str) and found[:1].isdigit() else None


def _told(layout: Layout, apis: frozenset[str]) -> frozenset[str]:
    """The values that the layout's table has somewhere on these APIs, as a whole."""
    rows = [row for (api, _), listed in layout.accessors.items() if api in apis for row in listed]
    return frozenset(row.value for row in rows if row.loss is None)


def _version(layout: Layout) -> str:
    return ".".join(map(str, layout.version))


async def _recorder(target: ServerTarget, server: Server, apis: frozenset[str]) -> Recorder | None:
    """Keeps the exchanges of ``--record``; its truths are read with the server's own tokenizer or not at all."""
    if target.record is None:
        return None
    fake = (await post(f"{server.url}/_fakellm/version", b"", method="GET", timeout=10.0)).status == 200
    options = needed(server.layout, apis)
    return Recorder(
        target.record, server.layout, launch=options, tokenizer=target.tokenizer, reads=fake or bool(target.tokenizer)
    )
