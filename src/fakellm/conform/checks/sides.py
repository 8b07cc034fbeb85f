"""The four sides of the sandwich as values: A and B are request bodies, C and D the messages of answers.

A is what the reference client sent, B what reached the fake, C what the fake sent, D what came back. Parsed once per
observation and cached by bytes, because a dozen checks ask. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from ...reading import EventParser, Refused
from ...reading.documents import parse_document
from ..observation import Observation
from ..request import PATHS
from .requests import api_calls, json_object

API_OF = {path: api for api, path in PATHS.items()}


@dataclass(frozen=True, slots=True)
class Messages:
    """An answer in parts: JSON values in order. ``stream``: they were events; ``done``: [DONE] was among them;
    ``unreadable``: parts that are no JSON."""

    values: tuple[Any, ...] = ()
    stream: bool = False
    done: bool = False
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class Sides:
    """``asked`` and ``forwarded`` are A and B; ``sent`` and ``got`` are C and D. ``converted``: B is another API."""

    asked: Mapping[str, Any]
    forwarded: Mapping[str, Any]
    asked_api: str
    forwarded_api: str
    sent: Messages
    got: Messages

    @property
    def converted(self) -> bool:
        return self.asked_api != self.forwarded_api


def sides_of(observation: Observation) -> Sides | None:
    """The four sides, or None where the call never went through, or a request body is no JSON object."""
    down, calls = observation.downstream, api_calls(observation)
    if down is None or observation.sent is None or not calls:
        return None
    asked, forwarded = json_object(down.request_body), json_object(calls[-1].body)
    if asked is None or forwarded is None:
        return None
    path = calls[-1].path.split("?")[0].rstrip("/")
    return Sides(
        asked=asked,
        forwarded=forwarded,
        asked_api=observation.case.api,
        forwarded_api=API_OF.get(path, observation.case.api),
        sent=messages_of(observation.sent.body),
        got=messages_of(down.body),
    )


@lru_cache(maxsize=32)
def messages_of(body: bytes) -> Messages:
    """An answer's body in parts."""
    if body.lstrip()[:1] in (b"{", b"["):
        value = _parsed(body)
        return Messages((value,)) if value is not None else Messages(unreadable=1)
    events = EventParser().feed(body)
    datas = [event.data.strip() for event in events if event.data.strip()]
    values = [_parsed(data.encode()) for data in datas if data != "[DONE]"]
    there = tuple(value for value in values if value is not None)
    return Messages(there, bool(datas), "[DONE]" in datas, len(values) - len(there))


def _parsed(body: bytes) -> Any:
    try:
        return parse_document(body)
    except Refused:
        return None


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every (path, scalar) of a JSON value in order; list places are written ``[]``, null and empty are left out."""
    if isinstance(value, dict):
        for key, member in cast("dict[str, Any]", value).items():
            yield from leaves(member, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for member in cast("list[Any]", value):
            yield from leaves(member, f"{path}[]")
    elif value is not None and value != "":
        yield path, value


def header(headers: tuple[tuple[str, str], ...], name: str) -> str | None:
    """A header's value; names compare without case."""
    return next((value for key, value in headers if key.lower() == name), None)
