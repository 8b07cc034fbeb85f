"""Write what is generated from the faults: ``docs/faults.md`` and the goldens ``tests/golden/faults/*.diff``.

Run it after a fault or a renderer changed, and read the difference that git shows: ``python tools/fault_pages.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fakellm.faults.base import Fault
from fakellm.faults.pages import catalogue_page
from fakellm.faults.registry import faults
from fakellm.showcase import LAYOUT, Shown, show

ROOT = Path(__file__).resolve().parent.parent
GOLDENS = ROOT / "tests" / "golden" / "faults"
PAGE = ROOT / "docs" / "faults.md"
LINES = 24
"""Lines of a difference on the page; the goldens have more."""


def golden(shown: Shown) -> str:
    """The text of a golden file: where the fault is shown, and the difference that it makes."""
    return f"# {shown.fault} in {shown.situation}, {shown.layout}\n{shown.text}\n"


def shown(fault: Fault) -> tuple[str, str] | None:
    """A fault's difference for the page."""
    found = show(fault)
    return None if found is None else (found.first(LINES), f"{found.situation}, {found.layout}")


def main() -> int:
    """Write all files; a fault that shows nowhere is told and counts as a failure."""
    GOLDENS.mkdir(parents=True, exist_ok=True)
    silent: list[str] = []
    for fault in faults().values():
        found = show(fault)
        if found is None:
            silent.append(fault.id)
        else:
            (GOLDENS / f"{fault.id}.diff").write_text(golden(found), encoding="utf-8")
    for stale in GOLDENS.glob("*.diff"):
        if stale.stem not in faults():
            stale.unlink()
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(catalogue_page(shown), encoding="utf-8")
    print(f"{len(faults()) - len(silent)} faults shown on {LAYOUT}", file=sys.stderr)
    for name in silent:
        print(f"{name} shows in no situation of showcase.py", file=sys.stderr)
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
