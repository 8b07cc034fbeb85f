"""Messages and frames: what is sent, first as records, then as bytes with due times.

A layout renders Told into :class:`Message` records: order, interleaving and lateness are decided here and layout
faults work here. ``wire.py`` turns messages into :class:`Frame` bytes; transport faults work on those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Message:
    """One JSON body or one server-sent event.

    ``kind``: ``body`` (a whole answer), or for streams what the event is for: role | delta | finish | usage | event |
    error | done | comment | meta. ``body``: a JSON value (dict in wire order), or ``str`` for verbatim text.
    ``event``: the SSE event name, None = no ``event:`` line. ``choice``: choice index or None. ``tokens``: span of
    the truth's tokens that it carries. ``spelling``: how JSON is written (a name in ``wire.SPELLINGS``).
    """

    kind: str
    body: Any
    choice: int | None = None
    tokens: tuple[int, int] | None = None
    due_ms: float = 0.0
    event: str | None = None
    spelling: str = "json"


@dataclass(frozen=True, slots=True)
class Frame:
    """Bytes that leave together at ``due_ms`` (milliseconds after the request)."""

    data: bytes
    due_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Rendering:
    """A whole answer before it is bytes. ``stream``: messages are server-sent events. ``cut``: the connection is closed
    without its proper end after the last message. Header names are lower case, in wire order."""

    status: int
    headers: tuple[tuple[str, str], ...]
    messages: tuple[Message, ...]
    stream: bool = False
    cut: bool = False
    extras: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Wire:
    """A whole answer as bytes; transport faults work here. ``stream``: frames are server-sent events. ``cut``: the
    connection is closed without its proper end after the last frame. ``coalesce``: frames that are due together may
    leave in one write (False: each frame is a write and an HTTP chunk of its own). A ``content-length`` among the
    headers is sent as it stands, right or wrong; without one the server frames the body properly."""

    status: int
    headers: tuple[tuple[str, str], ...]
    frames: tuple[Frame, ...]
    stream: bool = False
    cut: bool = False
    coalesce: bool = True
