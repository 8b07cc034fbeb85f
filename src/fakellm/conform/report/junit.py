"""``junit.xml``: one suite per area, one case per case id, one ``<failure type=check>`` per failing MUST.

UNTESTED and ERROR are ``<error>``, N/A and expected failures ``<skipped>``; a case has one of each at most where the
format knows only one, and the attributes of suites count what is really inside. Characters that XML forbids are
replaced.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from ..finding import Level, Outcome
from ..verdict import Standing, Verdict
from .records import CaseRecord, Footer, Header

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


class JUnitWriter:
    """Collects small records and writes one file at the end, so that the file is always whole XML."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._areas: dict[str, list[ElementTree.Element]] = {}
        self._name = "fakellm"

    def header(self, header: Header) -> None:
        self._name = f"fakellm {header.mode} {header.client.get('name', '')}".strip()

    def case(self, record: CaseRecord) -> None:
        area, _, name = record.id.partition("/")
        attributes = {"classname": area, "name": name or record.id, "time": f"{record.elapsed_ms / 1000:.3f}"}
        element = ElementTree.Element("testcase", attributes)
        for verdict in record.verdicts:
            _add(element, verdict)
        if len(element) == 0 and not record.verdicts:
            ElementTree.SubElement(element, "skipped", {"message": "N/A: no check applies"})
        if len(element) and record.reproduce:
            ElementTree.SubElement(element, "system-out").text = clean(f"reproduce: {record.reproduce}")
        if record.stderr:
            ElementTree.SubElement(element, "system-err").text = clean(record.stderr)
        self._areas.setdefault(area, []).append(element)

    def footer(self, footer: Footer) -> None:
        root = ElementTree.Element("testsuites", {"name": clean(self._name), "time": f"{footer.elapsed_ms / 1000:.3f}"})
        for area, cases in self._areas.items():
            suite = ElementTree.SubElement(root, "testsuite", {"name": area, **_totals(cases)})
            suite.extend(cases)
        for name, value in _totals([case for cases in self._areas.values() for case in cases]).items():
            root.set(name, value)
        ElementTree.indent(root)
        ElementTree.ElementTree(root).write(self._path, encoding="utf-8", xml_declaration=True)


def _add(element: ElementTree.Element, verdict: Verdict) -> None:
    finding = verdict.finding
    message = clean(": ".join(part for part in (finding.where, finding.message) if part))
    if finding.outcome is Outcome.ERROR or (finding.outcome is Outcome.UNTESTED and finding.level is Level.MUST):
        ElementTree.SubElement(element, "error", {"type": finding.check, "message": f"{finding.outcome}: {message}"})
    elif finding.outcome is Outcome.FAIL and finding.level is Level.MUST:
        if verdict.standing is Standing.EXPECTED:
            text = clean(f"expected: {finding.check}: {verdict.reason}")
            ElementTree.SubElement(element, "skipped", {"message": text})
            return
        failure = ElementTree.SubElement(element, "failure", {"type": finding.check, "message": message})
        failure.text = clean(finding.diagnosis or "")


def _totals(cases: Sequence[ElementTree.Element]) -> dict[str, str]:
    """Cases that hold at least one of each; a case with an error is not counted as a failure as well."""
    errors = sum(case.find("error") is not None for case in cases)
    failures = sum(case.find("error") is None and case.find("failure") is not None for case in cases)
    plain = [case for case in cases if case.find("error") is None and case.find("failure") is None]
    skipped = sum(case.find("skipped") is not None for case in plain)
    return {"tests": str(len(cases)), "failures": str(failures), "errors": str(errors), "skipped": str(skipped)}


def clean(text: str) -> str:
    """The text without the characters that XML 1.0 cannot hold (shown as U+FFFD)."""
    return _FORBIDDEN.sub("\ufffd", text)
