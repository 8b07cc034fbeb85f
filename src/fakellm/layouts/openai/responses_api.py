"""The routes of OpenAI's Responses: create, and with ``store`` (the default) retrieve, its input items, delete, cancel.

A station's state keeps ``responses`` (id -> object) and ``conversations`` (id -> messages), the oldest going first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ask import Ask, Request
from ...message import Rendering
from ...told import Told
from ..base import Context
from ..compatible.errors import Refusal
from ..compatible.frame import json_answer
from ..compatible.station import CompatibleStation, Native
from .responses import final_value, plan_of, said, streamed, whole
from .responses_hear import hear, sealed

KEPT = 1000
"""Responses that are remembered."""


def _kept(station: CompatibleStation, name: str) -> dict[str, Any]:
    return station.state.setdefault(name, {})


def _create(request: Request, station: CompatibleStation, context: Context) -> Ask:
    return hear(request, station.tokenizer, station.model, _kept(station, "conversations"))


def _render(told: Told, ask: Ask, station: CompatibleStation, context: Context) -> Rendering:
    plan = plan_of(told, ask, station.traits, context.now(), context.hex)
    if ask.body.get("store") is not False:
        conversation: Any = ask.options["conversation"]
        _keep(station, "responses", plan.response_id, final_value(plan, told, ask))
        _keep(station, "conversations", plan.response_id, (*conversation, *said(plan)))
    return streamed(plan, told, ask) if ask.stream else whole(plan, told, ask)


def _keep(station: CompatibleStation, name: str, key: str, value: Any) -> None:
    kept = _kept(station, name)
    kept[key] = value
    while len(kept) > KEPT:
        del kept[next(iter(kept))]


def _stored(request: Request, station: CompatibleStation) -> Mapping[str, Any]:
    response_id = request.query["id"]
    found = _kept(station, "responses").get(response_id)
    if found is None:
        raise Refusal(f"Response with id '{response_id}' not found.", status=404)
    return found


def _retrieve(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    return json_answer(_stored(request, station))


def _delete(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    found = _stored(request, station)
    for name in ("responses", "conversations"):
        _kept(station, name).pop(found["id"], None)
    return json_answer({"id": found["id"], "object": "response", "deleted": True})


def _cancel(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    _stored(request, station)
    raise Refusal("Cannot cancel a synchronous response.")


def _input_items(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    found = _stored(request, station)
    items = [
        {
            "id": f"msg_{context.hex(48)}",
            "type": "message",
            "status": "completed",
            "content": [{"type": "input_text", "text": message["content"]}],
            "role": message["role"],
        }
        for message in _kept(station, "conversations")[found["id"]]
        if message["role"] in ("user", "system", "developer")
    ]
    ids = [item["id"] for item in items]
    edges = {"first_id": ids[0] if ids else None, "last_id": ids[-1] if ids else None}
    return json_answer({"object": "list", "data": items, **edges, "has_more": False})


def _compact(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    """A conversation made small: its user messages, and the rest as an item that only this server can open."""
    ask = hear(request, station.tokenizer, station.model, _kept(station, "conversations"))
    users = [message for message in ask.messages if message["role"] == "user"]
    tokens = len(ask.prompts[0].token_ids)
    details = {"input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}}
    items: list[dict[str, Any]] = [
        {
            "id": f"msg_{context.hex(48)}",
            "type": "message",
            "status": "completed",
            "content": [{"type": "input_text", "text": message["content"]}],
            "role": "user",
        }
        for message in users
    ]
    items.append({"id": f"cmp_{context.hex(48)}", "type": "compaction", "encrypted_content": sealed(ask.messages)})
    return json_answer(
        {
            "id": f"resp_{context.hex(48)}",
            "object": "response.compaction",
            "created_at": int(context.now()),
            "output": items,
            "usage": {
                "input_tokens": tokens,
                **details,
                "output_tokens": len(items),
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": tokens + len(items),
            },
        }
    )


NATIVES: tuple[Native, ...] = (
    Native("responses", ("/v1/responses",), _create, _render),
    Native("compact", ("/v1/responses/compact",), _compact),
    Native("retrieve", ("/v1/responses/{id}",), _retrieve, methods=("GET",)),
    Native("delete", ("/v1/responses/{id}",), _delete, methods=("DELETE",)),
    Native("cancel", ("/v1/responses/{id}/cancel",), _cancel),
    Native("input-items", ("/v1/responses/{id}/input_items",), _input_items, methods=("GET",)),
)
