"""What the published results show beside each entry of a baseline: the smallest case as a command, and what was seen.

    # make matrix CLIENT=openai-python MATRIX_ARGS="--only 'scores/one-long[api=chat,layout=vllm-0.32.0,stream=false]'"
    - check: align.ids-vs-logprobs
      case: "scores/one-long"
      reason: "ids and scores are never counted against each other. Seen: 13 logprobs for 12 completion ids"

What stands before ``Seen:`` is written by a person and stays; what follows comes from the results. Pure but for the
rewriting of the file at the end; knows no client.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from fakellm.conform import globs

from .result import SEEN, Result

LONGEST = 420
"""Characters of what was seen; more of it is one command away."""
Finding = Mapping[str, Any]
Shown = tuple[Mapping[str, Any], Finding]
"""A row of the results, and one finding in it."""


def retold(text: str, result: Result) -> str:
    """The baseline file's text with the command and what was seen renewed in every entry that the results show."""
    entries: list[dict[str, Any]] = yaml.safe_load(text) or []
    lines = [_head(text)] if _head(text) else []
    for entry in entries:
        shown = matching(result, entry["check"], entry["case"])
        cause = str(entry["reason"]).partition(SEEN.rstrip())[0].rstrip(" .;")
        if shown:
            entry = {**entry, "reason": f"{cause}.{SEEN}{seen(shown)}"}
            lines.append(f"# make matrix CLIENT={result.name} MATRIX_ARGS=\"--only '{smallest(shown)[0]['id']}'\"")
        lines.append(_spelled(entry))
    return "\n".join(lines) + "\n"


def matching(result: Result, check: str, pattern: str) -> list[Shown]:
    """Every failure of a check in the cases that a pattern selects."""
    rows = (row for row in result.cases if globs.matches(pattern, row["id"]))
    return [(row, one) for row in rows for one in row["failed"] if one["check"] == check and _judged(one)]


def smallest(shown: Sequence[Shown]) -> Shown:
    """The one that is quickest to read: whole before streamed, one choice before several, a short id before a long."""
    return min(shown, key=lambda one: ("stream=true" in one[0]["id"], "choices/" in one[0]["id"], len(one[0]["id"])))


def seen(shown: Sequence[Shown]) -> str:
    """What the findings say, equal words told once with the cases that show them."""
    first = smallest(shown)
    told: dict[str, list[str]] = {}
    for row, finding in (first, *shown):
        cases = told.setdefault(_words(finding), [])
        if globs.slug(row["id"]) not in cases:
            cases.append(globs.slug(row["id"]))
    several = len({slug for cases in told.values() for slug in cases}) > 1
    parts = [f"{words} ({_listed(cases)})" if several else words for words, cases in told.items()]
    kept: list[str] = []
    for part in parts:
        if kept and sum(map(len, kept)) + len(part) > LONGEST:
            kept.append(f"and {len(parts) - len(kept)} more ways")
            break
        kept.append(part)
    return "; ".join(kept)


def rewrite(path: Path, result: Result) -> bool:
    """Renew a baseline file; whether it changed."""
    before = path.read_text(encoding="utf-8")
    after = retold(before, result)
    if after != before:
        path.write_text(after, encoding="utf-8")
    return after != before


def _judged(finding: Finding) -> bool:
    return finding["outcome"] == "FAIL"


def _words(finding: Finding) -> str:
    where = finding.get("where", "").partition("[")[0] if finding["check"].startswith("align.") else ""
    words = finding.get("message", "").replace("\n", " ").strip()
    if where and where in words:
        where = ""
    diagnosis = finding.get("diagnosis", "")
    parts = [f"{where}: {words}" if where else words, "" if diagnosis in words else diagnosis, _kept(finding)]
    return _cut("; ".join(part for part in parts if part), 200)


def _kept(finding: Finding) -> str:
    return f"kept {finding['kept']}" if finding.get("kept") else ""


def _listed(cases: Sequence[str]) -> str:
    return ", ".join(cases) if len(cases) <= 4 else f"{', '.join(cases[:3])} and {len(cases) - 3} more"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _head(text: str) -> str:
    """The comment at the file's top, up to the first entry or its command."""
    lines: list[str] = []
    for line in text.split("\n"):
        if not line.startswith("#") or line.startswith("# make matrix"):
            break
        lines.append(line)
    return "\n".join(lines)


def _spelled(entry: Mapping[str, Any]) -> str:
    pairs: Iterable[tuple[str, Any]] = entry.items()
    spelled = [f"{name}: {_quoted(name, value)}" for name, value in pairs]
    return "- " + "\n  ".join(spelled)


def _quoted(name: str, value: Any) -> str:
    if name == "check" or isinstance(value, bool):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return json.dumps(str(value), ensure_ascii=False)
