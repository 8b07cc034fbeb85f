"""One replayed answer against the recorded one: exact, equal, or where they first differ.

The rules are those of the golden library (tests/golden/README.md): masks first, then status, headers, the bytes, and
where these differ the values behind them. Pure: takes an exchange and an answer, returns a :class:`Verdict`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from . import documents
from .documents import Difference
from .recorded import Exchange, Masks
from .refusals import same_refusal

EXACT = "exact"
EQUAL = "equal"
DIFFERS = "differs"

UNRECORDED_HEADERS = frozenset({"transfer-encoding"})
"""Never compared: it belongs to the connection, not to the answer."""

TEXT_KEYS = frozenset({"text", "content", "response", "reasoning", "reasoning_content", "delta", "thinking"})
"""Where an answer shows text: left out of the comparison when the recording says that its text is at fault."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What the fake answered. ``cut``: the connection was closed before its proper end."""

    status: int
    headers: Mapping[str, str]
    body: str
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """``exact`` (same bytes after the masks), ``equal`` (same values, other spelling) or ``differs`` with its place."""

    verdict: str
    where: str | None = None
    detail: str | None = None


def compare(exchange: Exchange, replayed: Replayed, masks: Masks, tolerance: float = 0.0) -> Verdict:
    """Judge one answer. ``tolerance``: how far apart two numbers may be and still be equal."""
    found = _head_difference(exchange, replayed, masks)
    if found is not None:
        return Verdict(DIFFERS, found.where, found.detail)
    if exchange.compare == "status":
        return Verdict(EXACT)
    verdict = _compare_bodies(exchange, replayed, masks, tolerance)
    if verdict.verdict == EXACT and _kept_media_type_only(exchange, replayed):
        return Verdict(EQUAL, "headers.content-type", "the capture kept no parameters of its content type")
    return verdict


def _kept_media_type_only(exchange: Exchange, replayed: Replayed) -> bool:
    """Some captures kept no headers, and their media type was filled in later without its charset."""
    recorded, ours = exchange.response.headers.get("content-type"), replayed.headers.get("content-type")
    return recorded is not None and recorded != ours and recorded == (ours or "").partition(";")[0]


def _head_difference(exchange: Exchange, replayed: Replayed, masks: Masks) -> Difference | None:
    recorded = exchange.response
    if recorded.status != replayed.status:
        return Difference("status", f"recorded {recorded.status}, replayed {replayed.status}: {replayed.body[:160]}")
    only_type = exchange.compare == "status"
    for name, value in recorded.headers.items():
        if name in UNRECORDED_HEADERS or name in masks.headers or (only_type and name != "content-type"):
            continue
        if name == "content-type" and _kept_media_type_only(exchange, replayed):
            continue
        if replayed.headers.get(name) != value:
            return Difference(f"headers.{name}", f"recorded {value!r}, replayed {replayed.headers.get(name)!r}")
    if recorded.truncated != replayed.cut and not only_type:
        return Difference("end", f"recorded {_end(recorded.truncated)}, replayed {_end(replayed.cut)}")
    return None


def _end(cut: bool) -> str:
    return "a connection closed mid-stream" if cut else "a proper end"


def _compare_bodies(exchange: Exchange, replayed: Replayed, masks: Masks, tolerance: float) -> Verdict:
    content_type = exchange.response.headers.get("content-type", "")
    recorded_body = masks.apply(exchange.response.body)
    replayed_body = masks.apply(reserialised(replayed.body) if exchange.response.reserialised else replayed.body)
    if recorded_body == replayed_body:
        return Verdict(EXACT)
    recorded_blocks = documents.blocks(recorded_body, content_type)
    replayed_blocks = documents.blocks(replayed_body, content_type)
    if recorded_blocks is None or replayed_blocks is None:
        return _judged(documents.parse(recorded_body), documents.parse(replayed_body), "body", exchange, tolerance)
    if exchange.compare == "by-choice":
        recorded_blocks = documents.by_choice(recorded_blocks)
        replayed_blocks = documents.by_choice(replayed_blocks)
        if recorded_blocks == replayed_blocks:
            return Verdict(EXACT)
    return _judged(
        [documents.event(block) for block in recorded_blocks],
        [documents.event(block) for block in replayed_blocks],
        "events",
        exchange,
        tolerance,
    )


def _judged(recorded: object, replayed: object, where: str, exchange: Exchange, tolerance: float) -> Verdict:
    excused: list[str] = []

    def same(place: str, one: str, other: str) -> bool:
        if same_refusal(one, other):
            excused.append(f"{place}: the first error of a union agrees")
            return True
        if "text" in exchange.faulty and place.rpartition(".")[2] in TEXT_KEYS:
            excused.append(f"{place}: the server's own text was at fault")
            return True
        return False

    found = documents.first_difference(recorded, replayed, where, tolerance=tolerance, same=same)
    if found is not None:
        return Verdict(DIFFERS, found.where, found.detail)
    return Verdict(EQUAL, None, excused[0] if excused else "same values, another spelling")


def reserialised(body: str) -> str:
    """The body as a capture that kept only parsed JSON would show it; text that is no JSON stays as it is."""
    try:
        return json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":"))
    except ValueError:
        return body
