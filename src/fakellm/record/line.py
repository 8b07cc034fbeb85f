"""An exchange as one line of ``exchanges.jsonl``: exact bytes, the truth beside them, and no secrets.

The members are those of a golden exchange (``fidelity.recorded``) with the truth inline, so that ``say: {from:
exchanges.jsonl}`` reads the file as it is. What only a recording knows (``at``, ``arrivals``, ``ending``) stands
beside. Pure.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..journal import REDACTED, SECRET_HEADERS
from .taken import CUT, Pairs, Taken
from .truth import Read

SHORTEST_SECRET = 6
"""A shorter value is no secret but a word that may stand anywhere."""
_SECRET_QUERY = re.compile(r"(?i)(?<=[?&])((?:api[-_]?key|key|token|access_token|signature)=)[^&#]+")


def line_of(taken: Taken, read: Read) -> dict[str, Any]:
    """The line as a JSON object. Values of secret headers are blanked wherever they stand, also in bodies."""
    hide = _Hiding(taken.request_headers, taken.response_headers)
    return {
        "name": name_of(taken, read),
        "truth": None if read.truths is None else [dict(truth) for truth in read.truths],
        "kind": read.api,
        "note": read.note,
        "request": {
            "method": taken.method,
            "path": hide.text(_SECRET_QUERY.sub(rf"\1{REDACTED}", taken.target)),
            "headers": hide.pairs(taken.request_headers),
            **hide.body("raw", taken.request_body),
        },
        "response": {
            "status": taken.status,
            "headers": hide.pairs(taken.response_headers),
            **hide.body("body", taken.readable_body),
            "truncated": taken.ending == CUT,
        },
        "at": taken.at,
        "ending": taken.ending,
        "arrivals": [[round(ms, 3), len(data)] for ms, data in taken.chunks],
    }


def name_of(taken: Taken, read: Read) -> str:
    """``0007-chat-stream``: the number, what was called, and how."""
    called = read.api or re.sub(r"[^a-z0-9]+", "-", f"{taken.method} {taken.path}".lower()).strip("-")[:60]
    return f"{taken.number:04d}-{called}{'-stream' if read.stream else ''}"


def spelled(line: Mapping[str, Any]) -> bytes:
    """The line as bytes, with its end. What JSON has no number for is spelled as words."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace") + b"\n"


class _Hiding:
    """Blanks the secrets of one exchange."""

    def __init__(self, *headers: Pairs) -> None:
        self._secrets = sorted(set(_secrets(pair for pairs in headers for pair in pairs)), key=len, reverse=True)

    def pairs(self, pairs: Pairs) -> list[list[str]]:
        return [[name, REDACTED if name.lower() in SECRET_HEADERS else self.text(value)] for name, value in pairs]

    def text(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return text

    def body(self, name: str, data: bytes) -> dict[str, Any]:
        """The body as text under ``name``; bytes that are no UTF-8 as base64 beside an empty text."""
        if not data:
            return {name: "" if name == "body" else None}
        try:
            return {name: self.text(data.decode("utf-8"))}
        except UnicodeDecodeError:
            for secret in self._secrets:
                data = data.replace(secret.encode(), REDACTED.encode())
            return {name: "", "base64": base64.b64encode(data).decode()}


def _secrets(pairs: Iterable[tuple[str, str]]) -> Iterable[str]:
    """The secret values and, of ``Bearer KEY`` and ``name=value; ...``, the parts that are secret alone."""
    for name, value in pairs:
        if name.lower() in SECRET_HEADERS:
            parts = [value, *(part.partition("=")[2] for part in value.split(";")), *value.split()]
            yield from (part.strip() for part in parts if len(part.strip()) >= SHORTEST_SECRET)
