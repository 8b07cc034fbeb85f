"""The wheel: small, complete, without what a run leaves behind; and it works without the checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds nothing but what the wheel brings."""
    place = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    return place


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def run(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=installed.parent, env=environment, capture_output=True, text=True, check=False
    )


def test_it_is_smaller_than_five_megabytes(wheel: Path) -> None:
    assert wheel.stat().st_size < 5 * MEGABYTE


@pytest.mark.parametrize(
    "name",
    [
        "fakellm/py.typed",
        "fakellm_conformance/__init__.py",
        "fakellm/_data/golden.tar.xz",
        "fakellm/_data/shapes.json.xz",
        "fakellm/_data/conformance/adapters/openai-python/adapter.py",
    ],
)
def test_it_brings_what_the_commands_need(wheel: Path, name: str) -> None:
    assert name in names(wheel)


def test_every_scenario_and_case_of_the_checkout_is_in_it(wheel: Path) -> None:
    shipped = [*ROOT.glob("scenarios/**/*.yaml"), *ROOT.glob("conformance/cases/**/*.yaml")]

    assert shipped
    assert set() == {f"fakellm/_data/{path.relative_to(ROOT).as_posix()}" for path in shipped} - names(wheel)


def test_nothing_that_a_run_leaves_behind_is_in_it(wheel: Path) -> None:
    unwanted = {".venv", "node_modules", "results", "__pycache__", "tests", "golden"}

    assert [] == [name for name in names(wheel) if unwanted & set(Path(name).parts)]


def test_both_commands_go_through_the_guard(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (entry_points,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        text = archive.read(entry_points).decode()

    assert "fakellm = fakellm_conformance:main" in text
    assert "fakellm-conformance = fakellm_conformance:main" in text


def test_an_installed_fakellm_measures_itself_without_the_checkout(installed: Path) -> None:
    ended = run(installed, "-m", "fakellm", "fidelity", "--only", "vllm-0.32.0-plain/get-health")

    assert 0 == ended.returncode, ended.stderr
    assert "vllm-0.32.0-plain" in ended.stdout


def test_an_installed_fakellm_finds_its_data(installed: Path) -> None:
    ended = run(installed, "-c", "from fakellm.resources import resource; print(resource('conformance'))")

    assert str(installed / "fakellm" / "_data" / "conformance") == ended.stdout.strip()
