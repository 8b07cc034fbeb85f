"""The desk of a recorder: what becomes of an exchange that the proxy passed on.

It reads the truth, writes the line, and waits for the disk in a thread so that other streams keep their pace. With
``--ask-ids`` it also adds the flags that ask for ids and scores, and takes out of the answer what the client did not
ask for (``surplus``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from .file import Appender
from .line import line_of
from .proxy import Rewriter, Unkept
from .surplus import Surplus
from .taken import Taken
from .truth import Expert, Read, read_safely


class RecordingDesk:
    """Writes every exchange into ``appender``. ``expert`` None: bytes only, no truth. ``told`` hears of each."""

    def __init__(
        self,
        appender: Appender,
        expert: Expert | None,
        *,
        surplus: Surplus | None = None,
        told: Callable[[Taken, Read], None] | None = None,
    ) -> None:
        self._appender = appender
        self._expert = expert
        self._surplus = surplus
        self._told = told
        self._writing = asyncio.Lock()
        self._offset = appender.count
        self.lost = 0
        """Exchanges that the disk did not take; ``lost_why`` says why."""
        self.lost_why = ""

    def outgoing(self, method: str, target: str, body: bytes) -> bytes:
        return body if self._surplus is None else self._surplus.asking(method, target, body)

    def rewriter(self, taken: Taken, asked: bytes) -> Rewriter | None:
        return None if self._surplus is None else self._surplus.rewriter(taken, asked)

    async def keep(self, taken: Taken) -> None:
        numbered = replace(taken, number=taken.number + self._offset)
        async with self._writing:
            try:
                read = await asyncio.to_thread(self._write, numbered)
            except OSError as problem:
                self.lost += 1
                self.lost_why = problem.strerror or str(problem)
                raise Unkept from None
        if self._told is not None:
            self._told(numbered, read)

    def _write(self, taken: Taken) -> Read:
        read = read_safely(self._expert, taken)
        self._appender.append(line_of(taken, read))
        return read
