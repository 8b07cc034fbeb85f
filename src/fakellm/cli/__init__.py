"""The command line: ``fakellm COMMAND``. Each command lives in a module of its own and is imported when it is used.

Data goes to stdout, talk to stderr. Every FakellmError becomes its text and its exit code here, and only here; a
traceback is never shown for what a user can mend. Exit codes: CONFORMANCE section 7.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from .. import __version__
from ..errors import FakellmError, did_you_mean

COMMANDS: dict[str, tuple[str, str, str]] = {
    "serve": ("serve", "serve", "Serve a scenario: a fake inference server on loopback."),
    "validate": ("scenarios", "validate", "Check scenario files."),
    "play": ("play", "play", "Show the bytes a scenario would send, several layouts side by side."),
    "schema": ("scenarios", "schema", "Print the JSON Schema of scenario files."),
    "layouts": ("layouts", "layouts", "List layouts: how known, which flags to send, where ids and scores stand."),
    "faults": ("faults", "faults", "List the faults that a reply may have."),
    "explain": ("explain", "explain", "Show the page of a fault, a check or a case."),
    "fidelity": ("fidelity", "fidelity", "Replay captured exchanges and compare the fake's bytes with them."),
    "record": ("record", "record", "Stand between a client and a real server and record the exchanges."),
    "conform": ("conform", "conform", "Run the conformance suite against a client, a gateway or a server."),
    "report": ("conform", "report", "Merge report.jsonl files and write reports."),
    "verify": ("verify", "verify", "A verdict from a server that ran in someone's CI."),
}
"""name -> (module below fakellm.cli, attribute, one line of help)."""

EXIT_INTERRUPTED = 2


class LazyGroup(click.Group):
    """Commands are imported when they are called; the list of commands needs no import."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"fakellm.cli.{module}"), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = did_you_mean(args[0], COMMANDS) or f"commands: {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    epilog="Example: fakellm serve --scenario scenarios/hello.yaml",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="fakellm")
def root() -> None:
    """A fake inference server that knows the token truth, and a suite that proves what a client keeps of it."""


def main(arguments: list[str] | None = None) -> None:
    """Run a command; the process ends with the command's exit code."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run a command and give its exit code: 0, what the command says, 2 when interrupted, 4 for a wrong usage."""
    _never_unspeakable()
    try:
        result: Any = root.main(args=arguments, prog_name="fakellm", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except click.ClickException as problem:
        problem.show(file=sys.stderr)
        return 4
    except FakellmError as problem:
        click.echo(f"error: {problem}", err=True)
        return problem.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return result if isinstance(result, int) else 0


def _never_unspeakable() -> None:
    """Token texts and frames of tables hold characters that an old code page lacks (a pipe on Windows, LC_ALL=C): they
    are spelled as escapes there, and end no command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="backslashreplace")
