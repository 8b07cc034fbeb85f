"""Writes the measured numbers into README.md: fidelity by server, faults, cases and checks; with --cost the benchmark.

    python tools/readme_numbers.py [--cost] [--check]

``--check`` changes nothing and exits 1 when the table is no longer true (CI). The cost block is only touched with
--cost: it depends on the machine, and is taken from what ``make bench`` published.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"


def fidelity_rows() -> list[str]:
    """One line per server and version: exchanges, byte-exact, equal in value, different."""
    from fakellm.fidelity.run import run
    from fakellm.resources import golden

    library = golden()
    assert library is not None, "the packed library is not there"
    by_server: dict[str, Counter[str]] = defaultdict(Counter)
    for judged in run([library]).judged:
        match = re.match(r"([a-z]+)-([\d.]+?)(?:\.(?:post|dev)\d+)?(?:-|$)", judged.folder)
        assert match is not None, judged.folder
        by_server[f"{match[1]} {match[2]}"][judged.verdict.verdict] += 1
    rows = ["| captured server | exchanges | byte-exact | equal values | differ |", "|---|---|---|---|---|"]
    total: Counter[str] = Counter()
    for server in sorted(by_server, key=_order):
        counts = by_server[server]
        total += counts
        rows.append(_row(server, counts))
    rows.append(_row("**all**", total))
    return rows


def _order(server: str) -> tuple[str, list[int]]:
    vendor, _, version = server.partition(" ")
    return vendor, [int(number) for number in version.split(".") if number]


def _row(name: str, counts: Counter[str]) -> str:
    return f"| {name} | {counts.total()} | {counts['exact']} | {counts['equal']} | {counts['differs']} |"


def suite_rows() -> list[str]:
    """What the suite and the fault catalogue hold."""
    from fakellm.conform.checks import all_checks
    from fakellm.faults.registry import faults
    from fakellm.layouts.registry import all_layouts

    evidence = Counter(layout.evidence for layout in all_layouts())
    known = ", ".join(f"{count} {word}" for word, count in sorted(evidence.items()))
    return [
        "",
        f"{evidence.total()} layouts ({known}), {len(faults())} faults, {len(all_checks())} checks. "
        "Numbers by `python tools/readme_numbers.py`, held true by a test.",
    ]


def cost_rows() -> list[str]:
    """The published benchmark's ratios (``make bench`` renews them)."""
    results = json.loads((ROOT / "docs" / "benchmarks" / "results.json").read_text(encoding="utf-8"))["results"]
    cost, peers = results["cost"], results["peers"]
    return [
        "| what | times the constant server |",
        "|---|---|",
        f"| CPU per whole answer, equal requests | {cost['ratio_per_request']} |",
        f"| CPU per whole answer, every prompt different | {cost['ratio_per_request_new_prompts']} |",
        f"| CPU per streamed event (it writes one event at a time) | {cost['ratio_per_event']} |",
        "",
        f"Beside {len(peers['share_of_each'])} other mock servers that say the same fifty words, an answer takes "
        f"{peers['share_of_fastest']} of the CPU",
        f"of the fastest ({peers['fastest']}) and at most {peers['largest_share_of_the_others']} of every other's.",
    ]


def replaced(text: str, name: str, rows: list[str]) -> str:
    """The text with another block between the markers of this name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    return f"{head}{begin}\n" + "\n".join(rows) + f"\n{end}{tail}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    old = README.read_text(encoding="utf-8")
    new = replaced(old, "coverage", [*fidelity_rows(), *suite_rows()])
    if options.check:
        return 0 if new == old else 1
    if options.cost:
        new = replaced(new, "cost", cost_rows())
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
