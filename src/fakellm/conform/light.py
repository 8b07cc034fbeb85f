"""An observation without its bytes: what run-level checks keep of every exchange, and its form in ``report.jsonl``.

Written so that reports of shards can be merged and judged as one run. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..capture import Capture
from .observation import (
    Downstream,
    Ending,
    Kind,
    Loss,
    May,
    Mode,
    Observation,
    Received,
    Sent,
    Situation,
    Supports,
    Tampering,
    Truth,
)

_SITUATION = ("id", "area", "api", "stream", "layout", "n", "profile", "conversation", "turn", "core")


def lightened(one: Observation) -> Observation:
    """The observation without bytes, headers and earlier turns."""
    sent = None if one.sent is None else replace(one.sent, body=b"", headers=(), messages=())
    downstream = one.downstream
    if downstream is not None:
        downstream = replace(downstream, body=b"", headers=(), request_body=b"", request_headers=())
    return replace(
        one,
        sent=sent,
        upstream=tuple(replace(received, body=b"", headers=()) for received in one.upstream),
        downstream=downstream,
        siblings=(),
    )


def to_json(one: Observation) -> dict[str, Any]:
    """A light observation as one JSON object; ``from_json`` reads it back (the client stands in the header)."""
    return {
        "mode": str(one.mode),
        "case": {name: getattr(one.case, name) for name in _SITUATION}
        | {"axes": dict(one.case.axes), "faults": [_tampering(fault) for fault in one.case.faults]},
        "truth": {
            "capture": _capture(one.truth.capture),
            "carried": sorted(one.truth.carried),
            "losses": [
                {"value": loss.value, "words": loss.words, "client_may": sorted(loss.client_may)}
                for loss in one.truth.losses
            ],
            "error": one.truth.error,
            "prompt_texts": list(one.truth.prompt_texts),
        },
        "sent": None
        if one.sent is None
        else {
            "status": one.sent.status,
            "cut": one.sent.cut,
            "carried": sorted(one.sent.carried),
            "capture": _capture(one.sent.capture),
        },
        "ending": {
            "kind": str(one.ending.kind),
            "capture": None if one.ending.capture is None else _capture(one.ending.capture),
            "refusal": one.ending.refusal,
            "message": one.ending.message,
        },
        "upstream": [[received.method, received.path, received.answered_status] for received in one.upstream],
        "downstream": None
        if one.downstream is None
        else {
            "status": one.downstream.status,
            "capture": None if one.downstream.capture is None else _capture(one.downstream.capture),
            "problem": one.downstream.problem,
            "cut": one.downstream.cut,
            "error": one.downstream.error,
        },
    }


def from_json(row: Mapping[str, Any], client: Supports) -> Observation:
    """The light observation that ``to_json`` wrote."""
    case, truth, sent, down = row["case"], row["truth"], row["sent"], row["downstream"]
    ending = row["ending"]
    return Observation(
        mode=Mode(row["mode"]),
        case=Situation(
            **{name: case[name] for name in _SITUATION},
            axes=case["axes"],
            faults=tuple(_tampering_from(fault) for fault in case["faults"]),
        ),
        truth=Truth(
            capture=_capture_from(truth["capture"]),
            carried=frozenset(truth["carried"]),
            losses=tuple(
                Loss(value=loss["value"], words=loss["words"], client_may=frozenset(map(May, loss["client_may"])))
                for loss in truth["losses"]
            ),
            error=truth["error"],
            prompt_texts=tuple(truth.get("prompt_texts", ())),
        ),
        sent=None
        if sent is None
        else Sent(
            status=sent["status"],
            cut=sent["cut"],
            carried=frozenset(sent["carried"]),
            capture=_capture_from(sent["capture"]),
        ),
        ending=Ending(
            kind=Kind(ending["kind"]),
            capture=None if ending["capture"] is None else _capture_from(ending["capture"]),
            refusal=ending["refusal"],
            message=ending["message"],
        ),
        client=client,
        upstream=tuple(
            Received(method=method, path=path, answered_status=status) for method, path, status in row["upstream"]
        ),
        downstream=None
        if down is None
        else Downstream(
            status=down["status"],
            capture=None if down["capture"] is None else _capture_from(down["capture"]),
            problem=down["problem"],
            cut=down["cut"],
            error=down["error"],
        ),
    )


def _capture(capture: Capture) -> dict[str, Any]:
    return {"choices": capture.to_json(), "usage": None if capture.usage is None else dict(capture.usage)}


def _capture_from(row: Mapping[str, Any]) -> Capture:
    return Capture.from_json(row["choices"], row["usage"])


def _tampering(fault: Tampering) -> dict[str, Any]:
    return {"id": fault.id, "client_may": sorted(fault.client_may), "values": list(fault.values)}


def _tampering_from(row: Mapping[str, Any]) -> Tampering:
    return Tampering(id=row["id"], client_may=frozenset(map(May, row["client_may"])), values=tuple(row["values"]))
