"""``report.html``: one self-contained file, without network: matrix, wire logs, alignment strips, commands to copy.

The data stands in the page as JSON in which no character can end a script element; the page's own script sets all of it
as text. Evidence is capped here as in ``report.jsonl``; all bytes lie in ``evidence/``. Several runs make one matrix.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from ...pages import page_part
from .records import CaseRecord, Footer, Header, finding_to_json, jsonable

MARK = "@DATA@"
SHARED = {"/*@COMMON_CSS@*/": "common.css", "/*@COMMON_JS@*/": "common.js"}
"""mark -> the file of ``fakellm.pages`` that stands there."""


class Html:
    """The page over one or several runs. ``requirements``: check id -> its sentence."""

    def __init__(self, path: Path, requirements: Mapping[str, str]) -> None:
        self._path = path
        self._requirements = requirements
        self._runs: list[dict[str, Any]] = []

    def header(self, header: Header) -> None:
        self._runs.append({"header": {name: getattr(header, name) for name in Header.__slots__}, "cases": []})

    def case(self, record: CaseRecord) -> None:
        row = {
            "id": record.id,
            "title": record.title,
            "why": record.why,
            "ending": record.ending,
            "message": record.message,
            "absent": record.absent,
            "strips": record.strips,
            "reproduce": record.reproduce,
            "commands": record.commands,
            "evidence": record.evidence,
            "stderr": record.stderr,
            "not_detectable": record.not_detectable,
        }
        shown = {name: value for name, value in row.items() if value not in ("", {}, None, False)}
        self._runs[-1]["cases"].append({**shown, "findings": [finding_to_json(one) for one in record.verdicts]})

    def footer(self, footer: Footer) -> None:
        self._runs[-1]["footer"] = {**footer.to_json(), "failing": [], "stale": list(footer.stale)}
        data = {"runs": self._runs, "requirements": dict(self._requirements)}
        template = resources.files(__package__ or "").joinpath("page.html").read_text(encoding="utf-8")
        for mark, part in SHARED.items():
            template = template.replace(mark, page_part(part))
        self._path.write_text(template.replace(MARK, embedded(data)), encoding="utf-8", errors="replace")


def embedded(data: Any) -> str:
    """JSON that no text in it can turn into markup: every character that HTML reads is escaped.

    >>> embedded("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(data, ensure_ascii=True, default=jsonable)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
