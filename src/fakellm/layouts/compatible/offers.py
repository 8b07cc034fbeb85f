"""What a server of the compatible family offers: its routes, and the members of chat and completions it looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..base import Offer
from ..common.routing import Route
from .parameters import CHAT, COMPLETIONS, Parameter

BODIES: Mapping[str, tuple[Mapping[str, Parameter], tuple[str, ...]]] = {
    "/v1/chat/completions": (CHAT, ("model", "messages")),
    "/v1/completions": (COMPLETIONS, ("model", "prompt")),
}
"""path -> the members of its body, and those that must be there."""


def offers(routes: Sequence[Route]) -> Sequence[Offer]:
    """Every route."""
    return [_offer(route) for route in routes]


def _offer(route: Route) -> Offer:
    members, required = BODIES.get(route.path, ({}, ()))
    if not {"POST", "PUT"} & {*route.methods}:
        return Offer(route.methods, route.path)
    return Offer(route.methods, route.path, {name: one.kind for name, one in members.items()}, required)
