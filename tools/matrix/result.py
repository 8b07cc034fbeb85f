"""One run's result as it is published: ``report.jsonl`` of the suite, made short, scrubbed, and the same every time.

A file holds a header, a row per case in order of id, and a footer; nothing in it depends on the clock but the
header's date. A row keeps what became of every value, the checks that passed by name, what failed in full, and, for
failures, the evidence: request, answer, capture, strip, and the command that runs the case alone. On disk it is packed
(``packing``): what many rows say alike is said once.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from . import packing
from .scrub import Machine, scrubbed_all

FORMAT = 3
VALUES = ("prompt_token_ids", "completion_token_ids", "logprobs", "text", "finish_reason")
CAP = 1200
"""Characters of one side that are shown, of its beginning and its end; all bytes are one command away."""
STRIP_ROWS = 7
SHOWN = 2
"""So many cases per failing check show their evidence in full; of the others the command does."""


KEPT = {
    "text.kept": "text",
    "text.decodes": "text",
    "finish.kept": "finish_reason",
    "outcome.errors-surfaced": "finish_reason",
}
"""check -> the captured value that its message does not tell; the finding says it beside."""
SEEN = " Seen: "
"""What follows this in a baseline's reason was taken from results (``baselines``), and does not go into them again."""


@dataclass(slots=True)
class Result:
    """A result file read back."""

    header: Mapping[str, Any]
    cases: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    footer: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        return self.header["name"]

    @property
    def version(self) -> str:
        """The software's version: as it says itself, else of the first package that was installed."""
        installed: Mapping[str, str] = self.header.get("installed") or {}
        word = self.header["recipe"].partition("-")[0]
        named = [version for package, version in installed.items() if word in package]
        return self.header["client"].get("version") or next(iter([*named, *installed.values()]), "")

    def case(self, case_id: str) -> Mapping[str, Any] | None:
        """The row of a case, if it ran."""
        return next((row for row in self.cases if row["id"] == case_id), None)


def from_report(
    lines: Iterable[str], about: Mapping[str, Any], machine: Machine, claimed: Container[str] = ()
) -> Result:
    """Make a result of the lines of a ``report.jsonl``. ``about``: what the header says beside the report's own;
    ``claimed``: cases that a finding stands on, whose evidence is kept whatever else shows the same."""
    header: Mapping[str, Any] = {}
    footer: Mapping[str, Any] = {}
    cases: dict[str, dict[str, Any]] = {}
    for line in lines:
        row: dict[str, Any] = json.loads(line)
        if row["type"] == "header":
            header = row
        elif row["type"] == "case":
            cases[row["id"]] = _case(row)
        elif row["type"] == "finding":
            _sort_in(cases[row["case"] if row["case"] in cases else row["record"]], row)
        elif row["type"] == "footer":
            footer = row
    shown = _thinned([_finished(cases[name]) for name in sorted(cases)], claimed)
    kept = ("suite", "protocol", "mode", "client", "options", "layouts", "seed", "tokenizer", "planned", "pruned")
    head = {"type": "header", "format": FORMAT, **about, **{name: header.get(name) for name in kept}}
    foot = {name: footer.get(name) for name in ("verdict", "exit", "usable", "counts", "stale")}
    return Result(
        scrubbed_all(head, machine),
        [scrubbed_all(row, machine) for row in shown],
        scrubbed_all({"type": "footer", **foot}, machine),
    )


def written(result: Result) -> str:
    """The file's text."""
    header, cases = packing.packed(result.header, result.cases)
    rows = [header, *cases, result.footer]
    return "".join(json.dumps(row, ensure_ascii=False).encode(errors="replace").decode() + "\n" for row in rows)


def read(path: Path) -> Result:
    """A result file; raises ValueError for one that is not whole."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    if len(rows) < 2 or rows[0].get("type") != "header" or rows[-1].get("type") != "footer":
        raise ValueError(f"{path.name} is not a whole result")
    if rows[0].get("format") != FORMAT:
        raise ValueError(f"{path.name} was written by another version of this tool: run make matrix CLIENT={path.stem}")
    header, cases = packing.unpacked(rows[0], rows[1:-1])
    return Result(header, [*cases], rows[-1])


def surprises(result: Result, untested: Mapping[str, str]) -> list[str]:
    """What neither the baseline nor the recipe knows of: unexpected findings, errors, stale entries, and requirements
    that stayed untested without (or tested in spite of) a reason in the recipe."""
    found: list[str] = []
    idle: set[str] = set()
    for row in result.cases:
        for one in row["failed"]:
            if one["outcome"] == "UNTESTED":
                if one["level"] == "MUST":
                    idle.add(one["check"])
            elif one.get("standing") != "expected" and (one["level"] != "INFO" or one["outcome"] == "ERROR"):
                found.append(f"{one['check']} in {row['id']}")
    if "*" not in untested:
        found += [f"{check} was not tested" for check in sorted(idle - set(untested))]
        found += [f"{check} was tested after all" for check in sorted(set(untested) - idle)]
    return [*found, *(f"stale: {entry}" for entry in result.footer.get("stale") or ())]


def _case(row: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("id", "title", "why", "ending", "message", "reproduce", "not_detectable")
    case: dict[str, Any] = {"type": "case", **{name: row[name] for name in kept if row.get(name)}}
    observed: Sequence[Mapping[str, Any]] = row.get("observed", ())
    case["faults"] = sorted({fault["id"] for turn in observed for fault in turn["case"]["faults"]})
    case["values"] = values_of(observed)
    case |= {"passed": [], "failed": [], "evidence": row.get("evidence", {}), "strips": row.get("strips", {})}
    return case


def _sort_in(case: dict[str, Any], finding: Mapping[str, Any]) -> None:
    if finding["outcome"] == "PASS":
        case["passed"].append(finding["check"])
    elif finding["outcome"] != "N/A":
        kept = ("check", "level", "outcome", "standing", "where", "message", "diagnosis", "reason")
        told = {name: finding[name] for name in kept if finding.get(name)}
        case["failed"].append(told | ({"reason": told["reason"].partition(SEEN)[0]} if "reason" in told else {}))


def _finished(case: dict[str, Any]) -> dict[str, Any]:
    case["passed"] = sorted(set(case["passed"]))
    case["failed"].sort(key=_place)
    evidence, strips = case.pop("evidence"), case.pop("strips")
    if not case["failed"]:
        case.pop("reproduce", None)
        return case
    sides = ("asked", "calls", "request", "response", "captured", "came back")
    for finding in case["failed"]:
        if kept := _kept(finding["check"], evidence.get("captured")):
            finding["kept"] = kept
    case["evidence"] = {name: _capped(evidence[name]) for name in sides if evidence.get(name)}
    if strips:
        check, strip = sorted(strips.items())[0]
        case["strip"] = {"check": check, **_shortened(strip)}
    return case


def _kept(check: str, captured: Any) -> str:
    """The captured values of every choice, where the check's message does not say them."""
    if check not in KEPT:
        return ""
    try:
        rows: Any = json.loads(captured) if isinstance(captured, str) else captured
    except ValueError:  # one that was too long for the report and is cut
        return ""
    if not isinstance(rows, list):
        return ""
    choices = cast("list[Mapping[str, Any]]", rows)[:4]
    values = [json.dumps(choice.get(KEPT[check]), ensure_ascii=False) for choice in choices]
    shown = ", ".join(value if len(value) <= 60 else f"{value[:59]}…" for value in values)
    return f"{KEPT[check]} {shown}"


def _thinned(cases: list[dict[str, Any]], claimed: Container[str]) -> list[dict[str, Any]]:
    """The cases, in which a check that fails again and again shows its evidence a few times only."""
    shown: dict[str, int] = {}
    for case in cases:
        checks = {finding["check"] for finding in case["failed"] if finding["level"] != "INFO"}
        if case["id"] not in claimed and all(shown.get(check, 0) >= SHOWN for check in checks):
            case.pop("evidence", None)
            case.pop("strip", None)
        elif case.get("evidence"):
            shown |= {check: shown.get(check, 0) + 1 for check in checks}
    return cases


def _place(finding: Mapping[str, Any]) -> tuple[str, str]:
    return finding["check"], finding.get("where", "")


def _capped(text: Any) -> str:
    text = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
    if len(text) <= CAP:
        return text
    return f"{text[: CAP // 2]}\n… ({len(text)} characters in all) …\n{text[-CAP // 2 :]}"


def _shortened(strip: Mapping[str, Any]) -> dict[str, Any]:
    rows: Sequence[Mapping[str, Any]] = strip.get("rows", ())
    first = next((place for place, row in enumerate(rows) if row.get("differs")), 0)
    begin = max(0, min(first - 2, len(rows) - STRIP_ROWS))
    return {**strip, "rows": rows[begin : begin + STRIP_ROWS]}


def values_of(observed: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """value -> what became of it: ``kept`` as it was sent, ``null``, ``changed``; values that were not sent are left
    out. Of several turns the worst counts."""
    worst: dict[str, str] = {}
    order = ("kept", "null", "changed")
    for turn in observed:
        sent = _choices(turn.get("sent"))
        got = _choices(turn.get("downstream") if turn.get("mode") == "gateway" else turn["ending"])
        for value in VALUES:
            state = _state([row.get(value) for row in sent], [row.get(value) for row in got])
            if state is not None and order.index(state) >= order.index(worst.get(value, "kept")):
                worst[value] = state
    return worst


def _choices(side: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """The captured choices of one side in the order of their index; none where nothing was captured."""
    capture: Mapping[str, Any] = (side or {}).get("capture") or {}
    rows: list[Mapping[str, Any]] = capture.get("choices") or []
    return sorted(rows, key=_index)


def _index(row: Mapping[str, Any]) -> str:
    return str(row.get("index", 0))


def _state(sent: Sequence[Any], got: Sequence[Any]) -> str | None:
    if all(value in (None, []) for value in sent):
        return None
    if all(value is None for value in got):
        return "null"
    return "kept" if [_rounded(value) for value in sent] == [_rounded(value) for value in got] else "changed"


def _rounded(value: Any) -> Any:
    """Scores are equal when they are the same float32: the precision in which servers compute."""
    if not isinstance(value, list):
        return value
    rows: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
    return [_float32(one) if isinstance(one, float) else one for one in rows]


def _float32(number: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return number
