"""What a Dynamo frontend offers as it was launched: its routes, and the members of their bodies off the structs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..base import Offer
from ..common.routing import Route
from . import fields
from .options import Settings
from .serde import Struct

STRUCTS: Mapping[str, Struct] = {
    "/v1/chat/completions": fields.CHAT,
    "/v1/completions": fields.COMPLETIONS,
    "/v1/responses": fields.RESPONSES,
    "/v1/messages": fields.MESSAGES,
    "/v1/messages/count_tokens": fields.COUNTED,
    "/inference/v1/generate": fields.GENERATE,
    "/generate": fields.SGLANG,
}
"""path -> the struct of its body."""
NATIVE = frozenset(("/inference/v1/generate", "/generate"))
ANTHROPIC = frozenset(("/v1/messages", "/v1/messages/count_tokens"))


def offers(routes: Sequence[Route], settings: Settings) -> Sequence[Offer]:
    """Every route that is switched on."""
    off = {*(() if settings.native_routes else NATIVE), *(() if settings.anthropic else ANTHROPIC)}
    return [_offer(route) for route in routes if route.path not in off]


def _offer(route: Route) -> Offer:
    struct = STRUCTS.get(route.path)
    if struct is None:
        return Offer(route.methods, route.path, {} if "POST" in route.methods else None)
    return Offer(route.methods, route.path, dict.fromkeys(struct.members, ""), struct.required)
