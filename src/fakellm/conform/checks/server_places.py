"""Whether a server tells ids and scores where its layout's own table has them. Pure.

The reference reader finds them in many places; a client written for one server looks in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ...reading.paths import MISSING, find, steps
from ..finding import Finding
from ..observation import Observation
from .base import NOTHING, SERVER, exchange_check, failed, passed
from .server_tokens import bodies

Place = tuple[str, tuple[str, ...]]
"""A path of the table, and the kinds of message that carry it."""
VALUES = ("prompt_token_ids", "completion_token_ids", "logprobs")
LATE = frozenset({"meta", "finish", "usage", "response.completed"})
"""Kinds of message at a stream's end: prompt ids that stand in one of them alone come late in health."""


@exchange_check(
    "server.places",
    modes=SERVER,
    needs=VALUES,
    sources=("https://github.com/vllm-project/vllm/pull/22587",),
)
def places(observation: Observation) -> Sequence[Finding]:
    """Ids and scores MUST stand where this layout has them, prompt ids in the stream's first event if it has them
    there.
    """
    capture = observation.downstream.capture if observation.downstream is not None else None
    if capture is None:
        return NOTHING
    told = tuple(_elements(observation))
    tried = False
    for value in VALUES:
        rows = _rows(observation, value)
        if not rows or all(getattr(choice, value) is None for choice in capture.choices):
            continue
        tried = True
        holding = [number for number, body in enumerate(told) if any(_there(body, row) for row in rows)]
        if not holding:
            return [failed(f"the layout has {value} at {rows[0][0]}, where nothing is", where=value)]
        early = observation.case.stream and not any(set(row[1]) <= LATE for row in rows)
        if value == "prompt_token_ids" and early and (holding[0] > 0 or not _has_choices(told[0])):
            return [failed(f"prompt ids come in event {holding[0]}, not beside the first choice", where=value)]
    return [passed()] if tried else NOTHING


def _elements(observation: Observation) -> Iterator[Any]:
    """The bodies; a native answer of several choices is a list of them."""
    for body in bodies(observation):
        yield from cast("list[Any]", body) if isinstance(body, list) else [body]


def _rows(observation: Observation, value: str) -> Sequence[Place]:
    """What the layout's table has for a value that was asked for (``probes``: the runner knows the table)."""
    listed: Mapping[str, Sequence[Place]] = observation.probes.get("places", {})
    return listed.get(value, ()) if value in observation.truth.carried else ()


def _there(body: Any, row: Place) -> bool:
    found = find(body, steps(row[0]))
    if found is MISSING or found is None:
        return False
    listed = cast("list[Any]", found) if isinstance(found, list) else [found]
    return any(one is not None and one != [] for one in listed)


def _has_choices(body: Any) -> bool:
    """A native body is a choice itself."""
    return isinstance(body, dict) and cast("dict[str, Any]", body).get("choices", True) != []
