"""What a recording's drift check leaves out: the library's rules for servers it knows, common ones for all others.

Random ids, clock readings, measured times and build fingerprints differ from run to run, so ``masks.json`` of a packed
recording replaces them by a word before bytes are compared. Pure but for reading the packed library; knows no exchange.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from ..fidelity.sources import Packed
from ..resources import golden

HEADERS = ("date", "content-length", "x-request-id", "server")
"""Of the connection, the clock, or the run; never of the answer."""

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_RANDOM = rf"(?:{_UUID}|[0-9A-Za-z]{{16,}}|[0-9a-f]{{8}}(?=:))"
"""A uuid, a long word of digits and letters, or the eight digits before Tinker's ``:sample:0``."""
COMMON: Sequence[Mapping[str, str]] = (
    {
        "kind": "timestamp",
        "regex": r'"(created|created_at|completed_at|modified|modified_at)":(\s?)\d+\.\d+',
        "replace": r'"\1":\g<2>0.5',
    },
    {
        "kind": "timestamp",
        "regex": r'"(created|created_at|completed_at|modified|modified_at)":(\s?)\d+(?![\d.])',
        "replace": r'"\1":\g<2>0',
    },
    {
        "kind": "timestamp",
        "regex": r'"(created|created_at|completed_at|modified|modified_at)":(\s?)"[^"]+"',
        "replace": r'"\1":\g<2>"TIME"',
    },
    {
        "kind": "random-id",
        "regex": r'"(id)":(\s?)"(?:[0-9A-Za-z]{6,}-)+[0-9a-f]{16}"',
        "replace": r'"\1":\g<2>"ID"',
    },
    {
        "kind": "random-id",
        "regex": rf'"((?:[a-z]+_)?id)":(\s?)"((?:[A-Za-z]+[-_:])*)(?:\d+-)?{_RANDOM}(?:[-_:]\w+)*"',
        "replace": r'"\1":\g<2>"\3ID"',
    },
    {
        "kind": "fingerprint",
        "regex": r'"system_fingerprint":(\s?)"[^"]*"',
        "replace": r'"system_fingerprint":\g<1>"FINGERPRINT"',
    },
    {
        "kind": "timing",
        "regex": r'"([a-z_]+_(?:ms|duration|time|latency|per_second|per_token_ms))":(\s?)[-0-9.e+]+',
        "replace": r'"\1":\g<2>0',
    },
    {"kind": "counter", "regex": r'"(cached_tokens|cache_n|prompt_n)":(\s?)\d+', "replace": r'"\1":\g<2>0'},
    {"kind": "counter", "regex": r"(: keepalive \d+/\d+\n\n)+", "replace": ": keepalive\n\n"},
)
"""Rules in order, each what ``masks.json`` calls a rule: a Python regex on the body and its replacement. The counters
depend on what ran before (prefix cache)."""
EVERYWHERE = ("timestamp", "random-id")
"""Kinds of common rules that stand after a known server's own: for its routes that the library has no capture of."""


def masks_for(vendor: str) -> dict[str, Any]:
    """``masks.json`` of a recording of this vendor: the packed library's rules if it has some, and the common ones."""
    packaged = golden()
    data = None
    if packaged is not None:
        with ExitStack() as stack:
            data = Packed(packaged, stack).read("masks.json")
    known: dict[str, Any] = {"headers": list(HEADERS), "servers": {}} if data is None else json.loads(data)
    own = known["servers"].get(vendor, [])
    common = [dict(rule) for rule in COMMON if not own or rule["kind"] in EVERYWHERE]
    return {**known, "servers": {vendor: [*own, *common]}}
