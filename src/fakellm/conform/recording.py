"""What ``conform server --record DIR`` writes: every exchange with the truth that its own bytes show.

The same as ``fakellm record`` does: ``DIR/exchanges.jsonl`` grows while the run goes on, and when it ends the folder is
packed in the golden library's form, for ``fakellm fidelity DIR``. Reads and writes files; judges nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path

from ..errors import UsageError
from ..house import Choices, House
from ..layouts.base import Layout
from ..record.facts import Source, server_json
from ..record.file import Appender
from ..record.line import line_of
from ..record.pack import Outcome, pack
from ..record.taken import COMPLETE, CUT, Taken
from ..record.truth import Expert, read_safely
from ..scenario.plain import plain_auto
from .drivers.http import HttpAnswer


class Recorder:
    """Keeps the exchanges of one run. ``tokenizer``: a folder, None = the built-in one; ``reads``: whether it is the
    server's, without which bytes are written and no truth."""

    def __init__(
        self, folder: Path, layout: Layout, *, model: str | None = None, launch: tuple[str, ...] = (),
        tokenizer: str | None = None, reads: bool = True,
    ) -> None:  # fmt: skip
        if folder.exists() and any(folder.iterdir()) and not (folder / "server.json").is_file():
            raise UsageError("the folder holds something else than a recording", where=str(folder))
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.file = folder / "exchanges.jsonl"
        self.file.unlink(missing_ok=True)
        self.source = Source(layout=layout.name, launch=launch, model=model, tokenizer=tokenizer)
        (folder / "exchanges.source.json").write_text(json.dumps(self.source.to_json(), indent=1), encoding="utf-8")
        (folder / "server.json").write_text(json.dumps(server_json(self.source, [], None), indent=1), encoding="utf-8")
        choices = Choices(layout=layout.name, options=launch, tokenizer=tokenizer)
        stage = House({}, plain_auto(), choices).fake.default
        self._expert: Expert | None = None
        if reads and stage.tokenizer is not None:
            self._expert = Expert(stage.layout, stage.station, stage.tokenizer)
        self._number = 0

    def keep(self, path: str, headers: Mapping[str, str], answer: HttpAnswer) -> None:
        """Write one exchange; an answer that never came is left out."""
        if not answer.status:
            return
        self._number += 1
        taken = Taken(
            number=self._number,
            at=time.time(),
            method="POST",
            target=path,
            request_headers=(("content-type", "application/json"), *headers.items()),
            request_body=answer.sent_body,
            status=answer.status,
            response_headers=tuple(pair for pair in answer.headers if pair[0] != "content-encoding"),
            chunks=((answer.elapsed_ms, answer.body),),
            ending=CUT if answer.cut else COMPLETE,
        )
        with Appender(self.file) as appender:
            appender.append(line_of(taken, read_safely(self._expert, taken)))

    def packed(self) -> Outcome | None:
        """Make the golden folder of what was kept; None when nothing was."""
        return pack(self.file, self.folder, self.source) if self._number else None
