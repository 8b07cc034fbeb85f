"""``fakellm conform client|gateway|server|recording|smoke|list`` and ``fakellm report``: options in, verdict and exit
code out."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ..errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

CLIENT_EPILOG = """Examples:

\b
  fakellm conform client -- python my_adapter.py
  fakellm conform client --only 'ids/**' --report-dir report -- node adapter.mjs
  fakellm conform client --adapter mypackage.adapter:Adapter --baseline fakellm-baseline.yaml
  fakellm conform client --per-case -- ./run-one-call.sh

Exit: 0 conformant (or all findings expected), 1 red, 2 interrupted, 3 error of the adapter or the suite,
4 usage or a bad file, 5 nothing ran."""


@click.group("conform")
def conform() -> None:
    """Run the conformance suite against a client, a gateway or a server."""


def _shared(function: F) -> F:
    """The options that every mode has (CONFORMANCE section 4)."""
    options = [
        click.option("--profile", type=click.Choice(["capture-client", "sdk"]), default="capture-client",
                     show_default=True, help="Which set of cases."),
        click.option("--layout", "layouts", metavar="L,...", help="Layouts to run on."),
        click.option("--extended", is_flag=True, help="Everything, not only the core."),
        click.option("--only", multiple=True, metavar="GLOB", help="Only these cases (*, ** and ?; may be repeated)."),
        click.option("--shard", metavar="I/N", help="Only the I-th of N parts; merge with `fakellm report`."),
        click.option("--baseline", type=click.Path(path_type=Path), help="Known losses: fakellm-baseline.yaml."),
        click.option("--write-baseline", type=click.Path(path_type=Path), help="Write today's failures as a baseline."),
        click.option("--report-dir", type=click.Path(path_type=Path), help="Write report.jsonl, junit.xml ..."),
        click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML to this file."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text."),
        click.option("--strict", is_flag=True, help="Warnings (SHOULD) are red as well."),
        click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same bytes."),
        click.option("-q", "--quiet", is_flag=True, help="No progress, no notes, no warnings in detail."),
        click.option("-v", "--verbose", is_flag=True, help="Show expected failures token by token as well."),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    part, slash, parts = text.partition("/")
    if not (slash and part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise UsageError(f"--shard {text!r} is not I/N with 1 <= I <= N", hint="for example --shard 1/4")
    return int(part), int(parts)


def _options(given: dict[str, Any], *, smoke: bool = False) -> Any:
    from ..conform.session import Options

    return Options(
        profile=given["profile"],
        layouts=_names(given["layouts"]),
        extended=given["extended"],
        only=tuple(given["only"]),
        shard=_shard(given["shard"]),
        baseline=given["baseline"],
        write_baseline=given["write_baseline"],
        report_dir=given["report_dir"],
        junit=given["junit"],
        strict=given["strict"],
        seed=given["seed"],
        smoke=smoke,
        words=("fakellm", *sys.argv[1:]),
    )


def _run(mode: Any, target: Any, options: Any, given: dict[str, Any]) -> int:
    """Run one mode, print its verdict, give its exit code."""
    from rich.console import Console

    from ..conform.report.terminal import TerminalWriter
    from ..conform.session import requirements

    out, talk = Console(highlight=False), Console(stderr=True)
    as_json, quiet = given["as_json"], given["quiet"]
    terminal = TerminalWriter(out, talk, requirements(), quiet=quiet, verbose=given["verbose"], verdict=not as_json)
    result = asyncio.run(mode(target, options, [terminal]))
    if as_json:
        click.echo(json.dumps(result.footer.to_json()))
    if options.report_dir is not None and not quiet:
        click.echo(f"reports: {options.report_dir}", err=True)
    return int(result.footer.exit_code)


def _client_options(function: F) -> F:
    options = [
        click.option("--per-case", is_flag=True, help="Run the command once per case instead of JSON lines."),
        click.option("--adapter", metavar="PKG.MODULE:NAME", help="An adapter in Python, in this process."),
        click.option("--extract", metavar="PKG.MODULE:FUNCTION", help="A function (bytes, content type) -> capture."),
        click.argument("command", nargs=-1, type=click.UNPROCESSED),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def _target(given: dict[str, Any]) -> Any:
    from ..conform.client import ClientTarget

    if "" not in sys.path:
        sys.path.insert(0, "")
    return ClientTarget(
        command=tuple(given["command"]),
        per_case=given["per_case"],
        adapter=given["adapter"],
        extract=given["extract"],
    )


@conform.command("client", epilog=CLIENT_EPILOG)
@_shared
@_client_options
def client(**given: Any) -> int:
    """Judge a client: what it kept of prompt ids, completion ids and logprobs, token by token.

    COMMAND is an adapter that speaks JSON lines on stdin and stdout; see docs/conformance.md.
    """
    from ..conform.client import conform_client

    options = _options(given)
    return _run(conform_client, _target(given), options, given)


@conform.command("smoke", epilog="Example: fakellm conform smoke -- python my_adapter.py")
@_shared
@_client_options
def smoke(**given: Any) -> int:
    """Three trivial cases that tell a broken adapter from a broken client."""
    from ..conform.client import conform_client

    options = _options(given, smoke=True)
    return _run(conform_client, _target(given), options, given)


GATEWAY_EPILOG = """Examples:

\b
  fakellm conform gateway --start 'my-gateway --upstream {upstream}/v1 --port {port}' --report-dir report
  fakellm conform gateway --url http://127.0.0.1:4000 --upstream-port 9000 --model openai/conform"""


@conform.command("gateway", epilog=GATEWAY_EPILOG)
@_shared
@click.option("--start", metavar="COMMAND", help="Start the gateway: a command with {upstream} and {port}.")
@click.option("--url", help="A gateway that runs already.")
@click.option("--upstream-port", type=click.IntRange(0, 65535), default=0, help="The port it forwards to, with --url.")
@click.option(
    "--ready", metavar="URL", help="Ready when this answers 2xx ({port} is replaced); default: the port accepts."
)
@click.option("--ready-timeout", type=float, default=60.0, show_default=True, help="Seconds to wait for it.")
@click.option("--listen", default="127.0.0.1", show_default=True, help="Where the fake listens (a container needs it).")
@click.option("--advertise", metavar="URL", help="How the gateway reaches the fake.")
@click.option("--model", help="The model name that the gateway knows.")
@click.option("--apis", default="", metavar="A,B", help="Only these APIs; default: those that it has a route for.")
@click.option("--header", "headers", multiple=True, metavar="K:V", help="Sent with every request (repeat).")
@click.option("--name", default="gateway", show_default=True, help="What reports call it.")
def gateway(**given: Any) -> int:
    """Judge a gateway: what it changes between its two sides, in both directions."""
    from ..conform.gateway import GatewayTarget, conform_gateway

    target = GatewayTarget(
        start=given["start"],
        url=given["url"],
        upstream_port=given["upstream_port"],
        ready=given["ready"],
        ready_timeout=given["ready_timeout"],
        listen=given["listen"],
        advertise=given["advertise"],
        model=given["model"],
        apis=_names(given["apis"]),
        headers=dict(_header_pair(text) for text in given["headers"]),
        name=given["name"],
    )
    return _run(conform_gateway, target, _options(given), given)


def _header_pair(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"--header {text!r} is not K:V")
    return name.strip(), value.strip()


SERVER_EPILOG = """Examples:

\b
  fakellm conform server --url http://127.0.0.1:8000
  fakellm conform server --url http://127.0.0.1:30000 --layout sglang-0.5.23 --record recording"""


@conform.command("server", epilog=SERVER_EPILOG)
@_shared
@click.option("--url", required=True, help="The server's root (a /v1 at its end is taken off).")
@click.option("--model", help="The model to ask for; default: the first of /v1/models.")
@click.option("--header", "headers", multiple=True, metavar="K:V", help="Sent with every request (repeat).")
@click.option("--record", type=click.Path(path_type=Path), help="Write every exchange below this folder.")
@click.option("--tokenizer", metavar="PATH", help="The server's tokenizer: --record then tells every answer's truth.")
def server(**given: Any) -> int:
    """Judge a real server: whether ids, scores, text, usage, streams and /tokenize agree with each other."""
    from ..conform.server import ServerTarget, conform_server

    target = ServerTarget(
        url=given["url"],
        model=given["model"],
        headers=dict(_header_pair(text) for text in given["headers"]),
        record=given["record"],
        tokenizer=given["tokenizer"],
    )
    return _run(conform_server, target, _options(given), given)


RECORDING_EPILOG = """Examples:

\b
  fakellm conform recording exchanges.jsonl
  fakellm conform recording exchanges.jsonl --layout vllm-0.32.0 --report-dir report
  fakellm conform recording recordings/sglang-0.5.23 --only '**/chat-*'"""


@conform.command("recording", epilog=RECORDING_EPILOG)
@_shared
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
def recording(paths: tuple[Path, ...], **given: Any) -> int:
    """Judge recorded answers of a real server or gateway: whether their ids, scores, text and usage agree.

    PATH is an exchanges.jsonl of `fakellm record`, a folder made of one, or a library of them. Nothing is sent: this is
    for traffic that there was. --layout says whose answers they are where the recording does not.
    """
    from ..conform.recorded import RecordingTarget, conform_recording

    quiet = given["quiet"]
    target = RecordingTarget(paths=paths, say=lambda words: None if quiet else click.echo(f"note: {words}", err=True))
    return _run(conform_recording, target, _options(given), given)


@conform.command("list", epilog="Example: fakellm conform list --only 'ids/**' --json")
@click.option(
    "--profile",
    type=click.Choice(["capture-client", "sdk", "gateway", "server"]),
    default="capture-client",
    show_default=True,
    help="Which set of cases.",
)
@click.option("--layout", "layouts", metavar="L,...", help="Layouts, instead of the default ones.")
@click.option("--extended", is_flag=True, help="Everything, not only the core.")
@click.option("--only", multiple=True, metavar="GLOB", help="Only these cases (*, ** and ?; may be repeated).")
@click.option("--checks", is_flag=True, help="List the checks instead of the cases.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def list_(profile: str, layouts: str | None, extended: bool, only: tuple[str, ...], checks: bool, as_json: bool) -> int:
    """List cases or checks."""
    rows = _check_rows() if checks else _case_rows(profile, _names(layouts), extended, only)
    if as_json:
        click.echo(json.dumps({"checks" if checks else "cases": rows}, ensure_ascii=False))
        return 0
    for row in rows:
        click.echo(f"{row['id']}  {row['title']}")
    return 0


def _check_rows() -> list[dict[str, Any]]:
    from ..conform.checks import all_checks

    return [
        {"id": check.id, "level": str(check.level), "title": check.requirement, "modes": sorted(check.modes)}
        for check in all_checks()
    ]


def _case_rows(profile: str, layouts: tuple[str, ...], extended: bool, only: tuple[str, ...]) -> list[dict[str, Any]]:
    from ..conform.session import listed

    return [
        {"id": case.id, "title": case.title, "why": case.why, "faults": list(case.faults), "since": case.since}
        for case in listed(profile, layouts, extended, only)
    ]


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


@click.command("report", epilog="Example: fakellm report shard-1/report.jsonl shard-2/report.jsonl --report-dir report")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--baseline", type=click.Path(path_type=Path), help="Known losses: fakellm-baseline.yaml.")
@click.option("--report-dir", type=click.Path(path_type=Path), help="Write report.jsonl, report.html, junit.xml ...")
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--strict", is_flag=True, help="Warnings (SHOULD) are red as well.")
@click.option("-q", "--quiet", is_flag=True, help="No notes, no warnings in detail.")
@click.option("-v", "--verbose", is_flag=True, help="Show expected failures token by token as well.")
def report(files: tuple[Path, ...], **given: Any) -> int:
    """Merge report.jsonl files of one matrix, judge them as one run, and write reports.

    Shards of one client become one run; several clients make one matrix in report.html.
    """
    from ..conform.session import Options, report_again
    from ..conform.verdict import SEVERITY

    options = Options(
        baseline=given["baseline"], report_dir=given["report_dir"], junit=given["junit"], strict=given["strict"]
    )
    terminals = _Terminals(given)
    footers = report_again(files, options, [terminals])
    if given["as_json"]:
        shown = [footer.to_json() for footer in footers]
        click.echo(json.dumps(shown[0] if len(shown) == 1 else {"runs": shown}))
    return int(max((footer.exit_code for footer in footers), key=SEVERITY.index))


class _Terminals:
    """One terminal report after another: a fresh one at every header."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = given
        self._inner: Any = None

    def header(self, header: Any) -> None:
        from rich.console import Console

        from ..conform.report.terminal import TerminalWriter
        from ..conform.session import requirements

        given = self._given
        out, talk = Console(highlight=False), Console(stderr=True)
        look = {"quiet": given["quiet"], "verbose": given["verbose"], "verdict": not given["as_json"]}
        self._inner = TerminalWriter(out, talk, requirements(), **look)
        self._inner.header(header)

    def case(self, record: Any) -> None:
        self._inner.case(record)

    def footer(self, footer: Any) -> None:
        self._inner.footer(footer)
