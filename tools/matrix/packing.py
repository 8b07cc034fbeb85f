"""How a result lies on disk: what many rows say alike is said once, in the header, and put back when it is read.

``header["cases"]``: slug -> title, why and faults of a case; ``header["tables"]``: name -> the distinct lists or words
that rows point into by number; ``header["again"]``: the command that runs one case, with ``{case}`` in its place. A
finding says level, outcome and standing only where they are not those of most; a strip's rows are lists in the order of
``STRIP``. ``packed`` and ``unpacked`` are inverse to each other. Pure.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]
TABLES = ("passed", "reasons")
LETTERS = {"prompt_token_ids": "P", "completion_token_ids": "C", "logprobs": "L", "text": "T", "finish_reason": "F"}
MARKS = {"kept": "+", "null": "0", "changed": "!"}
"""What became of the values, as it is written: ``P+C+L!``."""
ABOUT = ("title", "why", "faults")
USUAL = {"level": "MUST", "outcome": "FAIL", "standing": "expected"}
FINDING = ("check", "level", "outcome", "standing", "where", "message", "diagnosis", "kept", "reason")
STRIP = ("truth", "sent", "got")
PLACE = "{case}"
UNSAID = object()


@dataclass(slots=True)
class Table:
    """Distinct values in the order in which they came."""

    values: list[Any] = field(default_factory=list[Any])
    places: dict[str, int] = field(default_factory=dict[str, int])

    def place(self, value: Any) -> int:
        """The number of a value, which is entered when it is new."""
        name = json.dumps(value, sort_keys=True)
        if name not in self.places:
            self.places[name] = len(self.values)
            self.values.append(value)
        return self.places[name]


def packed(header: Row, cases: Sequence[Row]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Header and rows as they are written."""
    about: dict[str, dict[str, Any]] = {}
    for row in cases:
        about.setdefault(_slug(row), {name: row[name] for name in ABOUT if row.get(name)})
    tables = {name: Table() for name in TABLES}
    again = next((_template(row) for row in cases if _template(row)), "")
    rows = [_row(row, about[_slug(row)], tables, again) for row in cases]
    told = {name: table.values for name, table in tables.items()}
    return {**header, "again": again, "cases": about, "tables": told}, rows


def unpacked(header: Row, cases: Sequence[Row]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What ``packed`` was given."""
    rest = {name: value for name, value in header.items() if name not in ("again", "cases", "tables")}
    return rest, [_whole(row, header) for row in cases]


def _row(row: Row, about: Row, tables: Mapping[str, Table], again: str) -> dict[str, Any]:
    kept = {name: value for name, value in row.items() if name not in ABOUT or value != about.get(name, _none(name))}
    kept["passed"] = tables["passed"].place(row["passed"])
    kept["values"] = "".join(LETTERS[name] + MARKS[state] for name, state in row["values"].items())
    if row.get("reproduce") is not None and row["reproduce"] == _again(again, row["id"]):
        kept["reproduce"] = True
    kept["failed"] = [_finding(finding, tables["reasons"]) for finding in row["failed"]]
    if row.get("strip"):
        kept["strip"] = {**row["strip"], "rows": [_strip_row(one) for one in row["strip"]["rows"]]}
    return {name: value for name, value in kept.items() if name != "failed" or value}


def _whole(row: Row, header: Row) -> dict[str, Any]:
    tables: Mapping[str, Sequence[Any]] = header["tables"]
    about: Row = header["cases"][_slug(row)]
    whole = {**{name: about.get(name, _none(name)) for name in ABOUT}, **row}
    whole = {name: value for name, value in whole.items() if value is not None}
    whole["passed"] = tables["passed"][row["passed"]]
    names, states = ({mark: name for name, mark in known.items()} for known in (LETTERS, MARKS))
    written = row["values"]
    whole["values"] = {names[written[at]]: states[written[at + 1]] for at in range(0, len(written), 2)}
    if row.get("reproduce") is True:
        whole["reproduce"] = _again(header["again"], row["id"])
    whole["failed"] = [_finding_whole(one, tables["reasons"]) for one in row.get("failed", ())]
    if row.get("strip"):
        whole["strip"] = {**row["strip"], "rows": [_strip_whole(one) for one in row["strip"]["rows"]]}
    return whole


def _finding(finding: Row, reasons: Table) -> dict[str, Any]:
    told = {**dict.fromkeys(USUAL), **finding}
    told |= {"reason": reasons.place(finding["reason"])} if "reason" in finding else {}
    return {name: told[name] for name in FINDING if name in told and told[name] != USUAL.get(name, UNSAID)}


def _finding_whole(finding: Row, reasons: Sequence[str]) -> dict[str, Any]:
    told = {**USUAL, **finding} | ({"reason": reasons[finding["reason"]]} if "reason" in finding else {})
    return {name: told[name] for name in FINDING if told.get(name) is not None}


def _strip_row(row: Row) -> list[Any]:
    sides: list[Row] = [row.get(side) or {} for side in STRIP]
    values: list[Any] = [side.get(name) for side in sides for name in ("id", "logprob")]
    return [row["position"], row.get("piece"), *values, bool(row.get("differs"))]


def _strip_whole(row: Sequence[Any]) -> dict[str, Any]:
    position, piece, *values, differs = row
    sides = {side: {"id": values[2 * at], "logprob": values[2 * at + 1]} for at, side in enumerate(STRIP)}
    return {"position": position, "piece": piece, **sides, "differs": differs}


def _template(row: Row) -> str:
    command, word = row.get("reproduce") or "", shlex.quote(row["id"])
    return command.replace(word, PLACE) if command.count(word) == 1 else ""


def _again(template: str, case: str) -> str:
    return template.replace(PLACE, shlex.quote(case))


def _slug(row: Row) -> str:
    return row["id"].partition("[")[0]


def _none(name: str) -> Any:
    return [] if name == "faults" else None
