"""Reading a request's body: content type, JSON, schema, each refused as FastAPI inside SGLang refuses it.

One function, used by every route with a body. Knows no route's meaning.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from ...ask import Request
from ...message import Rendering
from . import answers
from .schema import Crashed, Error, Model, error, read
from .traits import Trait, Traits


@dataclass(frozen=True, slots=True)
class Body:
    """A body that was accepted: as sent, and its members with defaults filled in."""

    sent: Mapping[str, Any]
    values: Mapping[str, Any]


def read_body(
    request: Request,
    model: Model,
    traits: Traits,
    *,
    json_only: bool,
    struct: bool = False,
    refuse: Callable[[Sequence[Error]], Rendering] | None = None,
) -> Body | Rendering:
    """The body by its model, or the refusal. ``json_only``: the route insists on the JSON content type; ``struct``: the
    server's input is a msgspec struct, which is refused twice: as an instance that it is not, and member by member;
    ``refuse``: the route's own way to say it."""

    def invalid(errors: Sequence[Error]) -> Rendering:
        if refuse is not None:
            return refuse(errors)
        return answers.invalid(errors, request.method, request.path, traits)

    media = request.headers.get("content-type", "").lower().split(";", 1)[0]
    if json_only and media != "application/json":
        refused: Error = {
            "loc": ["header", "content-type"],
            "msg": "Unsupported Media Type: Only 'application/json' is allowed",
            "type": "value_error",
        }
        return invalid([refused])
    if not request.body:
        return invalid([error("missing", ("body",), "Field required", None)])
    parsed, broken = _parse(request.body, traits)
    if broken is not None:
        return invalid([broken])
    if parsed is None:
        return invalid([error("missing", ("body",), "Field required", None)])
    built = f"function-after[build_struct(), {model.name}]"
    try:
        reading = read(model, parsed, ("body", built) if struct else ("body",))
    except Crashed:
        return answers.crash()
    if reading.errors:
        first = [_no_instance(model, parsed)] if struct else []
        return invalid([*first, *reading.errors])
    return Body(parsed, reading.values)


def _no_instance(model: Model, value: Any) -> Error:
    sentence = f"Input should be an instance of {model.name}"
    place = ("body", f"is-instance[{model.name}]")
    return error("is_instance_of", place, sentence, value, {"class": model.name})


def _parse(data: bytes, traits: Traits) -> tuple[Any, Error | None]:
    """The JSON value, or the error in the words of the parser that the version uses."""
    by_orjson = traits.has(Trait.BODY_BY_ORJSON)
    try:
        return (orjson.loads(data) if by_orjson else json.loads(data)), None
    except json.JSONDecodeError as wrong:
        return None, error("json_invalid", ("body", wrong.pos), "JSON decode error", {}, {"error": wrong.msg})
    except UnicodeDecodeError:
        return None, error("json_invalid", ("body", 0), "JSON decode error", {}, {"error": "invalid utf-8"})
    except (ValueError, RecursionError) as wrong:  # numbers of thousands of digits, nesting without end
        return None, error("json_invalid", ("body", 0), "JSON decode error", {}, {"error": str(wrong)})
