"""``fakellm faults``: the catalogue, by family; each fault with what a client may do with it."""

from __future__ import annotations

import json

import click

EPILOG = """Examples:

\b
  fakellm faults
  fakellm faults late
  fakellm faults --json | jq '.faults[].id'"""


@click.command("faults", epilog=EPILOG)
@click.argument("words", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option(
    "--chaos", type=int, metavar="SEED", help="Print the scenario entries that this seed draws, and nothing else."
)
def faults(words: tuple[str, ...], as_json: bool, chaos: int | None) -> int:
    """List the faults that a reply may have; with WORDS only those whose id, family or title has all of them."""
    from ..errors import FaultError
    from ..faults.compose import chaos as draw
    from ..faults.pages import catalogue

    if chaos is not None:
        click.echo(json.dumps([call.to_entry() for call in draw(chaos)]))
        return 0
    rows = catalogue()["faults"]
    chosen = [row for row in rows if all(word in f"{row['id']} {row['family']} {row['title']}" for word in words)]
    if not chosen:
        raise FaultError(f"no fault has {' and '.join(words)} in it", hint="`fakellm faults` lists them all")
    if as_json:
        click.echo(json.dumps({"faults": chosen}))
        return 0
    family = None
    for row in chosen:
        if row["family"] != family:
            family = row["family"]
            click.echo(f"\n{family}")
        click.echo(f"  {row['id']:34} {'|'.join(row['client_may']):16} {row['title']}")
    click.echo(f"\n{len(chosen)} faults; `fakellm explain FAULT` shows one at work", err=True)
    return 0
