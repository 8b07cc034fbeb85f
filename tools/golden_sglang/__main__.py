"""``python -m golden_sglang VERSION``: ask the made-up requests of ``probes/`` of a real SGLang, and judge the fake.

Exit code 0 when the fake answers every one as SGLang did, 1 when something differs, 4 when it could not be done.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click
from golden_vllm import folder
from golden_vllm.capture import Captor, NoAnswer
from golden_vllm.environment import Environment
from golden_vllm.installing import Say
from golden_vllm.running import Kind, RealServer
from golden_vllm.wanted import Plan, Wanted

from fakellm.errors import FakellmError
from fakellm.fidelity.library import Library
from fakellm.fidelity.recorded import Masks
from fakellm.fidelity.run import run
from fakellm.resources import resource
from fakellm.tokenizer import load

from . import environment
from . import masks as masking
from .environment import NEEDS
from .probes import plans

HOME = Path(__file__).resolve().parents[2] / ".golden"
SGLANG = Kind(
    name="SGLang",
    serve=Path(__file__).parent / "engine" / "serve.py",
    model_option="--model-path",
    alive="/get_model_info",
    settings={
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SGLANG_RUST_BUILD_MODE": "never",
    },
)


@click.command(context_settings={"help_option_names": ["-h", "--help"]}, epilog=f"It needs {NEEDS}")
@click.argument("version")
@click.option("--only", multiple=True, metavar="GLOB", help="Folder names; may be given repeatedly.")
@click.option("--asking", metavar="GLOB", help="Names of the requests.")
@click.option("--torch", metavar="REQUIREMENT", help="What to install as torch.")
@click.option("--venv", type=click.Path(path_type=Path, exists=True), help="A venv that lends its libraries.")
def main(version: str, only: tuple[str, ...], asking: str | None, torch: str | None, venv: Path | None) -> int:
    """Capture the answers of the real sglang VERSION to made-up requests and compare the fake with them."""
    started = time.monotonic()
    with Library([resource("golden")]) as library:
        origin = next(one for one in library.folders if one.server.server == "sglang" and one.tokenizer)
        tokenizer, masks = origin.tokenizer, origin.masks
        chosen = [plan for plan in plans(version, tokenizer or Path()) if _fits(plan.name, only)]
        if not chosen:
            raise click.UsageError("nothing to capture: no folder fits")
        installed = environment.prepare(HOME, version, lent=venv, torch=torch, say=_say)
        places = [_captured(plan, masks, version, installed, asking) for plan in chosen]
    _say(f"captured in {time.monotonic() - started:.0f} s: {HOME.name}/golden")
    report = run(places)
    click.echo(report.to_text())
    return 0 if report.holds else 1


def _fits(name: str, only: tuple[str, ...]) -> bool:
    return not only or any(fnmatchcase(name, one) for one in only)


def _captured(plan: Plan, masks: Masks, version: str, installed: Environment, asking: str | None) -> Path:
    """Start the server of a plan, ask everything, and write the folder."""
    requests = [one for one in plan.requests if asking is None or fnmatchcase(one.name, asking)]
    _say(f"{plan.name}: {len(requests)} requests; the server starts")
    captor: Captor | None = None
    while requests:
        server = RealServer(
            environment=installed,
            folder=HOME / "run" / plan.name,
            model=plan.tokenizer,
            model_name=plan.server.model_path or "tinymodel",
            options=plan.server.launch,
            env=dict(plan.server.env),
            kind=SGLANG,
            say=_say,
        )
        with server:
            captor = _asked(server, requests, installed, captor or Captor(0, None, Path(), load(plan.tokenizer), masks))
    if captor is None:
        raise click.UsageError(f"{plan.name}: nothing to ask")
    place = folder.write(HOME / "golden", plan, version, captor, scripted=True)
    masking.write(place)
    return place


def _asked(server: RealServer, requests: list[Wanted], installed: Environment, earlier: Captor) -> Captor:
    """Ask until all is answered or the server is gone; what has been asked is taken off the list."""
    captor = replace(earlier, port=server.port, play=server.play, journal=server.journal, _read=0)
    while requests:
        wanted = requests.pop(0)
        try:
            captor.capture(wanted)
        except NoAnswer as broken:
            _say(f"left out, the server starts anew: {broken}")
            break
        _neutral(captor.exchanges[wanted.name]["response"], installed)
    return captor


def _neutral(response: dict[str, Any], installed: Environment) -> None:
    """Without this machine's folders, and without the order of a set that differs from start to start."""
    for path in installed.paths:
        response["body"] = response["body"].replace(str(path), "/site-packages")
    headers = response["headers"]
    headers.pop("connection", None)
    if "allow" in headers:
        headers["allow"] = ", ".join(sorted(headers["allow"].split(", ")))


_say: Say = lambda text: click.echo(f"golden-sglang: {text}", err=True)  # noqa: E731

if __name__ == "__main__":
    try:
        sys.exit(main(standalone_mode=False))
    except FakellmError as failed:
        click.echo(f"golden-sglang: {failed}", err=True)
        sys.exit(4)
