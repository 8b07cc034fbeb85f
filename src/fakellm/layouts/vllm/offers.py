"""What a vLLM of one version and launch offers: routes, and the members of their bodies off the validation tables."""

from __future__ import annotations

from collections.abc import Sequence

from ..base import Offer
from .api import Running
from .route import Route
from .validate.apis import API_READERS
from .validate.checks import Rules
from .validate.records import REQUIRED, Branches, Record

READERS = {
    "/v1/chat/completions": "chat",
    "/v1/chat/completions/batch": "batch",
    "/v1/chat/completions/render": "chat",
    "/v1/completions": "completions",
    "/v1/completions/render": "completions",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
    "/v1/messages/count_tokens": "count_tokens",
    "/inference/v1/generate": "tito",
    "/tokenize": "tokenize",
    "/detokenize": "detokenize",
    "/v1/chat/completions/derender": "derender-chat",
    "/v1/completions/derender": "derender-completions",
}
"""path -> the reader of its body."""


def offers(routes: Sequence[Route], running: Running) -> Sequence[Offer]:
    """Every route that this server has."""
    rules = Rules(running.traits, running.settings)
    return [_offer(route, rules) for route in routes if route.when(running)]


def _offer(route: Route, rules: Rules) -> Offer:
    reader = API_READERS.get(READERS.get(route.path, ""))
    if reader is None:
        return Offer(route.methods, route.path, {} if "POST" in route.methods else None)
    record = reader.record(rules)
    records = [record] if isinstance(record, Record) else _records(record)
    members = {field.name: field.kind.label for each in records for field in each.fields}
    required = [{field.name for field in each.fields if field.default is REQUIRED} for each in records]
    return Offer(route.methods, route.path, members, tuple(sorted(set[str].intersection(*required))))


def _records(branches: Branches) -> list[Record]:
    return list(branches.records)
