"""``fakellm validate`` and ``fakellm schema``: scenario files before they are played."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


@click.command(
    "validate",
    epilog="Example: fakellm validate scenarios/ --json",
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def validate(paths: tuple[Path, ...], as_json: bool) -> int:
    """Check scenario files or folders: every problem with file, line, field and what to do. Exit code 4 if any."""
    from ..faults.registry import parse
    from ..house import check_server
    from ..scenario.validate import validate as examine
    from ..tokenizer import load

    report = examine(paths, read_fault=parse, check_server=check_server, tokenizer=load(None))
    if as_json:
        click.echo(json.dumps(report.to_json()))
    else:
        for problem in report.problems:
            click.echo(str(problem), err=True)
        for note in report.notes:
            click.echo(f"note: {note}", err=True)
        click.echo(f"{len(report.scenarios)} scenarios, {len(report.problems)} problems")
    return 4 if report.problems or not report.scenarios else 0


@click.command("schema", epilog="Example: fakellm schema > scenario.schema.json")
def schema() -> int:
    """Print the JSON Schema of scenario files (for editors)."""
    from ..scenario.schema import json_schema

    value: dict[str, Any] = json_schema()
    click.echo(json.dumps(value, indent=2))
    return 0
