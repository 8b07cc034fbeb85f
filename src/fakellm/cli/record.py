"""``fakellm record``: a proxy before a real server that writes every exchange down, and what is made of the file."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from ..errors import UsageError

EPILOG = """Examples:

\b
  fakellm record --upstream http://127.0.0.1:8000 --tokenizer models/qwen3
  fakellm record --upstream http://127.0.0.1:8000 --ask-ids --pack recordings/mine -- --reasoning-parser qwen3
  fakellm record --pack recordings/mine            (make the folder of an exchanges.jsonl that is there)
  fakellm fidelity recordings/mine                 (the drift check: does the fake still answer as the server did?)
  fakellm serve --scenario recordings/mine/scenario.yaml

Words after -- are the launch options with which the upstream was started: the replay needs them."""


@click.command("record", epilog=EPILOG)
@click.option("--upstream", help="The real server's root URL, without /v1.")
@click.option(
    "--file",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("exchanges.jsonl"),
    show_default=True,
    help="Where exchanges are appended, one JSON object a line.",
)
@click.option(
    "--pack", "folder", type=click.Path(path_type=Path), help="Make a golden folder and a scenario at the end."
)
@click.option(
    "--others",
    type=click.Choice(["unmatched", "auto"]),
    default="unmatched",
    show_default=True,
    help="What the packed scenario does with requests that were not recorded.",
)
@click.option("--ask-ids", is_flag=True, help="Ask the upstream for ids and scores; clients do not see that.")
@click.option("--layout", help="What the upstream is, vendor-version. Default: what it says itself.")
@click.option("--tokenizer", help="The upstream's tokenizer: a Hugging Face folder.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 = any free port.")
@click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="For asking the upstream what it is.")
@click.option("-q", "--quiet", is_flag=True, help="No talk on stderr.")
@click.argument("vendor_options", nargs=-1, type=click.UNPROCESSED)
def record(
    upstream: str | None,
    file: Path,
    folder: Path | None,
    others: str,
    ask_ids: bool,
    layout: str | None,
    tokenizer: str | None,
    host: str,
    port: int,
    headers: tuple[str, ...],
    quiet: bool,
    vendor_options: tuple[str, ...],
) -> int:
    """Stand between clients and a real server and record the exchanges.

    Bytes pass unchanged, streams included. The first line on stdout is {"event":"listening","url":...}; point clients
    there instead of at the server. Secrets are blanked. SIGINT or SIGTERM ends the recording.
    """
    from ..record.session import Plan, facts_beside, packed, run
    from ..server.run import until_signal

    def say(text: str) -> None:
        if not quiet:
            click.echo(text, err=True)

    if upstream is None:
        if folder is None:
            hint = "give --upstream URL to record, or --pack FOLDER to pack a recording"
            raise UsageError("nothing to do", hint=hint)
        source = facts_beside(file, layout, tokenizer, vendor_options)
    else:
        plan = Plan(
            upstream=_url(upstream),
            file=file,
            ask_ids=ask_ids,
            layout=layout,
            tokenizer=tokenizer,
            launch=vendor_options,
            host=host,
            port=port,
            headers=_headers(headers),
        )
        source = asyncio.run(run(plan, _ready, until_signal, say))
    if folder is None:
        return 0
    if source is None:
        raise UsageError("what the upstream is was not found out, so nothing can be packed", hint="give --layout")
    made = packed(file, folder, source, others)
    for name, note in made.notes.items():
        say(f"{name}: {note}")
    for number in made.broken:
        say(f"{file}:{number}: skipped, it is no whole exchange (a killed recorder leaves such a line)")
    say(f"{made.exchanges} exchanges, {made.with_truth} with their truth, in {folder}")
    return 0


def _url(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise UsageError(f"{text!r} is not an HTTP URL", where="--upstream")
    return text.rstrip("/").removesuffix("/v1")


def _headers(words: tuple[str, ...]) -> Mapping[str, str]:
    pairs = [word.partition(":") for word in words]
    for (name, colon, _), word in zip(pairs, words, strict=True):
        if not colon or not name.strip():
            raise UsageError(f"{word!r} is no header", where="--header", hint="write NAME:VALUE")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _ready(url: str) -> None:
    sys.stdout.write(json.dumps({"event": "listening", "url": url, "pid": os.getpid()}) + "\n")
    sys.stdout.flush()
