"""The reference client as an in-process adapter: send what was asked, read what came, refuse what cannot be trusted.

Its steps are methods, so that a mutant is one override: ``request`` (the body to send), ``send``, ``body`` (the bytes
to read), ``read``, ``forgive`` (hand on what should be refused), ``choices`` (what is reported).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ... import __version__
from ...capture import Capture, CapturedChoice
from ...layouts import registry
from ...layouts.base import AccessorTable
from ...reading import Reader, Refused
from ..drivers.http import HttpAnswer, post
from ..request import PATHS

Message = Mapping[str, Any]
ALL_APIS = ("chat", "completions", "responses", "generate", "tito")
_LAYOUT = re.compile(r"layout=([^,\]]+)")


class Reference:
    """A client that passes everything."""

    client: Mapping[str, Any] = {"name": "fakellm reference client", "version": __version__, "language": "python"}
    supports: Mapping[str, Any] = {"apis": list(ALL_APIS), "stream": [False, True], "max_parallel": 1}

    async def run(self, message: Message) -> Mapping[str, Any]:
        """One errand of the adapter protocol."""
        answer = await self.send(message, self.request(message))
        if answer.status == 0:
            return {"refused": {"kind": "no-answer", "message": str(answer.error)}}
        body = self.body(message, answer)
        try:
            capture = self.read(message, answer, body)
        except Refused as refused:
            sent = self.reader(message, answer, body).as_sent()
            if not self.forgive(refused, sent):
                return {"refused": {"kind": refused.kind, "message": str(refused)}}
            capture = sent
        rows = [choice.to_json() for choice in self.choices(message, capture)]
        return {"captured": rows, **({"usage": dict(capture.usage)} if capture.usage else {})}

    def request(self, message: Message) -> Mapping[str, Any]:
        """The body to send: the caller's own, untouched."""
        return message["request"]

    async def send(self, message: Message, request: Mapping[str, Any]) -> HttpAnswer:
        """One call, no retries."""
        url = message["root_url"] + PATHS[message["api"]]
        cancel = message.get("cancel_after_ms")
        return await post(
            url,
            request,
            headers=message.get("headers"),
            timeout=message["deadline_ms"] / 1000,
            cancel_after=None if cancel is None else cancel / 1000,
        )

    def body(self, message: Message, answer: HttpAnswer) -> bytes:
        """The bytes to read: all of them."""
        return answer.body

    def read(self, message: Message, answer: HttpAnswer, body: bytes) -> Capture:
        """The capture; raises Refused."""
        return self.reader(message, answer, body).capture(cut=answer.cut or answer.error is not None)

    def reader(self, message: Message, answer: HttpAnswer, body: bytes) -> Reader:
        """A reader that has been fed the body."""
        reader = Reader(
            api=message["api"],
            stream=message["stream"],
            table=table_of(message),
            request=message["request"],
            status=answer.status,
        )
        reader.feed(body)
        return reader

    def forgive(self, refused: Refused, sent: Capture) -> bool:
        """Whether to hand on what stood there although it cannot be trusted: never."""
        return False

    def choices(self, message: Message, capture: Capture) -> Sequence[CapturedChoice]:
        """What is reported: everything as it was read."""
        return capture.choices


def table_of(message: Message) -> AccessorTable | None:
    """The accessor table of the layout that the case's id names (a real client knows its server)."""
    match = _LAYOUT.search(message["case"])
    return registry.find(match[1]).layout.accessors if match else None
