"""Heads of plain HTTP/1.1 requests and answers, as bytes: what the quick way (``direct.py``) reads and writes itself.

A request head is read only where there is one way to read it; anything odd gives None, and aiohttp, which knows all of
HTTP, reads the request instead. Heads repeat from request to request, so both directions are kept in small caches.
Pure: no socket, no clock.

>>> read_head(b"POST /v1/x HTTP/1.1\\r\\nhost: a\\r\\ncontent-length: 2\\r\\n\\r\\n").length
2
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

MAX_HEAD = 8000
MAX_FIELDS = 64
"""Longer heads are aiohttp's to refuse: its limits are a little higher."""
MAX_KEPT_HEAD = 4096
"""Bytes of a head that is kept: a thousand of them are few megabytes at most."""

_REQUEST: Final = re.compile(rb"(GET|POST) ((?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)+/?|/) HTTP/1\.1")
_FIELD: Final = re.compile(
    rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*((?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?)[ \t]*"
)
_LENGTH: Final = re.compile(r"[0-9]{1,10}")
_ODD: Final = frozenset(
    {"transfer-encoding", "content-encoding", "expect", "upgrade", "te", "trailer", "keep-alive", "proxy-connection"}
)
"""Headers that change how a request is to be read or answered: aiohttp's business."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Head:
    """A request head. ``length``: bytes of the body; ``keep_alive``: the connection stays open after the answer."""

    method: str
    path: str
    headers: Mapping[str, str]
    length: int
    keep_alive: bool


def read_head(data: bytes) -> Head | None:
    """The head in ``data`` (with its empty line), or None where it is not plain."""
    if len(data) <= MAX_KEPT_HEAD:
        return _kept(data)
    return _read(data) if len(data) <= MAX_HEAD else None


def may_become_plain(data: bytes) -> bool:
    """Whether the beginning of a head is worth waiting for its end."""
    started = data[:5] == b"GET /"[: len(data)] or data[:6] == b"POST /"[: len(data)]
    return started and len(data) < MAX_HEAD and data.count(b"\n") == data.count(b"\r\n")


def _read(data: bytes) -> Head | None:
    first, *fields = data[:-4].split(b"\r\n")
    request = _REQUEST.fullmatch(first)
    if request is None or len(fields) > MAX_FIELDS:
        return None
    headers: dict[str, str] = {}
    for line in fields:
        field = _FIELD.fullmatch(line)
        if field is None:
            return None
        name = field[1].decode("ascii").lower()
        if name in headers or name in _ODD:
            return None
        headers[name] = field[2].decode("ascii")
    length, connection = headers.get("content-length", "0"), headers.get("connection", "keep-alive").lower()
    if not _LENGTH.fullmatch(length) or connection not in ("keep-alive", "close"):
        return None
    return Head(
        request[1].decode("ascii"),
        request[2].decode("ascii"),
        MappingProxyType(headers),
        int(length),
        connection == "keep-alive",
    )


@lru_cache(maxsize=1024)
def _kept(data: bytes) -> Head | None:
    return _read(data)


@lru_cache(maxsize=1024)
def answer_lines(status: int, headers: tuple[tuple[str, str], ...]) -> tuple[bytes, bytes]:
    """Status line and headers as they stand before those that frame the body, and what stands after those where there
    is a body: its type, if the headers name none."""
    lines = [f"HTTP/1.1 {status} {phrase(status)}"]
    lines += [f"{name}: {_CONTROL.sub(' ', value)}" for name, value in headers if name not in _FRAMING]
    typed = any(name == "content-type" for name, _ in headers)
    before = ("\r\n".join(lines) + "\r\n").encode("utf-8", "replace")
    return before, b"" if typed else b"Content-Type: application/octet-stream\r\n"


_FRAMING: Final = frozenset({"transfer-encoding", "content-length"})


def raw_lines(status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    """A whole head as the wire has it, right or wrong, for an answer after which the connection is closed."""
    lines = [f"HTTP/1.1 {status} {phrase(status)}"]
    lines += [f"{name}: {_CONTROL.sub(' ', value)}" for name, value in headers if name != "transfer-encoding"]
    return ("\r\n".join([*lines, "connection: close"]) + "\r\n\r\n").encode("utf-8", "replace")


def bodiless(status: int) -> bool:
    """Whether answers of this status have no body and no length (RFC 9110, sections 15.2, 15.3.5 and 15.4.5)."""
    return status < 200 or status in (204, 304)


def phrase(status: int) -> str:
    """The status line's words; empty for a status that has none."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
