"""``fakellm fidelity``: recorded exchanges replayed and compared. The report goes to stdout, talk to stderr."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..errors import UsageError

EPILOG = """Examples:

\b
  fakellm fidelity recordings/vllm-0.32.0
  fakellm fidelity library.tar.xz --only 'chat-*' --only 'vllm-0.32.0-*/err-*'
  fakellm fidelity                         (the library that ships with fakellm)
  fakellm fidelity recordings --json | jq '.exchanges[] | select(.verdict == "differs")'

Exit code 0 when something ran and nothing differs, 1 when something differs, 5 when nothing ran, 4 for a file that
cannot be read."""

EXIT_DIFFERS = 1
EXIT_NOTHING_RAN = 5


@click.command("fidelity", epilog=EPILOG)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option("--only", multiple=True, metavar="GLOB", help="Exchange names, or folder/name; may be given repeatedly.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of the table.")
@click.option("--all", "show_all", is_flag=True, help="Show every difference, not the first twenty.")
def fidelity(paths: tuple[Path, ...], only: tuple[str, ...], as_json: bool, show_all: bool) -> int:
    """Replay captured exchanges and compare the fake's bytes with them.

    PATH is a server folder, a library root or a packed library, as `fakellm record` and the golden library have them.
    Verdicts: exact (the same bytes after the masks), equal (the same values, other spelling), differs.
    """
    from ..fidelity.run import run

    report = run(paths or (_shipped(),), only)
    for note in report.notes:
        click.echo(f"note: {note}", err=True)
    if report.gateways:
        click.echo(f"not played, being captures of gateways: {', '.join(report.gateways)}", err=True)
    click.echo(
        json.dumps(report.to_json(), ensure_ascii=False) if as_json else report.to_text(shown=0 if show_all else 20)
    )
    if not report.judged:
        click.echo(f"nothing ran: no exchange matches {' or '.join(only) if only else 'here'}", err=True)
        return EXIT_NOTHING_RAN
    return 0 if report.holds else EXIT_DIFFERS


def _shipped() -> Path:
    from ..resources import golden

    found = golden()
    if found is None:
        raise UsageError("this installation ships no golden library", hint="name a folder or a packed library")
    return found
