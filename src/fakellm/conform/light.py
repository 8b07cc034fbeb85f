"""An observation without its bytes: what run-level checks keep of every exchange, and its form in ``report.jsonl``.

Written so that reports of shards can be merged and judged as one run. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..capture import VALUES, Capture, CapturedChoice
from .observation import (
    EMPTY,
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


KEPT_WHOLE = 2_000
"""So many exchanges of a run keep their values; of later ones only what went right is shortened."""


def lightened(one: Observation) -> Observation:
    """The observation without bytes, headers, bodies and other observations; equal captures are one object."""
    truth = replace(one.truth, token_bytes=())
    sent = None if one.sent is None else replace(one.sent, body=b"", headers=(), messages=())
    if sent is not None and sent.capture == truth.capture:
        sent = replace(sent, capture=truth.capture)
    downstream = one.downstream
    if downstream is not None:
        downstream = replace(downstream, body=b"", headers=(), request_body=b"", request_headers=())
    return replace(
        one,
        case=replace(one.case, request=EMPTY, flags=EMPTY),
        truth=truth,
        sent=sent,
        related=EMPTY,
        probes=EMPTY,
        upstream=tuple(replace(received, body=b"", headers=()) for received in one.upstream),
        downstream=downstream,
        siblings=(),
    )


def shortened(one: Observation) -> Observation:
    """A light observation whose client told the truth, with one number in the place of each list: equal lists stay
    equal, null stays null. Every other one stays as it is, since its findings point into its values."""
    capture = one.ending.capture
    if capture is None or one.sent is None or not one.truth.capture.choices:
        return one
    rows = [_rows(capture), _rows(one.truth.capture), _rows(one.sent.capture)]
    if rows[0] != rows[1] or rows[0] != rows[2]:
        return one
    short = Capture(choices=tuple(map(_shortened, capture.choices)), usage=capture.usage)
    return replace(
        one,
        truth=replace(one.truth, capture=short, prompt_texts=()),
        sent=replace(one.sent, capture=short),
        ending=replace(one.ending, capture=short),
    )


def _rows(capture: Capture) -> list[tuple[Any, ...]]:
    return [tuple(getattr(choice, value) for value in VALUES) for choice in capture.by_index()]


def _shortened(choice: CapturedChoice) -> CapturedChoice:
    return CapturedChoice(
        index=choice.index,
        prompt_token_ids=_number(choice.prompt_token_ids),
        completion_token_ids=_number(choice.completion_token_ids),
        logprobs=_number(choice.logprobs),
        text=choice.text,
        finish_reason=choice.finish_reason,
    )


def _number(values: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    return (abs(hash(values)),) if values else values


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
