"""The kill matrix: each mutant run on the cases of its areas plus smoke, and which checks it fails.

    python -m fakellm.conform.mutants.matrix      prints it; exit 1 when a mutant survives or a check is never killed

Which set is right for which mutant stands in the self tests; this module only runs and tells.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ...faults.registry import faults
from ..checks import all_checks
from ..client import ClientTarget, conform_client
from ..drivers.base import Patience
from ..finding import Level, Outcome
from ..gateway import GatewayTarget, conform_gateway
from ..observation import Mode
from ..server import ServerTarget, conform_server
from ..session import Options, Result, Setup
from .clients import CLIENTS
from .gateway_mutants import GATEWAYS, MUTANTS, RUDE
from .gateways import Running
from .reference import Reference
from .servers import LAYOUTS, LOSSY, UNSEEN, VLLM, serving

AREAS: Mapping[str, str] = MappingProxyType(
    {
        "accept-NaN": "scores",
        "accept-positive": "scores",
        "accept-sentinel": "scores",
        "add-default": "",
        "always-stop": "happy",
        "answer-itself": "",
        "blind-retry": "errors",
        "choice-0-only": "choices",
        "clamp": "scores",
        "convert-without-logprobs": "happy",
        "crash-on-untrusted": "scores",
        "double-call": "",
        "drop-headers": "errors",
        "drop-last-logprob": "happy scores",
        "drop-unknown-request": "happy",
        "empty-text-chunks-skipped": "happy scores",
        "fabricate-usage": "happy usage",
        "first-choice-only": "choices",
        "finish-the-cut": "errors",
        "first-chunk-prompt-only": "happy ids",
        "flatten-errors": "errors",
        "hang": "",
        "hide-error": "errors",
        "hollow-on-error": "errors",
        "html-errors": "errors",
        "ignore-finish": "happy finish",
        "invent-ids": "ids",
        "invent-prompt-ids": "happy ids",
        "leave-compressed": "transport",
        "late-score-ignored": "scores",
        "merge-choices": "choices",
        "never-calls": "",
        "null-as-empty-list": "ids scores",
        "pad-with-zero": "scores",
        "re-chunk-and-lose": "happy scores",
        "read-only-top-level": "happy ids",
        "rename-model": "",
        "reorder-choices": "choices",
        "split-on-LF-only": "transport",
        "splitlines": "happy transport",
        "strip-flag": "",
        "swallow-cancel": "cancel",
        "swallow-stream-error": "errors",
        "swap-choices": "choices",
        "truncate-to-shortest": "scores ids usage",
    }
)
"""Areas beside smoke on which a mutant is run; a mutant that is not here runs on ``happy``."""


PATIENCE_MS: Mapping[str, int] = MappingProxyType({"hang": 200})
"""Deadlines of mutants that never end; all others have the usual one."""
APIS: Mapping[str, tuple[str, ...]] = MappingProxyType({"hang": ("chat",), "answer-itself": ("chat",)})
"""APIs of gateways whose routes cannot be found out by asking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One subject's run. ``failing``: check -> the gravest level at which it failed; ``errors``: the suite's own."""

    name: str
    word: str
    cases: int
    seconds: float
    failing: Mapping[str, Level]
    errors: tuple[str, ...]

    @property
    def musts(self) -> frozenset[str]:
        """Checks that failed at MUST."""
        return frozenset(check for check, level in self.failing.items() if level is Level.MUST)

    @property
    def told(self) -> frozenset[str]:
        """Checks that failed at MUST or SHOULD."""
        return frozenset(check for check, level in self.failing.items() if level is not Level.INFO)


def areas_of(name: str) -> tuple[str, ...]:
    """The globs of the cases on which a mutant is run."""
    return ("smoke/**", *(f"{area}/**" for area in AREAS.get(name, "happy").split()))


async def try_client(name: str, client: type[Reference], *, only: Sequence[str] = ()) -> Trial:
    """Run a client of this package by its class."""
    target = ClientTarget(adapter=f"{client.__module__}:{client.__name__}")
    began = time.monotonic()
    return _trial(name, await conform_client(target, Options(only=tuple(only))), began)


async def try_gateway(name: str, *, only: Sequence[str] = ()) -> Trial:
    """Run a gateway of this package by its name."""
    began, port = time.monotonic(), _free_port()
    async with Running(GATEWAYS[name](f"http://127.0.0.1:{port}")) as url:
        target = GatewayTarget(url=url, upstream_port=port, name=name, apis=APIS.get(name, ()))
        setup = Setup(patience=Patience(deadline_ms=PATIENCE_MS.get(name, 10_000)))
        return _trial(name, await conform_gateway(target, Options(only=tuple(only)), setup=setup), began)


async def try_server(fault: str) -> Trial:
    """Run the fake with one fault on all its answers."""
    return await _try_server(fault, LAYOUTS.get(fault, VLLM), fault)


async def try_layout(layout: str) -> Trial:
    """Run the fake as it is: a server whose only losses are those which its layout declares."""
    return await _try_server(layout, layout)


async def _try_server(name: str, layout: str, *faults: str) -> Trial:
    began = time.monotonic()
    async with serving(layout, *faults) as url:
        result = await conform_server(ServerTarget(url=url), Options(layouts=(layout,)))
    return _trial(name, result, began)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _trial(name: str, result: Result, began: float) -> Trial:
    failing: dict[str, Level] = {}
    order = (Level.INFO, Level.SHOULD, Level.MUST)
    for verdict in result.findings:
        finding = verdict.finding
        if finding.outcome is Outcome.FAIL:
            failing[finding.check] = max(failing.get(finding.check, Level.INFO), finding.level, key=order.index)
    errors = (one.finding for one in result.findings if one.finding.outcome is Outcome.ERROR)
    return Trial(
        name=name,
        word=str(result.footer.word),
        cases=len(result.selection.cases),
        seconds=time.monotonic() - began,
        failing=failing,
        errors=tuple(f"{one.case}: {one.message}" for one in errors),
    )


def unkilled(trials: Iterable[Trial], mode: Mode) -> list[str]:
    """Checks of a mode, MUST and SHOULD, that no trial failed."""
    killed = {check for trial in trials for check in trial.failing}
    return [
        check.id
        for check in all_checks()
        if mode in check.modes and check.level is not Level.INFO and check.id not in killed
    ]


async def matrix() -> dict[Mode, list[Trial]]:
    """Every mutant client, gateway and server, one after the other."""
    clients = [await try_client(name, one, only=areas_of(name)) for name, one in CLIENTS.items()]
    gateways = [await try_gateway(name, only=areas_of(name)) for name in (*MUTANTS, *RUDE)]
    servers = [await try_server(fault) for fault in faults() if fault not in UNSEEN]
    servers.append(await try_layout(LOSSY))
    return {Mode.CLIENT: clients, Mode.GATEWAY: gateways, Mode.SERVER: servers}


def main() -> int:
    """Print the matrix."""
    trials = asyncio.run(matrix())
    bad = 0
    for mode, rows in trials.items():
        print(f"{mode} mutants")
        for trial in rows:
            bad += not trial.failing
            print(f"  {trial.name:28} {trial.seconds:5.1f} s  {', '.join(sorted(trial.told)) or 'SURVIVES'}")
        left = unkilled(rows, mode)
        bad += len(left)
        print(f"  {sum(bool(one.told) for one in rows)} of {len(rows)} caught; checks never killed: {left or 'none'}\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
