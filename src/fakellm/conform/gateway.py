"""``conform gateway``: start one or reach a running one, find its routes, and run the sandwich.

result = await conform_gateway(GatewayTarget(start="my-gateway --upstream {upstream} --port {port}"), Options())
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from ..capture import VALUES
from ..errors import UsageError
from .case import Case, load
from .drivers.gateway_process import GatewayProcess, SetupError
from .host import Host, built
from .judging import Run
from .observation import Mode, Supports
from .protocol import RunnerError
from .report.records import Writer
from .run_gateway import Sandwich, carriers, routes, run_gateway_cases
from .select import Wanted, select
from .session import DEFAULT_LAYOUTS, USUAL, Options, Result, Setup, Subject, case_files, check_layouts, conduct

ALL_APIS = ("chat", "completions", "responses", "generate", "tito")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayTarget:
    """The gateway: a command template, or the URL of one that runs with the fake's port as its upstream.

    ``listen`` / ``advertise``: where the fake listens and under which URL a container reaches it. ``headers``: sent
    with every request; ``{upstream}`` in a value is replaced.
    """

    start: str | None = None
    url: str | None = None
    upstream_port: int = 0
    ready: str | None = None
    ready_timeout: float = 60.0
    listen: str = "127.0.0.1"
    advertise: str | None = None
    model: str | None = None
    apis: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    name: str = "gateway"

    def check(self) -> None:
        """Raise UsageError when it names no gateway, or two."""
        if (self.start is None) == (self.url is None):
            raise UsageError("give exactly one of --start and --url", hint="--start 'cmd {upstream} {port}'")
        if self.url is not None and not self.upstream_port:
            raise UsageError("--url needs --upstream-port", hint="the port that the running gateway forwards to")
        unknown = [api for api in self.apis if api not in ALL_APIS]
        if unknown:
            raise UsageError(f"there is no API {unknown[0]!r}", hint=f"known: {', '.join(ALL_APIS)}")

    def words(self) -> tuple[str, ...]:
        """How it stands on a command line."""
        words: list[str] = []
        given = {
            "--start": self.start,
            "--url": self.url,
            "--upstream-port": str(self.upstream_port) if self.upstream_port else None,
            "--ready": self.ready,
            "--listen": self.listen if self.listen != "127.0.0.1" else None,
            "--advertise": self.advertise,
            "--model": self.model,
            "--apis": ",".join(self.apis) or None,
        }
        for option, value in given.items():
            words += [] if value is None else [option, value]
        for name, value in self.headers.items():
            secret = name.lower() in ("authorization", "x-api-key", "api-key")
            words += ["--header", f"{name}:{'...' if secret else value}"]
        return tuple(words)


async def conform_gateway(
    target: GatewayTarget, options: Options, writers: Sequence[Writer] = (), setup: Setup = USUAL
) -> Result:
    """Run the suite against a gateway; raises UsageError, or SetupError when it cannot be reached."""
    target.check()
    check_layouts(options.layouts)
    options = replace(options, profile="gateway")
    async with AsyncExitStack() as stack:
        worker = Host(
            seed=options.seed,
            host=target.listen,
            port=target.upstream_port,
            layout=(options.layouts or DEFAULT_LAYOUTS)[0],
        )
        host = await stack.enter_async_context(worker)
        upstream = _advertised(target, host)
        url = target.url
        if target.start is not None:
            started = GatewayProcess(target.start, upstream, ready=target.ready, timeout=target.ready_timeout)
            url = (await stack.enter_async_context(started)).url
        headers = {name: value.replace("{upstream}", upstream) for name, value in target.headers.items()}
        sandwich = Sandwich((url or "").rstrip("/").removesuffix("/v1"), target.model, headers)
        apis = frozenset(target.apis) or await _routes(host, sandwich, options, setup)
        supports = Supports(name=target.name, apis=apis, captures=frozenset(VALUES))

        async def run(run: Run, cases: Sequence[Case]) -> None:
            if cases:
                run.about.append(await carriers(host, sandwich, cases[0], setup.patience))
            await run_gateway_cases(run, host, sandwich, cases)

        async def stop() -> Sequence[RunnerError]:
            return []

        subject = Subject(mode=Mode.GATEWAY, supports=supports, words=target.words(), run=run, stop=stop)
        return await conduct(subject, host, options, writers, setup)


def _advertised(target: GatewayTarget, host: Host) -> str:
    if target.advertise is None:
        return host.root_url
    base = target.advertise.rstrip("/")
    return base if base.rpartition(":")[2].isdigit() else f"{base}:{host.port}"


async def _routes(host: Host, sandwich: Sandwich, options: Options, setup: Setup) -> frozenset[str]:
    templates = load(case_files()) if setup.templates is None else setup.templates
    layouts = tuple(built(options.layouts or DEFAULT_LAYOUTS))
    anything = Supports(name="", apis=frozenset(ALL_APIS))
    wanted = Wanted(profile="gateway", layouts=layouts, smoke=True, extended=True)
    cases = select(templates, wanted, anything, host.serves).cases
    found = await routes(host, sandwich, [case for case in cases if not case.stream], setup.patience)
    if not found:
        raise SetupError("the gateway has no route for any API", hint="is the URL its root, without /v1?")
    return found
