"""Server-sent events, as the WHATWG specification reads them: bytes in, events out, split anywhere.

Lines end at CR, LF or CRLF and nowhere else (U+2028 and NEL are text), a leading BOM is dropped, comments and unknown
fields are ignored, several ``data`` lines of one event are joined with LF, an event without data is none, and one
that the stream's end cut off is discarded. https://html.spec.whatwg.org/multipage/server-sent-events.html
Knows nothing of JSON or of who sends.

>>> parser = EventParser()
>>> parser.feed(b"data: a\\r"), parser.feed(b"\\ndata: b\\n\\n")
([], [Event(data='a\\nb', event=None)])
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One dispatched event. ``event``: its name, None where the stream gave none."""

    data: str
    event: str | None = None


class EventParser:
    """Incremental: ``feed`` any split of the bytes, then ``close``."""

    def __init__(self) -> None:
        self._rest = b""
        self._started = False
        self._after_cr = False
        self._data: list[str] = []
        self._name: str | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that these bytes complete."""
        buffer = self._rest + chunk
        if not self._started:
            if len(buffer) < len(_BOM) and _BOM.startswith(buffer):
                self._rest = buffer
                return []
            self._started, buffer = True, buffer.removeprefix(_BOM)
        if self._after_cr and buffer:
            buffer = buffer.removeprefix(b"\n")
            self._after_cr = False
        if buffer.endswith(b"\r"):
            self._after_cr = True
        *lines, self._rest = _LINE_END.split(buffer)
        events = [self._line(line) for line in lines]
        return [event for event in events if event is not None]

    def close(self) -> str | None:
        """The data of an event that the end cut off (it is discarded), or None if nothing but a comment was pending."""
        rest = self._rest.removeprefix(_BOM)
        if rest and not rest.startswith(b":"):
            self._line(rest)
            return "\n".join(self._data)
        return "\n".join(self._data) if self._data else None

    def _line(self, line: bytes) -> Event | None:
        if not line:
            return self._dispatch()
        name, _, value = line.decode("utf-8", errors="replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        return None

    def _dispatch(self) -> Event | None:
        data, name = self._data, self._name
        self._data, self._name = [], None
        return Event("\n".join(data), name or None) if data else None
