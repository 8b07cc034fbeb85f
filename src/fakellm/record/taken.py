"""One exchange as it went by: request, answer, and when each piece of the answer arrived. Bytes only; pure.

What the bytes mean is ``truth``'s business, how they are written down ``line``'s.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from ..ask import Request

NOTHING: Mapping[str, Any] = MappingProxyType({})
Pairs = tuple[tuple[str, str], ...]

COMPLETE, CUT, LEFT = "complete", "cut", "left"
"""How an answer ended: properly; the server broke it off; the client went away before its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """``number``: counted from 1 in order of arrival; ``at``: seconds since 1970. ``target``: path and query as sent.
    ``chunks``: (milliseconds since the request, bytes), one per read from the server."""

    number: int
    at: float
    method: str
    target: str
    request_headers: Pairs
    request_body: bytes
    status: int
    response_headers: Pairs
    chunks: tuple[tuple[float, bytes], ...]
    ending: str = COMPLETE

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def response_body(self) -> bytes:
        """The answer's body as it was sent, compressed or not."""
        return b"".join(data for _, data in self.chunks)

    @property
    def readable_body(self) -> bytes:
        """The answer's body without its content coding; as it is where that cannot be undone."""
        return _decoded(self.response_body, self.response_header("content-encoding"))

    def response_header(self, name: str) -> str:
        """A header of the answer, "" where it has none of that name."""
        return next((value for key, value in self.response_headers if key.lower() == name), "")

    @property
    def request_json(self) -> Mapping[str, Any]:
        """The request's body as a JSON object; empty where it is none."""
        try:
            found: Any = json.loads(self.request_body)
        except ValueError:
            return NOTHING
        return cast("dict[str, Any]", found) if isinstance(found, dict) else NOTHING

    def request(self) -> Request:
        """The request as a layout receives it."""
        parts = urlsplit(self.target)
        pairs = tuple(parse_qsl(parts.query, keep_blank_values=True))
        headers = {name.lower(): value for name, value in self.request_headers}
        return Request(self.method, parts.path, dict(pairs), headers, self.request_body, pairs)


def _decoded(data: bytes, coding: str) -> bytes:
    try:
        if coding == "gzip":
            return gzip.decompress(data)
        if coding == "deflate":
            return zlib.decompress(data)
    except (OSError, EOFError, zlib.error):
        pass
    return data
