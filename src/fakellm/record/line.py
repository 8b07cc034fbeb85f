"""An exchange as one line of ``exchanges.jsonl``: exact bytes, the truth beside them, and no secrets.

The members are those of a golden exchange (``fidelity.recorded``) with the truth inline, so that ``say: {from:
exchanges.jsonl}`` reads the file as it is. What only a recording knows (``at``, ``arrivals``, ``ending``) stands
beside. Pure.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from ..hiding import Hiding
from .taken import CUT, Taken
from .truth import Read


def line_of(taken: Taken, read: Read) -> dict[str, Any]:
    """The line as a JSON object. Values of secret headers are blanked wherever they stand, also in bodies."""
    hide = Hiding(taken.request_headers, taken.response_headers, query=taken.request().query)
    return {
        "name": name_of(taken, read),
        "truth": None if read.truths is None else [dict(truth) for truth in read.truths],
        "kind": read.api,
        "note": read.note,
        "request": {
            "method": taken.method,
            "path": hide.target(taken.target),
            "headers": hide.pairs(taken.request_headers),
            **_body(hide, "raw", taken.request_body),
        },
        "response": {
            "status": taken.status,
            "headers": hide.pairs(taken.response_headers),
            **_body(hide, "body", taken.readable_body),
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


def _body(hide: Hiding, name: str, data: bytes) -> dict[str, Any]:
    """The body as text under ``name``; bytes that are no UTF-8 as base64 beside an empty text."""
    if not data:
        return {name: "" if name == "body" else None}
    data = hide.data(data)
    try:
        return {name: data.decode("utf-8")}
    except UnicodeDecodeError:
        return {name: "", "base64": base64.b64encode(data).decode()}
