"""``evidence/``: for every case that did not pass, the bytes of each side and the adapter's stderr, one folder a case.

Headers with secrets are redacted before they come here. ``report.html`` links to these folders.
"""

from __future__ import annotations

import re
from pathlib import Path

from .records import CaseRecord, Footer, Header


class EvidenceWriter:
    """Writes a case's raw sides as they are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def header(self, header: Header) -> None:
        """Nothing to write yet."""

    def case(self, record: CaseRecord) -> None:
        if not record.raw:
            return
        folder = self._folder / folder_name(record.id)
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in record.raw.items():
            (folder / name).write_bytes(data)
        if record.stderr:
            (folder / "stderr.txt").write_text(record.stderr, encoding="utf-8", errors="replace")

    def footer(self, footer: Footer) -> None:
        """Nothing left to write."""


def folder_name(case: str) -> str:
    """A case id as the name of a folder on any system.

    >>> folder_name("ids/nested[api=chat,stream=true]")
    'ids-nested-api=chat-stream=true'
    """
    return re.sub(r"[^A-Za-z0-9._=]+", "-", case).strip("-")
