"""What files say: no trace of the machine they were written on, and a paragraph at the head of every module."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

LONGEST = 400
"""Lines of a source file. Longer ones hold two things."""


def tracked() -> list[Path]:
    """The files of the repository; without git (an unpacked sdist) those that are there."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and ".venv" not in path.parts]


def texts() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for path in tracked():
        try:
            found.append((path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return found


TEXTS = texts()
SOURCES = [path for path in tracked() if path.suffix == ".py" and (ROOT / "src") in path.parents]
MODULES = [path for path in tracked() if path.suffix == ".py"]

SLASH = "/"
MACHINE = re.compile(
    rf"(?<![\w.])(?:{SLASH}work{SLASH}|{SLASH}root{SLASH}|{SLASH}home{SLASH}\w|{SLASH}opt{SLASH}|file:{SLASH * 3})"
)
REGISTRY = re.compile(
    "|".join(re.escape(".".join(parts)) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org")))
)
WRONG_NAME = re.compile(r"(?:pip install|uv add|uvx|pipx install|poetry add)\s+(?:-\S+\s+)*[\"']?fakellm(?![\w-])")
"""The distribution of that name is somebody else's; ours is fakellm-conformance."""


def lines(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in TEXTS
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_file_names_a_path_of_a_machine() -> None:
    assert [] == lines(MACHINE)


def test_no_file_names_a_package_registry() -> None:
    assert [] == lines(REGISTRY)


def test_no_file_installs_the_package_that_is_somebody_elses() -> None:
    assert [] == lines(WRONG_NAME)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_module_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert not text.strip() or ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_source_file_is_too_long(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


def test_the_patterns_find_what_they_are_for() -> None:
    """A pattern that finds nothing would let everything pass."""
    assert MACHINE.search(f"cd {SLASH}work{SLASH}x")
    assert REGISTRY.search("https://" + ".".join(["registry", "npmjs", "org"]))
    assert WRONG_NAME.search("pip " + "install fakellm")
    assert WRONG_NAME.search("pip " + "install -U 'fakellm[hf]'")
    assert not WRONG_NAME.search("pip install fakellm-conformance")
    assert not WRONG_NAME.search("uvx --from fakellm-conformance fakellm")
