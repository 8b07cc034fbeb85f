"""Every fault at work on a real answer, as a plain difference in ``faults/ID.diff``; the page of the docs agrees.

After a renderer or a fault changed: ``python tools/fault_pages.py``, then read the difference that git shows.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakellm.faults.base import Fault
from fakellm.faults.pages import catalogue_page
from fakellm.faults.registry import faults
from fakellm.showcase import SITUATIONS, answer, show

FOLDER = Path(__file__).parent / "faults"
DOCS = Path(__file__).parents[2] / "docs" / "faults.md"
EVERY = list(faults().values())


@pytest.mark.parametrize("fault", EVERY, ids=lambda fault: fault.id)
def test_before_and_after(fault: Fault) -> None:
    shown = show(fault)

    assert shown is not None, f"{fault.id} shows in no situation of showcase.py"
    expected = (FOLDER / f"{fault.id}.diff").read_text(encoding="utf-8")
    assert expected == f"# {shown.fault} in {shown.situation}, {shown.layout}\n{shown.text}\n"


def test_no_golden_is_left_over() -> None:
    assert {fault.id for fault in EVERY} == {path.stem for path in FOLDER.glob("*.diff")}


def test_the_page_of_the_docs_is_up_to_date() -> None:
    sys.path.insert(0, str(DOCS.parents[1] / "tools"))
    try:
        from fault_pages import shown
    finally:
        sys.path.pop(0)

    assert DOCS.read_text(encoding="utf-8") == catalogue_page(shown)


def test_without_a_fault_every_situation_is_healthy() -> None:
    healthy = {situation.name: answer(situation)[0].status for situation in SITUATIONS}

    assert {200, 404} >= set(healthy.values())
    assert 15 <= list(healthy.values()).count(200)


def test_the_same_bytes_in_another_process() -> None:
    program = (
        "import hashlib;from fakellm.showcase import SITUATIONS, answer;"
        "print(hashlib.sha256(repr([answer(s, ('model-renamed', 'json-key-order', {'stall': {'probability': 0.5}}))[0] "
        "for s in SITUATIONS]).encode()).hexdigest())"
    )

    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path), "TZ": zone},
            capture_output=True,
            check=True,
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }

    assert 1 == len(digests)
