"""Where results go: ``docs/benchmarks/`` holds them as JSON with the plots, ``docs/benchmarks.md`` shows them.

A run of some measures renews these and leaves the others; each keeps the date and load of its own run. The page is
written by hand but for what stands between its markers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .measures import MEASURES
from .report import TABLES, bounds, plots

PAGE = Path("docs/benchmarks.md")
FOLDER = Path("docs/benchmarks")
RESULTS = FOLDER / "results.json"


def known(root: Path) -> dict[str, Any]:
    """The results that are published: ``{"runs": {measure: run}, "results": {measure: numbers}}``."""
    file = root / RESULTS
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"runs": {}, "results": {}}


def publish(root: Path, run: dict[str, Any], results: dict[str, Any]) -> list[Path]:
    """Renew results, plots and page; the files that were written, from ``root`` on."""
    told = known(root)
    told["results"].update(results)
    told["runs"].update(dict.fromkeys(results, run))
    order = [measure.name for measure in MEASURES]
    told = {part: {name: told[part][name] for name in order if name in told[part]} for part in ("runs", "results")}
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    (root / RESULTS).write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    drawn = plots(told["results"])
    for name, svg in drawn.items():
        (root / FOLDER / name).write_text(svg, encoding="utf-8")
    page = root / PAGE
    page.write_text(filled(page.read_text(encoding="utf-8"), told), encoding="utf-8")
    return [RESULTS, *(FOLDER / name for name in drawn), PAGE]


def filled(page: str, told: dict[str, Any]) -> str:
    """The page with the tables of these results between its markers."""
    page = _between(page, "bounds", bounds(told["results"]))
    for name, make in TABLES.items():
        if name in told["results"]:
            page = _between(page, name, [*make(told["results"][name]), "", _run_line(told["runs"][name])])
    return page


def _run_line(run: dict[str, Any]) -> str:
    return (
        f"*{run['date']}, {run['cores']} cores, {run['system']}, Python {run['python']}; "
        f"load average before: {run['load']:g}{', which it had priority over' if run.get('priority') else ''}.*"
    )


def _between(text: str, name: str, lines: list[str]) -> str:
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, found, rest = text.partition(begin)
    if not found:
        return text
    _, _, tail = rest.partition(end)
    return f"{head}{begin}\n" + "\n".join(lines) + f"\n{end}{tail}"
