"""From request bytes to a parsed body, or to the refusal that this version would send.

The order is the servers' own: the body must be JSON, then the media type counts, then vLLM's checks of the raw body,
then the fields, then the handler's checks (model, tools, template). What the engine's front end would object to comes
later and stands in ``engine``; what needs the prompt's length in ``context``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from ....ask import Request
from ..launch import Settings
from ..traits import Traits
from .accepted import Accepted, Kind, key_of
from .apis import API_READERS, ApiReader
from .checks import Rules
from .flaws import Crash, Flaw, FlawedBody, Objection, Refusal
from .places import place_of
from .records import Branches, Record
from .spelling import (
    check_as_flaw,
    error_body,
    spell_crash,
    spell_flaws,
    spell_for,
    spell_handler_crash,
    spell_note,
    spell_objection,
)

NOT_JSON = "Unsupported Media Type: Only 'application/json' is allowed"
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Parsed:
    """A body that was accepted. ``body``: as sent. ``values``: every known field, coerced, defaults filled in.
    ``ignored``: names that the version does not know. ``kind``: what requests that differ in texts alone share."""

    api: str
    body: Mapping[str, Any]
    values: Mapping[str, Any]
    ignored: tuple[str, ...]
    kind: Kind | None = None


def read(
    api: str, request: Request, traits: Traits, settings: Settings, accepted: Accepted | None = None
) -> Parsed | Refusal:
    """Read a request of an API by name (``apis.API_READERS``). Never raises for what a client sent. ``accepted``: what
    this server took before (chats only)."""
    reader = API_READERS[api]
    rules = Rules(traits, settings)
    place = place_of(request.method, request.path, traits.version)
    try:
        return _read(api, reader, request, rules, accepted)
    except FlawedBody as flawed:
        return spell_flaws(flawed.flaws, place, traits)
    except Refused as refused:
        return refused.refusal
    except Objection as objection:
        return spell_objection(objection, traits)
    except Crash as crash:
        return spell_crash(crash, traits)


class Refused(Exception):
    """A refusal that is already spelled."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.status)
        self.refusal = refusal


def _read(api: str, reader: ApiReader, request: Request, rules: Rules, accepted: Accepted | None) -> Parsed:
    sent = _json_body(request, rules)
    media = request.headers.get("content-type", "").lower().partition(";")[0].strip()
    if media != "application/json":
        raise Refused(spell_note(NOT_JSON, rules.traits))
    if sent is _MISSING or sent is None:
        raise FlawedBody([Flaw("missing", ("body",), "Field required", None)])
    key = None if accepted is None else key_of(sent)
    kind = None if accepted is None or key is None else accepted.find(key)
    if kind is not None:
        return Parsed(api, sent, {**kind.values, "messages": sent["messages"]}, kind.ignored, kind)
    body, values, record = check_body(reader, sent, rules)
    parsed = Parsed(api, body, values, tuple(name for name in body if name not in record.names()))
    try:
        for check in reader.handler_checks:
            check(parsed.values, rules)
    except Objection as objection:
        raise Refused(spell_for(api, objection, rules.traits)) from None
    except Crash as crash:
        raise Refused(spell_handler_crash(crash, rules.traits)) from None
    if accepted is None or key is None or values["messages"] != body["messages"]:
        return parsed
    return replace(parsed, kind=accepted.remember(key, values, parsed.ignored))


def check_body(
    reader: ApiReader, sent: Any, rules: Rules
) -> tuple[Mapping[str, Any], dict[str, Any], Record | Branches]:
    """The body, its coerced fields and the record they were read by; raises FlawedBody, Objection or Crash."""
    record = reader.record(rules)
    if not isinstance(sent, dict):
        if not rules.traits.checks_guard_types and reader.checks(rules.version):
            raise Crash("AttributeError", f"'{type(sent).__name__}' object has no attribute 'get'")
        flaws: list[Flaw] = []
        record.check(sent, ("body",), flaws)
        raise FlawedBody(flaws)
    body = cast("dict[str, Any]", sent)
    amended = dict(body)
    flaws = []
    try:
        for check in reader.checks(rules.version):
            check(amended, rules)
        values = record.check(amended, ("body",), flaws)
    except Objection as objection:
        if not rules.traits.checks_in_schema:
            raise
        flaw = check_as_flaw(objection, amended, ("body",), typed=rules.traits.typed_checks)
        if not isinstance(record, Branches):
            raise FlawedBody([flaw]) from None
        other, checked = record.records  # the check is the second record's; the body may still be the first
        values = other.check(amended, ("body", other.label), flaws)
        if flaws:
            raise FlawedBody([*flaws, replace(flaw, path=("body", checked.label))]) from None
    if flaws:
        raise FlawedBody(flaws)
    if reader.own is not None:
        reader.own(amended, values, rules)
    if "messages" in amended:
        values["messages"] = amended["messages"]
    return body, values, record


def _json_body(request: Request, rules: Rules) -> Any:
    """The body as JSON, in the words of Python's decoder when it is none."""
    if not request.body:
        return _MISSING
    media = request.headers.get("content-type", "").lower().partition(";")[0].strip()
    if not (media == "application/json" or (media.startswith("application/") and media.endswith("+json"))):
        return request.body
    try:
        return json.loads(request.body)
    except json.JSONDecodeError as bad:
        flaw = Flaw("json_invalid", ("body", bad.pos), "JSON decode error", {}, {"error": bad.msg})
        raise FlawedBody([flaw]) from None
    except (ValueError, RecursionError):
        message = "There was an error parsing the body"
        raise Refused(Refusal(400, error_body(message, "Bad Request", None, 400, rules.traits))) from None
