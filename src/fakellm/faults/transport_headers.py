"""Faults on headers that say something else than the body: length, type, encoding."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from ..ask import Ask
from ..message import Wire
from .base import RECOVER, RECOVER_OR_REFUSE, REFUSE, FaultContext, May, Parameters, on_wire
from .events import body_of, header, with_body, with_header

FAMILY = "headers"


class Length(Parameters):
    more: Annotated[
        int,
        Field(description="bytes that content-length promises beyond the body (the answer is cut); negative: too few"),
    ] = 10


@on_wire("content-length-wrong", family=FAMILY, may=REFUSE, parameters=Length)
def content_length_wrong(wire: Wire, context: FaultContext[Length]) -> Wire:
    """content-length is not the length of the body.

    Why: proxies that change a body (a model name, an id) and forget the header.
    Right: refuse: too long means that something is missing, too short cuts the JSON.
    Breaks: clients that catch the read error and parse what they have.
    """
    more = context.parameters.more
    size = len(body_of(wire))
    changed = with_header(with_header(wire, "content-length", str(max(size + more, 0))), "transfer-encoding", None)
    return replace(changed, cut=True)


class Type(Parameters):
    type: Annotated[str, Field(min_length=1, description="the content type that is told")] = "text/plain; charset=utf-8"


@on_wire("content-type-wrong", family=FAMILY, may=RECOVER_OR_REFUSE, parameters=Type)
def content_type_wrong(wire: Wire, context: FaultContext[Type]) -> Wire:
    """The content type is not that of the body.

    Why: routers answer a 400 with text/event-stream (sglang-router 0.3.2, captured), proxies with text/plain.
    Right: read the body by what was asked for, or refuse; never an empty capture.
    Breaks: clients that pick their parser by this header and return nothing.
    """
    return with_header(wire, "content-type", context.parameters.type)


def _recover_if_offered(ask: Ask, parameters: Parameters) -> May:
    return RECOVER if _offers_gzip(ask) else RECOVER_OR_REFUSE


def _offers_gzip(ask: Ask) -> bool:
    return "gzip" in ask.request.headers.get("accept-encoding", "")


@on_wire("gzip", family=FAMILY, may=RECOVER_OR_REFUSE, judge=_recover_if_offered)
def gzip(wire: Wire, context: FaultContext[Parameters]) -> Wire:
    """The body is compressed, whether the client offered it or not.

    Why: a proxy in between compresses everything.
    Right: unpack it, or refuse; a client that offered gzip must be able to read it.
    Breaks: hand-made clients over raw sockets; stream readers that unpack only at the end.
    """
    if header(wire, "content-encoding") is not None:
        return wire
    packed = _gzipped(body_of(wire))
    changed = with_header(with_body(wire, packed), "content-encoding", "gzip")
    if header(wire, "content-length") is not None:
        changed = with_header(changed, "content-length", str(len(packed)))
    return changed


def _gzipped(data: bytes) -> bytes:
    """The data in gzip's container (RFC 1952) in stored blocks: the same bytes whichever zlib a machine has."""
    blocks = [data[first : first + 0xFFFF] for first in range(0, len(data), 0xFFFF)] or [b""]
    packed = bytearray(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff")
    for number, block in enumerate(blocks):
        last = number == len(blocks) - 1
        packed += struct.pack("<BHH", last, len(block), len(block) ^ 0xFFFF) + block
    return bytes(packed) + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
