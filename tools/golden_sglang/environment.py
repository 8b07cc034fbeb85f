"""An environment in which the real SGLang can be imported: a venv, torch's CPU build, and the unpacked wheel.

Only what its HTTP server, tokenizer manager and detokenizer import is installed; packages of graphics cards, media and
model files are stubs (``engine/stubs.py``). Runs pip; knows no request.
"""

from __future__ import annotations

import shutil
import sys
import venv
from email.parser import HeaderParser
from pathlib import Path

from golden_vllm.environment import CPU_TORCH, DONE, Environment
from golden_vllm.installing import InstallError, Say, install
from packaging.requirements import Requirement

NEEDS = (
    "about 3 GB of disk, 4 GB of memory and 5 minutes on a good line (torch and 80 packages are fetched once); a "
    "capture afterwards takes some minutes on two cores. Linux on x86_64, Python 3.11 or 3.12."
)

FOREIGN = (
    "torch sgl cuda nvidia nvshmem flash kernels quack humming tilelang timm decord av modelscope datasets blobfile "
    "deepseek tml- mistral build ninja py-spy smg- grpcio apache-tvm tokenspeed numba outlines hf_transfer hf-transfer "
    "compressed gguf"
).split()
"""Requirements that are left out, by how their names begin."""

BESIDES = ("dill", "compressed-tensors", "gguf", "jsonschema")
"""What is imported although no requirement that is kept brings it."""


def prepare(home: Path, version: str, *, lent: Path | None = None, torch: str | None = None, say: Say) -> Environment:
    """The environment of a version, installed if need be; raises InstallError.

    ``lent``: a venv to use as it is. ``torch``: what to install as torch, None for the build that the captures had.
    """
    site = home / f"sglang-{version}"
    log = home / f"pip-sglang-{version}.log"
    if not (site / DONE).exists():
        say(f"fetching sglang {version}")
        shutil.rmtree(site, ignore_errors=True)
        install(Path(sys.executable), "--no-deps", "--target", str(site), f"sglang=={version}", log=log, say=say)
        (site / DONE).touch()
    place = lent or home / f"venv-sglang-{version}"
    python = place / "bin" / "python"
    if lent is None and not (place / DONE).exists():
        venv.create(place, with_pip=True, clear=True)
        say(f"installing {torch or CPU_TORCH}")
        install(python, torch or CPU_TORCH, "numpy", log=log, say=say)
        say("installing what SGLang needs besides: about 80 packages")
        install(python, *requirements(site), *BESIDES, log=log, say=say)
        (place / DONE).touch()
    return Environment(python, (Path(__file__).resolve().parents[1], site))


def requirements(site: Path) -> list[str]:
    """The requirements of an unpacked wheel that are installed."""
    metadata = next(site.glob("sglang-*.dist-info"), None)
    if metadata is None:
        raise InstallError(f"{site.name} holds no sglang")
    facts = HeaderParser().parsestr((metadata / "METADATA").read_text(encoding="utf-8"))
    lines: list[str] = facts.get_all("Requires-Dist") or []
    found = [Requirement(line) for line in lines]
    return [
        str(one)
        for one in found
        if (one.marker is None or one.marker.evaluate({"extra": ""}))
        and not one.name.lower().startswith(tuple(FOREIGN))
    ]
