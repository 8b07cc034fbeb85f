"""The OpenAPI description of a running fake: its layout's routes and the admin API, made from what answers them.

Served as ``/_fakellm/openapi.json`` (a vendor's own ``/openapi.json`` stays the vendor's). Types of members are read
off the words that validators use (``int``, ``nullable[str]``, ...); a member whose word says nothing may be anything.
``make soak`` fuzzes requests with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from .. import __version__
from ..layouts.base import Offer, Offering
from ..stage import Stage
from .guard import TOKEN_HEADER

Schema = dict[str, Any]
AdminRoute = tuple[str, str, str]
"""Method, path, what it does."""
VERSION: Final = "3.1.0"
_PLAIN: Final[Mapping[str, str]] = {
    **dict.fromkeys(("int", "integer", "constrained-int"), "integer"),
    **dict.fromkeys(("str", "string", "constrained-str"), "string"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("float", "number"), "number"),
    **dict.fromkeys(("object", "dict"), "object"),
}
ADMIN_BODIES: Final[Mapping[tuple[str, str], Schema]] = {
    ("PUT", "/scenarios/{name}"): {"content": {"application/yaml": {"schema": {"type": "string"}}}, "required": True},
    ("POST", "/faults/arm"): {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["fault"],
                    "additionalProperties": False,
                    "properties": {
                        "fault": {"type": ["string", "object"]},
                        "times": {"type": ["integer", "null"], "minimum": 1},
                        "scenario": {"type": ["string", "null"]},
                    },
                }
            }
        },
    },
}


def describe(stage: Stage, admin: Iterable[AdminRoute], admin_prefix: str, prefix: str = "") -> Schema:
    """The document. ``prefix``: what stands before the stage's paths (``/s/<scenario>``)."""
    paths: dict[str, dict[str, Schema]] = {}
    offers: Sequence[Offer] = stage.station.offers() if isinstance(stage.station, Offering) else ()
    for offer in offers:
        for method in offer.methods:
            paths.setdefault(prefix + offer.path, {})[method.lower()] = _operation(method, offer)
    for method, path, about in admin:
        operation = _described(admin_prefix + path, about, ADMIN_BODIES.get((method, path)))
        paths.setdefault(admin_prefix + path, {})[method.lower()] = {**operation, "security": [{}, {"admin": []}]}
    return {
        "openapi": VERSION,
        "info": {"title": f"fakellm as {stage.layout.name}", "version": __version__},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {"securitySchemes": {"admin": {"type": "apiKey", "in": "header", "name": TOKEN_HEADER}}},
    }


def schema_of(word: str) -> Schema:
    """A validator's word for a type as JSON Schema; anything where it says nothing that JSON Schema knows.

    >>> schema_of("nullable[list[int]]")
    {'anyOf': [{'type': 'array', 'items': {'type': 'integer'}}, {'type': 'null'}]}
    """
    if word in _PLAIN:
        return {"type": _PLAIN[word]}
    inner = re.fullmatch(r"(nullable|list|dict)\[(.*)\]", word, re.S)
    if inner is None:
        return {}
    if inner[1] == "dict":
        return {"type": "object"}
    held = schema_of(inner[2])
    return {"type": "array", "items": held} if inner[1] == "list" else {"anyOf": [held, {"type": "null"}]}


def _operation(method: str, offer: Offer) -> Schema:
    body: Schema | None = None
    if offer.members is not None and method in ("POST", "PUT", "PATCH"):
        schema: Schema = {"type": "object"}
        if offer.members:
            schema["properties"] = {name: schema_of(word) for name, word in offer.members.items()}
            schema["required"] = list(offer.required)
        body = {"content": {"application/json": {"schema": schema}}, "required": bool(offer.required)}
    return _described(offer.path, "", body)


def _described(path: str, about: str, body: Schema | None) -> Schema:
    made: Schema = {"responses": {"default": {"description": "an answer or a refusal, as this server gives it"}}}
    names = re.findall(r"\{(\w+)\}", path)
    if names:
        made["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
            for name in names
        ]
    if about:
        made["summary"] = about
    if body is not None:
        made["requestBody"] = body
    return made
