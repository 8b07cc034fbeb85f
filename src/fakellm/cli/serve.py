"""``fakellm serve``: the standalone server. Data (the readiness line) goes to stdout, talk to stderr."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

from ..errors import UsageError

EPILOG = """Examples:

\b
  fakellm serve
  fakellm serve --scenario scenarios/basics/hello.yaml --layout vllm-0.32.0 --port 8000
  fakellm serve --layout vllm-0.28.0 -- --max-model-len 1024 --reasoning-parser qwen3

Words after -- are the vendor's own launch options."""


@click.command("serve", epilog=EPILOG, context_settings={"ignore_unknown_options": False})
@click.option("--scenario", "scenario", type=click.Path(path_type=Path), help="A scenario file, or a folder of them.")
@click.option("--layout", help="The server to look like: vendor[-version]. Default: the newest vLLM.")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Where to listen; elsewhere than loopback the admin API wants its token.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 = any free port.")
@click.option("--admin-port", type=click.IntRange(0, 65535), help="The admin API on a port of its own.")
@click.option("--admin-token", envvar="FAKELLM_ADMIN_TOKEN", help="The admin API's token (or $FAKELLM_ADMIN_TOKEN).")
@click.option("--api-key", multiple=True, help="What clients must send as bearer token.")
@click.option("--model", help="The served model name; without one any name is served and echoed.")
@click.option("--tokenizer", help="A tiktoken encoding, a .tiktoken file or a Hugging Face folder.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same bytes.")
@click.option("--chaos", type=int, metavar="SEED", help="A random handful of faults on every answer.")
@click.option("--fault", "faults", multiple=True, help="A fault on every answer (may be given more than once).")
@click.option("--journal", type=click.Path(path_type=Path), help="Append every exchange to this JSON-lines file.")
@click.option("--max-body-mb", type=click.IntRange(1, 1024), default=32, show_default=True, help="Larger bodies: 413.")
@click.option(
    "--max-in-flight", type=click.IntRange(1), default=20_000, show_default=True, help="More requests at once: 429."
)
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes on the port.")
@click.option("--state", help="Share counters and journal between servers: redis://HOST:PORT/DB.")
@click.option("--fail-on-unmatched", is_flag=True, help="End with exit code 1 when a request found no reply.")
@click.option("-q", "--quiet", is_flag=True, help="No talk on stderr.")
@click.argument("vendor_options", nargs=-1, type=click.UNPROCESSED)
def serve(
    scenario: Path | None,
    layout: str | None,
    host: str,
    port: int,
    admin_port: int | None,
    admin_token: str | None,
    api_key: tuple[str, ...],
    model: str | None,
    tokenizer: str | None,
    seed: int,
    chaos: int | None,
    faults: tuple[str, ...],
    journal: Path | None,
    max_body_mb: int,
    max_in_flight: int,
    workers: int,
    state: str | None,
    fail_on_unmatched: bool,
    quiet: bool,
    vendor_options: tuple[str, ...],
) -> int:
    """Serve scenarios: a fake inference server that knows the token truth.

    The first line on stdout is {"event":"listening","url":...,"admin_url":...,"pid":...}; url is the root, clients
    that want an OpenAI base URL add /v1.
    """
    from ..house import Choices, House
    from ..server.guard import is_loopback
    from ..server.run import Bound, run_forever
    from ..server.trouble import raise_handle_limit
    from ..state import open_state

    def say(text: str) -> None:
        if not quiet:
            click.echo(text, err=True)

    if chaos is not None:
        from ..faults.compose import chaos as draw

        drawn = draw(chaos)
        say(f"chaos seed {chaos}: {', '.join(str(call.to_entry()) for call in drawn)}")
    else:
        drawn = []
    keys = tuple(word for key in api_key for word in ("--api-key", key))
    choices = Choices(
        layout=layout,
        model=model,
        tokenizer=tokenizer,
        options=(*vendor_options, *keys),
        seed=seed,
        faults=(*faults, *drawn),
    )
    sink = None
    if journal is not None:
        try:
            sink = journal.open("ab", buffering=0)  # one write a line, so that several workers can share the file
        except OSError as problem:
            raise UsageError(f"cannot write the journal: {problem.strerror}", where=str(journal)) from None
    if state is not None and workers > 1:
        raise UsageError("--workers keeps its state by itself", where="--state", hint="start several servers instead")
    if not is_loopback(host) and admin_token is None:
        admin_token = secrets.token_urlsafe(16)
        say(f"warning: {host} can be reached from elsewhere; the admin API wants the token {admin_token}")
    handles = raise_handle_limit()
    if handles is not None and handles < max_in_flight:
        say(f"note: the system allows {handles} open files, so not {max_in_flight} requests at once (ulimit -n)")
    bound = Bound(
        host,
        port,
        admin_port,
        None if is_loopback(host) and admin_token is None else admin_token,
        max_body_mb * 1024 * 1024,
        max_in_flight,
    )
    try:
        if workers > 1:
            from ..server.workers import run_workers

            return run_workers(
                workers,
                lambda shared: House.open(scenario, choices, sink=sink, state=shared),
                bound,
                say,
                strict=fail_on_unmatched,
            )
        house = House.open(scenario, choices, sink=sink, state=open_state(state))
        for note in house.notes:
            say(f"note: {note}")
        run_forever(house, bound)
    finally:
        if sink is not None:
            sink.close()
    unmatched = house.fake.journal.unmatched
    if lost := house.fake.journal.unwritten:
        click.echo(f"error: {lost} exchanges are not in {journal}: {house.fake.journal.unwritten_why}", err=True)
        return 1
    if unmatched and fail_on_unmatched:
        click.echo(f"{unmatched} requests found no reply", err=True)
        return 1
    return 0
