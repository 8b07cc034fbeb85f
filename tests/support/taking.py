"""Exchanges for tests of the recorder: what a fake of some layout answers, taken as a proxy would have taken it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fakellm.ask import Request
from fakellm.faults.registry import parse
from fakellm.house import Choices, House
from fakellm.layouts.base import Accessor, Layout
from fakellm.record.taken import COMPLETE, Taken
from fakellm.record.truth import Expert
from fakellm.scenario.load import from_data
from fakellm.stage import Stage

PROMPT = "Say hello."
CALLS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "chat": ("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": PROMPT}]}),
    "completions": ("/v1/completions", {"model": "m", "prompt": PROMPT}),
    "responses": ("/v1/responses", {"model": "m", "input": PROMPT}),
    "generate": ("/generate", {"text": PROMPT}),
    "tito": ("/inference/v1/generate", {"token_ids": [1, 2, 3], "sampling_params": {}}),
}
"""API -> path, and the shortest request."""
AUTO = {"say": {"auto": {"tokens": 12}}}


def house(layout: str, *replies: Mapping[str, Any], options: Sequence[str] = ()) -> House:
    """A house of one scenario."""
    scenario = from_data({"replies": list(replies) or [AUTO]}, "auto", read_fault=parse)
    return House({}, scenario, Choices(layout=layout, options=tuple(options)))


def expert(stage: Stage) -> Expert:
    assert stage.tokenizer is not None
    return Expert(stage.layout, stage.station, stage.tokenizer)


def asking(stage: Stage, api: str, stream: bool, values: Sequence[str] = (), count: int = 3) -> dict[str, Any]:
    """The shortest request of an API with the flags that ask for these values."""
    body = {**CALLS[api][1], "stream": True} if stream else CALLS[api][1]
    return flagged(stage.layout, api, stream, values, body, count)


def flagged(
    layout: Layout, api: str, stream: bool, values: Sequence[str], body: Mapping[str, Any], count: int = 3
) -> dict[str, Any]:
    """The same request with the flags that ask for these values."""
    made: dict[str, Any] = json.loads(json.dumps(body))
    for accessor in layout.accessors.get((api, stream), ()):
        if accessor.value in values:
            _switch_on(made, accessor, count)
    return made


def _switch_on(body: dict[str, Any], accessor: Accessor, count: int) -> None:
    for name, value in accessor.flags.items():
        counted = accessor.value == "top_logprobs" and isinstance(value, int) and not isinstance(value, bool)
        place, (*above, last) = body, name.split(".")
        for key in above:
            place = place.setdefault(key, {})
        place[last] = count if counted else value


def taken(stage: Stage, api: str, body: Mapping[str, Any], **changes: Any) -> Taken:
    """What the stage answers, taken off the wire frame by frame."""
    path = CALLS[api][0]
    data = json.dumps(body).encode()
    wire = stage.answer(Request("POST", path, headers={"content-type": "application/json"}, body=data)).wire
    given: dict[str, Any] = {
        "number": 1,
        "at": 1_795_000_000.0,
        "method": "POST",
        "target": path,
        "request_headers": (("Content-Type", "application/json"),),
        "request_body": data,
        "status": wire.status,
        "response_headers": wire.headers,
        "chunks": tuple((frame.due_ms, frame.data) for frame in wire.frames),
        "ending": COMPLETE,
        **changes,
    }
    return Taken(**given)
