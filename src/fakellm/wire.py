"""From records to bytes: JSON in each server's own spelling, server-sent events, frames with due times.

``dumps`` writes one JSON value, ``frames`` a whole :class:`Rendering`. What it owns is spelling and framing only: which
members there are, and in which order, was decided by the layout. Pure: no clock, no socket, no vendor names. orjson
does the work; only values it spells otherwise than the server (or cannot spell at all) are rewritten first.

>>> dumps({"logprob": -0.00001}, "json"), dumps({"logprob": -0.00001}, "serde")
(b'{"logprob":-1e-05}', b'{"logprob":-0.00001}')
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, cast

import orjson

from .message import Frame, Message, Rendering

SPELLINGS: dict[str, str] = {
    "json": "compact, raw UTF-8, floats as Python's repr (1e-05); NaN and infinities become null",
    "json-nan": "the same, but NaN, Infinity and -Infinity are written literally, as Python's json.dumps does",
    "serde": "compact, raw UTF-8, floats as Rust's serde_json and pydantic-core write them (0.00001, 1e-6, 1e+16)",
    "python": "json.dumps as it comes: blanks after colons and commas, ASCII escapes, NaN literal",
}
"""Every way to write JSON, with what tells it apart. A message names one (``Message.spelling``)."""

JSON_LINES = "application/x-ndjson"
"""The content type of streams that are one JSON value a line instead of server-sent events."""

_ODD_FLOAT = re.compile(rb"(?:[:\[,]|^)-?(?:0\.0000|\d(?:\.\d+)?e)")
"""Where orjson's spelling may differ from Python's: below 1e-4 and from 1e16 on. A hit in a string costs time only."""

_WIDEST = 2**64

_LARGEST_FLOAT32 = float.fromhex("0x1.fffffep+127")


def dumps(value: Any, spelling: str = "json") -> bytes:
    """Write one JSON value; ``spelling`` is a name in ``SPELLINGS``. Raises TypeError for what JSON cannot hold.

    A lone surrogate is written as its escape, integers of any size in full, other keys than text as Python's json does.
    """
    if spelling == "json":
        try:
            data = orjson.dumps(value, default=_plain)
        except TypeError:
            return orjson.dumps(_rewritten(value, _as_repr), default=_plain)
        return orjson.dumps(_rewritten(value, _as_repr), default=_plain) if _has_odd_float(data) else data
    if spelling == "serde":
        try:
            return orjson.dumps(value, default=_plain)
        except TypeError:
            return orjson.dumps(_rewritten(value, _as_orjson), default=_plain)
    if spelling == "json-nan":
        return orjson.dumps(_rewritten(value, _as_literal), default=_plain)
    if spelling == "python":
        return json.dumps(value, default=_plain).encode("ascii")
    raise ValueError(f"there is no JSON spelling {spelling!r}; known: {', '.join(SPELLINGS)}")


def float32(number: float) -> float:
    """The double whose shortest spelling is the shortest spelling of ``number`` as a 32-bit float.

    For servers that keep scores in float32 and print them so (Dynamo's chat).

    >>> float32(-0.10000000149011612)
    -0.1
    """
    if not number or not math.isfinite(number) or abs(number) > _LARGEST_FLOAT32:
        return number  # both zeros pass here: a cache would take one for the other
    return _narrowed(number)


@lru_cache(maxsize=65536)
def _narrowed(number: float) -> float:
    packed = struct.pack("<f", number)
    widened = struct.unpack("<f", packed)[0]
    for digits in range(1, 9):
        candidate = float(f"{widened:.{digits}g}")
        if abs(candidate) <= _LARGEST_FLOAT32 and struct.pack("<f", candidate) == packed:
            return candidate
    return float(f"{widened:.9g}")  # 9 significant digits tell any two 32-bit floats apart


def frames(rendering: Rendering) -> tuple[Frame, ...]:
    """The frames of a whole answer: one per event of a stream, one for a whole body."""
    if rendering.stream:
        framed = json_line if _content_type(rendering).startswith(JSON_LINES) else event
        return tuple(Frame(framed(message), message.due_ms) for message in rendering.messages)
    if not rendering.messages:
        return ()
    data = b"".join(body(message) for message in rendering.messages)
    return (Frame(data, max(message.due_ms for message in rendering.messages)),)


def body(message: Message) -> bytes:
    """The bare body of a message: text and bytes as they are, everything else as JSON."""
    if isinstance(message.body, str):
        return message.body.encode("utf-8", "backslashreplace")
    return message.body if isinstance(message.body, bytes) else dumps(message.body, message.spelling)


def event(message: Message) -> bytes:
    """One server-sent event. A comment (kind ``comment``) is told by its text alone; ``bytes`` go out as they are."""
    if isinstance(message.body, bytes):
        return message.body
    data = body(message)
    if message.kind == "comment":
        return b": " + data + b"\n\n"
    if b"\n" in data:
        data = data.replace(b"\n", b"\ndata: ")
    if message.event is None:
        return b"data: " + data + b"\n\n"
    return b"event: " + message.event.encode() + b"\ndata: " + data + b"\n\n"


def json_line(message: Message) -> bytes:
    """One line of a JSON-lines stream."""
    return body(message) + b"\n"


def _has_odd_float(data: bytes) -> bool:
    """Three substring searches decide nearly always; the pattern, fifty times slower, only then."""
    if b"0.0000" not in data and b"e-" not in data and b"e+" not in data:
        return False
    return _ODD_FLOAT.search(data) is not None


def _content_type(rendering: Rendering) -> str:
    return next((value for name, value in rendering.headers if name == "content-type"), "")


def _plain(value: Any) -> Any:
    """What orjson asks for when it meets a type that it does not know."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[Any, Any]", value))
    if isinstance(value, float):
        return float(value)
    raise TypeError(f"{type(value).__name__} has no place in JSON")


def _rewritten(value: Any, spell: Callable[[float], Any]) -> Any:
    """A copy in which everything that orjson would spell wrongly, or not at all, stands as a ready fragment."""
    if isinstance(value, str):
        return value if value.isascii() else _text(value)
    if isinstance(value, float):
        return spell(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -_WIDEST // 2 <= value < _WIDEST else orjson.Fragment(str(value))
    if isinstance(value, Mapping):
        return _object(cast("Mapping[Any, Any]", value), spell)
    if isinstance(value, list | tuple):
        return [_rewritten(element, spell) for element in cast("list[Any]", value)]
    raise TypeError(f"{type(value).__name__} has no place in JSON")


def _object(items: Mapping[Any, Any], spell: Callable[[float], Any]) -> Any:
    rewritten = {_key(key): _rewritten(member, spell) for key, member in items.items()}
    if all(isinstance(_text(key), str) for key in rewritten):
        return rewritten
    members = (_quoted(key) + b":" + orjson.dumps(member) for key, member in rewritten.items())
    return orjson.Fragment(b"{" + b",".join(members) + b"}")


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool | int | float):
        return json.dumps(key)
    raise TypeError(f"{type(key).__name__} cannot be a key in JSON")


def _text(text: str) -> Any:
    try:
        text.encode()
    except UnicodeEncodeError:
        return orjson.Fragment(_quoted(text))
    return text


def _quoted(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _as_orjson(number: float) -> Any:
    return float(number)


def _as_repr(number: float) -> Any:
    return orjson.Fragment(float.__repr__(number)) if math.isfinite(number) else None


def _as_literal(number: float) -> Any:
    return orjson.Fragment(json.dumps(float(number)))
