"""``fakellm layouts``: every server that can be played, how it is known, what to send and where things stand."""

from __future__ import annotations

import json
from typing import Any

import click

from ..errors import LayoutError, did_you_mean

SHOWN = ("prompt_token_ids", "completion_token_ids", "logprobs")

EPILOG = """Examples:

\b
  fakellm layouts
  fakellm layouts vllm-0.32.0
  fakellm layouts --json | jq '.layouts[].name'"""


@click.command("layouts", epilog=EPILOG)
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def layouts(names: tuple[str, ...], as_json: bool) -> int:
    """List layouts; with NAMES show for each API and mode where ids and scores stand and which flags ask for them."""
    from ..layouts.listing import layout_rows

    rows = layout_rows()
    chosen = [row for row in rows if not names or any(_fits(row["name"], name) for name in names)]
    for name in names:
        if not any(_fits(row["name"], name) for row in rows):
            hint = did_you_mean(name, [row["name"] for row in rows])
            raise LayoutError(f"there is no layout {name!r}", hint=hint)
    if as_json:
        click.echo(json.dumps({"layouts": chosen}))
    elif names:
        click.echo("\n\n".join(_page(row) for row in chosen))
    else:
        click.echo("\n".join(_line(row) for row in chosen))
    return 0


def _fits(layout: str, name: str) -> bool:
    return layout == name or layout.startswith(name + "-")


def _line(row: dict[str, Any]) -> str:
    apis = ", ".join(dict.fromkeys(api["api"] for api in row["apis"]))
    return f"{row['name']:24} {row['evidence']:10} {apis}"


def _page(row: dict[str, Any]) -> str:
    lines = [f"{row['name']} ({row['evidence']})"]
    if row["notes"]:
        lines.append(f"  {row['notes']}")
    for api in row["apis"]:
        lines.append(f"  {api['api']}, {'stream' if api['stream'] else 'whole'}")
        for value in api["values"]:
            flags = ", ".join(f"{key}={json.dumps(flag)}" for key, flag in value["flags"].items()) or "always"
            eos = "" if value["eos"] or value["value"] not in SHOWN else "  without the end token"
            lines.append(f"    {value['value']:22} {value['path']:48} {flags}{eos}")
            if value["loss"]:
                lines.append(f"      loses: {value['loss']}")
    return "\n".join(lines)
