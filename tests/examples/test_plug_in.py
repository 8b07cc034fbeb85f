"""A layout and a fault of somebody else's package are found, played, listed and judged like our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plug-in"
CHAT = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}], "return_token_ids": True})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an installer would leave of the package."""
    place = tmp_path_factory.mktemp("site")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    info = place / "acme_fakellm-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))
    (place / "acme_fakellm.py").write_text((EXAMPLE / "acme_fakellm.py").read_text())
    return place


def run(site: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "fakellm", *words]
    ended = subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True, check=False)
    assert 0 == ended.returncode, ended.stdout + ended.stderr
    return ended.stdout


def test_the_layout_is_listed_and_played(site: Path) -> None:
    assert "acme-1.0" in run(site, "layouts")
    assert '"acme":{"ids":[' in run(site, "play", "--layout", "acme", "--body", CHAT)


def test_the_fault_is_listed_and_played(site: Path) -> None:
    scenario = site / "twice.yaml"
    scenario.write_text("replies: [{say: Hello, faults: [acme-ids-twice]}]\n")

    assert "acme-ids-twice" in run(site, "faults")
    played = run(site, "play", "twice.yaml", "--layout", "acme", "--body", CHAT)
    assert '"acme":{"ids":[' in played
    assert '"token_ids":[' in played
    assert "clients that add both lists up" in run(site, "explain", "acme-ids-twice", "--layout", "acme")


def test_the_suite_holds_a_client_against_it(site: Path) -> None:
    """The reference client reads by the accessor table, so it finds the ids in their new place."""
    (site / "reader.py").write_text(
        "import json\n"
        "from fakellm.layouts.registry import find\n"
        "from fakellm.reading import read\n"
        "from fakellm.capture import VALUES\n"
        "SUPPORTS = {'apis': ['chat'], 'stream': [False], 'layouts': ['acme-1.0']}\n"
        "def extract(body, content_type):\n"
        "    got = read(body, api='chat', table=find('acme').layout.accessors)\n"
        "    return [{'index': c.index, **{n: getattr(c, n) for n in VALUES}} for c in got.choices]\n"
    )
    command = ["conform", "smoke", "--layout", "acme-1.0", "--extract", "reader:extract"]

    assert "usable captures: 0 of" not in run(site, *command)
