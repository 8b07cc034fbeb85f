"""Faults on how JSON is written: the same values in other bytes, or bytes beside them that mean nothing.

A JSON parser recovers everything; readers that search bytes, split lines or limit sizes do not.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, cast

from pydantic import Field

from ..ask import Ask
from ..message import Frame, Wire
from .base import RECOVER, RECOVER_OR_REFUSE, FaultContext, May, Parameters, on_wire
from .events import body_of, carries_json, data_of, header, map_events, with_body, with_header

FAMILY = "json"
MEGABYTE = 1_000_000


def _each_json(wire: Wire, change: Callable[[bytes], bytes]) -> Wire:
    """Change every JSON object of the answer: each event's data, or the whole body."""
    if wire.stream:

        def change_event(event: bytes) -> list[bytes]:
            data = data_of(event)
            if data is None or not carries_json(event):
                return [event]
            changed = change(data)
            return [event.replace(data, changed)] if data in event else [event]

        return map_events(wire, change_event)
    data = body_of(wire)
    return _resized(wire, change(data)) if data.lstrip().startswith(b"{") else wire


def _resized(wire: Wire, data: bytes) -> Wire:
    """Another body, with a content-length that agrees where there was one that agreed."""
    agreed = header(wire, "content-length") == str(len(body_of(wire)))
    changed = with_body(wire, data)
    return with_header(changed, "content-length", str(len(data))) if agreed else changed


def _with_member(data: bytes, member: bytes) -> bytes:
    """One more member at the end of an object, without reading it."""
    head = data.rstrip()
    if not head.endswith(b"}"):
        return data
    comma = b"" if head[:-1].rstrip().endswith(b"{") else b","
    return head[:-1] + comma + member + b"}"


@on_wire("json-line-separators", family=FAMILY, may=RECOVER)
def json_line_separators(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """A string of every object contains raw U+2028, U+2029 and U+0085, which end no line in events or JSON.

    They stand in a member that nobody needs, so that the text stays the truth's.

    Why: https://github.com/Soju06/codex-lb/pull/1011
    Right: lines end at CR and LF only.
    Breaks: Python's str.splitlines() and readers built on it cut the event in half (httpx aiter_lines did).
    """
    member = '"x_note":"a\u2028b\u2029c\x85d"'.encode()
    return _each_json(wire, lambda data: _with_member(data, member))


@on_wire("json-duplicate-keys", family=FAMILY, may=RECOVER)
def json_duplicate_keys(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """The first member of every object stands there twice, with equal values.

    Why: gateways that add what the upstream already sent.
    Right: both say the same; take either.
    Breaks: strict parsers that refuse duplicate names.
    """
    return _each_json(wire, lambda data: _doubled(data, lambda value: value))


@on_wire("json-duplicate-keys-differ", family=FAMILY, may=RECOVER_OR_REFUSE)
def json_duplicate_keys_differ(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """The first member of every object stands there twice, with different values; the last one is the healthy one.

    Why: RFC 8259 leaves it open, and parsers differ: https://www.rfc-editor.org/rfc/rfc8259#section-4
    Right: most parsers keep the last one and recover; a refusal is right too.
    Breaks: parsers that keep the first one report another id.
    """
    return _each_json(wire, lambda data: _doubled(data, lambda value: b'"other"'))


def _doubled(data: bytes, other: Callable[[bytes], bytes]) -> bytes:
    """The first member written once more in front of itself."""
    try:
        pairs = json.loads(data, object_pairs_hook=lambda pairs: pairs)
    except ValueError:
        return data
    if not isinstance(pairs, list) or not pairs:
        return data
    name: Any = pairs[0][0]  # pyright: ignore[reportUnknownVariableType]
    start = data.index(b"{") + 1
    key = json.dumps(name).encode()
    value = _first_value(data[start:], key)
    if value is None:
        return data
    return data[:start] + key + b":" + other(value) + b"," + data[start:]


def _first_value(data: bytes, key: bytes) -> bytes | None:
    """The bytes of the first member's value, None where it is no plain value."""
    rest = data.lstrip()
    if not rest.startswith(key):
        return None
    text = rest[len(key) :].lstrip().removeprefix(b":").decode("utf-8", "replace").lstrip()
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None
    return text[:end].encode()


class Size(Parameters):
    bytes: Annotated[int, Field(ge=1, le=50 * MEGABYTE, description="how many bytes are added")] = 300_000


def _recover_to_a_megabyte(ask: Ask, parameters: Any) -> May:
    return RECOVER if parameters.bytes <= MEGABYTE else RECOVER_OR_REFUSE


@on_wire("huge-body", family=FAMILY, may=RECOVER_OR_REFUSE, parameters=Size, judge=_recover_to_a_megabyte)
def huge_body(wire: Wire, context: FaultContext[Size]) -> Wire:
    """The answer is huge: a member that nobody needs holds hundreds of kilobytes (in streams: of the first event).

    Why: routed experts, hidden states and long top-k lists make real answers of this size.
    Right: the same capture; up to 1 MB no client may give up.
    Breaks: readers with a line limit of 64 KB (asyncio streams) or a small buffer.
    """
    member = b'"x_padding":"' + b"a" * context.parameters.bytes + b'"'
    done = False

    def change(data: bytes) -> bytes:
        nonlocal done
        if done:
            return data
        done = True
        return _with_member(data, member)

    return _each_json(wire, change)


class Depth(Parameters):
    depth: Annotated[int, Field(ge=1, le=900, description="how many arrays are nested in each other")] = 50


def _recover_to_a_hundred(ask: Ask, parameters: Any) -> May:
    return RECOVER if parameters.depth <= 100 else RECOVER_OR_REFUSE


@on_wire("deep-nesting", family=FAMILY, may=RECOVER_OR_REFUSE, parameters=Depth, judge=_recover_to_a_hundred)
def deep_nesting(wire: Wire, context: FaultContext[Depth]) -> Wire:
    """A member that nobody needs is nested deeply.

    Why: tool schemas and metadata are echoed by gateways.
    Right: the same capture; up to 100 levels no client may give up.
    Breaks: parsers with a small limit of depth.
    """
    depth = context.parameters.depth
    return _each_json(wire, lambda data: _with_member(data, b'"x_nested":' + b"[" * depth + b"]" * depth))


@on_wire("json-whitespace", family=FAMILY, may=RECOVER)
def json_whitespace(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """JSON is written with blanks, a body over several lines.

    Why: SGLang and vLLM write errors in streams with blanks, everything else without (captured); gateways re-serialise.
    Right: blanks between tokens mean nothing.
    Breaks: renderers 0.1.12 finds routed_experts by a byte prefix without blanks (read).
    """
    indent = None if wire.stream else 2

    def change(data: bytes) -> bytes:
        return _rewritten(data, lambda value: json.dumps(value, indent=indent, ensure_ascii=False))

    return _each_json(wire, change)


@on_wire("json-key-order", family=FAMILY, may=RECOVER)
def json_key_order(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """The members of every object stand in reverse order; objects keyed by token keep theirs.

    Why: gateways in languages with unordered maps.
    Right: order of ordinary objects means nothing.
    Breaks: readers that search bytes or read the first member.
    """

    def change(data: bytes) -> bytes:
        return _rewritten(data, lambda value: json.dumps(_reversed(value), separators=(",", ":"), ensure_ascii=False))

    return _each_json(wire, change)


TOKEN_KEYED = frozenset({"top_logprobs", "prompt_logprobs"})
"""Objects below these keys carry rank by order (completions' alternatives, prompt scores)."""


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        members = cast(dict[str, Any], value)
        return {key: members[key] if key in TOKEN_KEYED else _reversed(members[key]) for key in reversed(members)}
    if isinstance(value, list):
        return [_reversed(element) for element in cast(list[Any], value)]
    return value


def _rewritten(data: bytes, write: Callable[[Any], str]) -> bytes:
    """Read and write again; numbers that change their spelling keep their value."""
    try:
        value = json.loads(data)
    except ValueError:
        return data
    return write(value).encode("utf-8", "backslashreplace")


@on_wire("trailing-garbage", family=FAMILY, may=RECOVER_OR_REFUSE)
def trailing_garbage(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """Bytes that are no JSON follow the body; in a stream, a line that is no event follows the last one.

    Why: proxies append debug output or HTML.
    Right: ignore it, or refuse.
    Breaks: clients that turn the parse error into an empty answer.
    """
    garbage = b"<!-- proxied -->\n"
    if not wire.stream:
        return _resized(wire, body_of(wire) + garbage)
    last = max((frame.due_ms for frame in wire.frames), default=0.0)
    return replace(wire, frames=(*wire.frames, Frame(garbage, last)))
