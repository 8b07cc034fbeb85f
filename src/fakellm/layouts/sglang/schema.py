"""A small reader of request bodies that refuses as pydantic does: the same error types, places and sentences.

A body's shape is data (:class:`Model` with fields of :class:`Kind`); ``read`` gives the values with defaults filled
in, or the list of errors that FastAPI would show. Only the lax rules that JSON can meet are here. The sentences are
facts of the captured servers (pydantic 2.14); the installed pydantic is never asked. Knows no vendor and no HTTP.

>>> from .kinds import INT
>>> read(Model("Ask", (Field("n", INT, 1),)), {"n": "x"}).errors[0]["msg"]
'Input should be a valid integer, unable to parse string as an integer'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .loose import members

Place = tuple[str | int, ...]
Error = dict[str, Any]
Members = dict[str, Any]


class Refused(Exception):
    """Raised by a kind whose value is not acceptable; carries the errors."""

    def __init__(self, errors: list[Error]) -> None:
        super().__init__(len(errors))
        self.errors = errors


class Crashed(Exception):
    """Raised where the real server's own validator breaks on a value: it answers 500."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value: ``tag`` as pydantic names it in unions, ``take`` gives the value or raises Refused."""

    tag: str
    take: Callable[[Any, Place], Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a body. ``default`` REQUIRED = it must be there; ``check``: a further rule that may raise
    ValueError with the sentence to show (pydantic's field validator), ``early`` = before the kind is looked at."""

    name: str
    kind: Kind
    default: Any = None
    check: Callable[[Any], None] | None = None
    early: bool = False


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


@dataclass(frozen=True, slots=True)
class Model:
    """A body or an object in it. Members that are not listed are ignored (``extra``: kept as they are). ``prepare``:
    what the server makes of the members before it looks at them; ``after``: a last rule over all of them, which may
    raise ValueError (pydantic's model validators). ``objects_only``: what it makes breaks on anything else."""

    name: str
    fields: tuple[Field, ...]
    extra: bool = False
    dataclass: bool = False
    prepare: Callable[[Members], Members] | None = None
    after: Callable[[Members], None] | None = None
    objects_only: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What ``read`` found: all members with their values, or errors."""

    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    errors: tuple[Error, ...] = ()


def read(model: Model, body: Any, place: Place = ("body",)) -> Reading:
    """Read a body by a model; raises Crashed where the real server breaks."""
    try:
        return Reading(take_model(model, body, place))
    except Refused as refused:
        return Reading(errors=tuple(refused.errors))


def error(kind: str, place: Place, sentence: str, value: Any, context: Mapping[str, Any] | None = None) -> Error:
    """One error as pydantic lists it."""
    made: Error = {"type": kind, "loc": place, "msg": sentence, "input": value}
    if context is not None:
        made["ctx"] = dict(context)
    return made


def take_model(model: Model, body: Any, place: Place) -> dict[str, Any]:
    """The members of an object; raises Refused with all that is wrong."""
    if not isinstance(body, Mapping):
        if model.objects_only:
            raise Crashed
        raise Refused([_no_object(model, body, place)])
    known = _prepared(model, dict(members(body)), place)
    values: dict[str, Any] = {}
    errors: list[Error] = []
    for member in model.fields:
        at = (*place, member.name)
        if member.name not in known:
            if member.default is REQUIRED:
                errors.append(error("missing", at, "Field required", known))
            values[member.name] = member.default
            continue
        try:
            values[member.name] = _take_member(member, known[member.name], at)
        except Refused as refused:
            errors.extend(refused.errors)
    if errors:
        raise Refused(errors)
    if model.extra:
        values.update((name, value) for name, value in known.items() if name not in values)
    if model.after is not None:
        try:
            model.after(values)
        except ValueError as wrong:
            raise Refused([value_error(place, str(wrong), body)]) from None
    return values


def _no_object(model: Model, body: Any, place: Place) -> Error:
    if model.dataclass:
        sentence = f"Input should be a dictionary or an instance of {model.name}"
        return error("dataclass_type", place, sentence, body, {"class_name": model.name})
    sentence = "Input should be a valid dictionary or object to extract fields from"
    return error("model_attributes_type", place, sentence, body)


def _prepared(model: Model, known: Members, place: Place) -> Members:
    if model.prepare is None:
        return known
    try:
        return model.prepare(known)
    except ValueError as wrong:
        raise Refused([value_error(place, str(wrong), known)]) from None


def _take_member(member: Field, value: Any, place: Place) -> Any:
    taken = value if member.early and member.check else member.kind.take(value, place)
    if member.check is not None:
        try:
            member.check(taken)
        except ValueError as wrong:
            raise Refused([value_error(place, str(wrong), value)]) from None
    return member.kind.take(value, place) if member.early else taken


def value_error(place: Place, sentence: str, value: Any) -> Error:
    """A validator's own refusal."""
    return error("value_error", place, f"Value error, {sentence}", value, {"error": ValueError(sentence)})


def spelled(errors: Sequence[Error], source: str) -> str:
    """The text of FastAPI's RequestValidationError: every error, where it was raised, and the list once more.

    ``source``: the lines that say where (file, function, route).
    """
    plural = "" if len(errors) == 1 else "s"
    lines = "".join(f"\n  {made}" for made in errors)
    return f"{len(errors)} validation error{plural}:{lines}{source} {list(errors)}"
