"""Cross tables over results: what a run keeps of a healthy answer, and what it does under each fault. Pure.

A cell is the worst of its variants (layouts, whole and streamed), with the case that shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .result import VALUES, Result

APIS = ("chat", "completions", "responses", "generate", "tito")
STATES = ("absent", "null", "ok", "refused", "note", "untested", "warn", "fail", "error")
"""From the mildest to the worst: a cell shows the worst of its cases."""
WORDS = 140
"""Characters that a pointer sees; the case's own place has all of it."""
KEPT = ("kept", "null", "changed")
PLAINEST = ("happy/plain", "echo/healthy")
"""The cases in which nothing is odd: one choice, no fault, no parser."""


@dataclass(frozen=True, slots=True)
class Cell:
    """``state``: a word of ``STATES`` (or of ``KEPT`` in the first table); ``case``: the id of the case behind it;
    ``words``: what a pointer sees."""

    state: str
    case: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One row of the second table: a case without its axes."""

    slug: str
    title: str
    why: str
    faulty: bool


def slug(case_id: str) -> str:
    """``ids/late[api=chat]`` -> ``ids/late``."""
    return case_id.partition("[")[0]


def axes(case_id: str) -> dict[str, str]:
    """The axes in the brackets of an id."""
    inside = case_id.partition("[")[2].rstrip("]")
    return dict(pair.split("=", 1) for pair in inside.split(",") if "=" in pair)


def modes(results: Sequence[Result]) -> list[tuple[str, bool]]:
    """Every (api, stream) that any run was judged on, in a fixed order."""
    found = {_mode(row["id"]) for result in results for row in result.cases if "[" in row["id"]}
    return sorted(found, key=lambda mode: (APIS.index(mode[0]), mode[1]))


def kept(result: Result, mode: tuple[str, bool]) -> dict[str, Cell]:
    """value -> what became of it in the plainest healthy answer of a mode: ``kept``, ``null``, ``changed``; ``absent``
    when it was not on the wire, or when the software does not claim to show it. Of several layouts the worst counts."""
    supports: Mapping[str, Any] = result.header["client"].get("supports") or {}
    claimed: Sequence[str] = supports.get("captures") or VALUES
    cells: dict[str, Cell] = {}
    for row in _of(result, mode):
        if slug(row["id"]) not in PLAINEST:
            continue
        for value, state in row["values"].items():
            if value not in claimed:
                continue
            before = cells.get(value)
            if before is None or KEPT.index(state) > KEPT.index(before.state):
                cells[value] = Cell(state, row["id"], f"{value}: {state} in {row['id']}")
    return {value: cells.get(value, Cell("absent")) for value in VALUES}


def behaviours(results: Sequence[Result]) -> list[Behaviour]:
    """Every case without its axes that any run was judged on, by area and name."""
    found: dict[str, Behaviour] = {}
    for result in results:
        for row in result.cases:
            if "[" in row["id"]:
                name = slug(row["id"])
                faulty = bool(row["faults"]) or (name in found and found[name].faulty)
                found[name] = Behaviour(name, row.get("title", name), row.get("why", ""), faulty)
    return [found[name] for name in sorted(found)]


def judged(result: Result, behaviour: str) -> Cell:
    """What a run did in one case: the worst of its variants."""
    worst = Cell("absent")
    for row in result.cases:
        if slug(row["id"]) == behaviour:
            cell = Cell(state_of(row), row["id"], _words(row))
            if STATES.index(cell.state) > STATES.index(worst.state) or not worst.case:
                worst = cell
    return worst


def state_of(row: Mapping[str, Any]) -> str:
    """One case in one word."""
    grades = {_grade(finding) for finding in row["failed"]}
    if grades:
        return max(grades, key=STATES.index)
    if row.get("ending") in ("refused", "errored"):
        return "refused"
    lost = row["faults"] and "null" in row["values"].values()
    return "null" if lost else "ok"


def counted(result: Result) -> dict[str, int]:
    """How many behaviours a run passes, refuses, fails."""
    cells = [judged(result, name) for name in {slug(row["id"]) for row in result.cases if "[" in row["id"]}]
    return {state: sum(cell.state == state for cell in cells) for state in STATES}


def _grade(finding: Mapping[str, Any]) -> str:
    if finding["outcome"] in ("ERROR", "UNTESTED"):
        return finding["outcome"].lower()
    return {"MUST": "fail", "SHOULD": "warn"}.get(finding["level"], "note")


def _words(row: Mapping[str, Any]) -> str:
    told = [f"{finding['check']}: {finding.get('message', '')}" for finding in row["failed"]]
    return "; ".join(told)[:WORDS]


def _mode(case_id: str) -> tuple[str, bool]:
    found = axes(case_id)
    return found.get("api", "chat"), found.get("stream") == "true"


def _of(result: Result, mode: tuple[str, bool]) -> list[Mapping[str, Any]]:
    return [row for row in result.cases if "[" in row["id"] and _mode(row["id"]) == mode]
