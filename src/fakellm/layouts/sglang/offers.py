"""What an SGLang of one version offers: its routes, and the members of their bodies off the models that read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..base import Offer
from .chat_body import chat_model
from .completions_body import completion_model
from .messages_body import count_model, messages_model
from .native_body import generate_model
from .route import Route
from .schema import REQUIRED, Model
from .traits import Traits

MODELS: Mapping[str, Callable[..., Model]] = {
    "/generate": generate_model,
    "/v1/chat/completions": chat_model,
    "/v1/completions": completion_model,
    "/v1/messages": messages_model,
    "/v1/messages/count_tokens": count_model,
}
"""path -> the model of its body."""
STORED = "/v1/responses/*"
"""One entry of the table, two routes of the server."""


def offers(routes: Mapping[str, Route], traits: Traits) -> Sequence[Offer]:
    """Every route that this version has; a path's rest is one parameter."""
    found: list[Offer] = []
    for path, route in routes.items():
        if not route.held_by(traits):
            continue
        if path == STORED:
            found += (Offer(("GET",), f"{STORED[:-2]}/{{id}}"), Offer(("POST",), f"{STORED[:-2]}/{{id}}/cancel", {}))
        else:
            found.append(_offer(path, route, traits))
    return found


def _offer(path: str, route: Route, traits: Traits) -> Offer:
    methods, shown = route.methods_of(traits), path.replace("/*", "/{argument}")
    make = MODELS.get(path)
    if make is None:
        return Offer(methods, shown, {} if {"POST", "PUT"} & {*methods} else None)
    fields = make(traits.version).fields
    required = tuple(field.name for field in fields if field.default is REQUIRED)
    return Offer(methods, shown, {field.name: field.kind.tag for field in fields}, required)
