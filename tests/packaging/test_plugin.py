"""The pytest plugin as it is installed from the wheel, beside a client and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import zipfile
from importlib.metadata import requires
from pathlib import Path

import pytest

from support.environments import environment, site_of

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "pytest" / "test_capture.py"


def of_the_readme() -> str:
    """The pytest example of the README, as somebody would copy it."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    (block,) = (block for block in blocks if "def test_" in block and "fakellm" in block)
    return block


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, the openai client, pytest, and what these require."""
    needed = [line for line in requires("fakellm-conformance") or () if "extra ==" not in line]
    made = environment(tmp_path_factory.mktemp("environment"), ["pytest", "openai", *needed])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site_of(made))
    return made


def run(python: Path, folder: Path, test: str) -> str:
    """What pytest says of a suite of one file."""
    (folder / "test_capture.py").write_text(test, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    words = [str(python), "-m", "pytest", "-p", "no:cacheprovider"]
    ended = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return ended.stdout + ended.stderr


@pytest.mark.parametrize("example", ["README.md", "examples"])
def test_an_example_passes_in_an_empty_folder(python: Path, tmp_path: Path, example: str) -> None:
    told = run(python, tmp_path, of_the_readme() if example == "README.md" else EXAMPLE.read_text(encoding="utf-8"))

    assert "plugins: " in told
    assert "asyncio" not in told
    assert " passed" in told, told
    assert "failed" not in told, told


@pytest.mark.parametrize(
    "example, right, wrong",
    [
        ("README.md", "for entry in choice.logprobs.content]", "for entry in choice.logprobs.content[:-1]]"),
        ("examples", "if choice.logprobs is not None:", "if choice.logprobs is not None and choice.delta.content:"),
    ],
)
def test_with_the_wrong_client_it_fails_with_a_table_that_points_at_the_token(
    python: Path, tmp_path: Path, example: str, right: str, wrong: str
) -> None:
    text = of_the_readme() if example == "README.md" else EXAMPLE.read_text(encoding="utf-8")
    assert right in text

    told = run(python, tmp_path, text.replace(right, wrong))

    assert "1 failed" in told, told
    assert "E         >  4  '<|im_end|>'" in told, told
    assert "the last of the scores is lost" in told, told
