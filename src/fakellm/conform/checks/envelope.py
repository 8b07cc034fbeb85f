"""Checks on what stands around the choices of a server's answer: id, model, time, and how a stream ends. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ...reading import EventParser
from ..finding import Finding
from ..observation import Observation
from .base import NOTHING, SERVER, exchange_check, failed, passed


@exchange_check("server.envelope", modes=SERVER, sources=("https://github.com/sgl-project/sglang/pull/6693",))
def envelope(observation: Observation) -> Sequence[Finding]:
    """Every message of an answer MUST have the same id, the model that was asked for, and a time in seconds; a stream
    of the OpenAI APIs MUST end with one [DONE] and nothing after it."""
    down = observation.downstream
    if down is None or observation.case.api not in ("chat", "completions") or down.capture is None:
        return NOTHING
    messages, marks = _messages(down.body)
    if not messages:
        return NOTHING
    if _changing_id(messages, observation.case.n):
        return [failed("the id changes within one answer", where="id")]
    wanted = observation.case.request.get("model") or messages[0].get("model")  # none was asked for: the default one
    renamed = next((one.get("model") for one in messages if one.get("model") != wanted), wanted)
    if renamed != wanted:
        return [failed("another model than was asked for", where="model", expected=wanted, got=renamed)]
    late = next((one["created"] for one in messages if _is_late(one.get("created"))), None)
    if late is not None:
        return [failed("created is no time in seconds", where="created", got=late)]
    if observation.case.stream and marks != ["[DONE]"]:
        return [failed("the stream does not end with one [DONE]", where="[DONE]", got=marks)]
    return [passed()]


def _changing_id(messages: Sequence[Mapping[str, Any]], choices: int) -> bool:
    """One id for the whole answer, or one for each choice (SGLang, whose closing chunks take any of them)."""
    return len({str(one.get("id")) for one in messages}) > max(1, choices)


def _is_late(created: Any) -> bool:
    """Seconds since 1970 have ten digits until the year 2286."""
    return not isinstance(created, int) or created > 10**10


def _messages(body: bytes) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The JSON objects of an answer, and what else stood in its events from [DONE] on."""
    if body.lstrip().startswith(b"{"):
        events = [body.decode("utf-8", "replace")]
    else:
        parser = EventParser()
        events = [event.data for event in parser.feed(body)]
    messages: list[Mapping[str, Any]] = []
    marks: list[str] = []
    for event in events:
        if marks or event.strip() == "[DONE]":
            marks.append(event.strip())
            continue
        try:
            found: Any = json.loads(event)
        except ValueError:
            continue
        if isinstance(found, dict):
            messages.append(cast("Mapping[str, Any]", found))
    return messages, marks
