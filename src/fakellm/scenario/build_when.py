"""From the ``when:`` form to conditions: which field, which rule.

A plain value means equals. Under ``json`` any value may stand, so a mapping must say ``equals``, ``contains``,
``regex`` or ``present``. Errors are raised through the function given, which knows file and line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast

from ..errors import ScenarioError, did_you_mean
from ..pattern import Pattern
from . import schema
from .rules import Condition, Contains, Equals, Matches, OneOf, Present, Rule, SwitchedOn, When


class Fail(Protocol):
    """(message, path below ``when``) -> the error, with file and line."""

    def __call__(self, message: str, *at: str) -> ScenarioError: ...


_JSON_RULES = ("equals", "contains", "regex", "present")
TEXT_FIELDS = ("model", "last_message", "messages", "system", "prompt")


def build_when(form: schema.WhenForm, fail: Fail) -> When:
    """All conditions of a reply, in a fixed order."""
    conditions: list[Condition] = []
    if form.api:
        conditions.append(Condition("api", OneOf(tuple(form.api))))
    for field in TEXT_FIELDS:
        rule = getattr(form, field)
        if rule is not None:
            conditions.append(Condition(field, _text_rule(rule, fail, field)))
    for path, value in form.json_.items():
        conditions.append(_json_condition(path, value, fail))
    for name, rule in form.headers.items():
        conditions.append(Condition(f"headers.{name.lower()}", _text_rule(rule, fail, "headers", name)))
    conditions += [Condition(f"flags.{name}", SwitchedOn()) for name in form.flags]
    conditions += [
        Condition(field, Equals(getattr(form, field)))
        for field in ("stream", "turn", "call")
        if getattr(form, field) is not None
    ]
    return When(tuple(conditions))


def _text_rule(form: str | schema.TextRuleForm, fail: Fail, *at: str) -> Rule:
    if isinstance(form, str):
        return Equals(form)
    (kind,) = form.model_fields_set
    return _rule(kind, getattr(form, kind), fail, *at)


def _json_condition(path: str, value: Any, fail: Fail) -> Condition:
    field = f"json.{path}"
    if not isinstance(value, Mapping):
        return Condition(field, Equals(value))
    rule = cast(Mapping[str, Any], value)
    if len(rule) != 1 or next(iter(rule)) not in _JSON_RULES:
        unknown = next((key for key in rule if key not in _JSON_RULES), "")
        hint = did_you_mean(unknown, _JSON_RULES)
        raise _with_hint(
            fail("a mapping here is exactly one of equals, contains, regex and present", "json", path),
            hint or "compare with an object by {equals: {...}}",
        )
    ((kind, wanted),) = rule.items()
    if kind == "present":
        if not isinstance(wanted, bool):
            raise fail("present is true or false", "json", path)
        return Condition(field, Present(), absent=not wanted)
    return Condition(field, _rule(kind, wanted, fail, "json", path))


def _rule(kind: str, value: Any, fail: Fail, *at: str) -> Rule:
    if kind == "equals":
        return Equals(value)
    if not isinstance(value, str):
        raise fail(f"{kind} needs text", *at)
    if kind == "contains":
        return Contains(value)
    try:
        return Matches(Pattern(value))
    except ScenarioError as wrong:
        raise _with_hint(fail(wrong.message, *at, "regex"), wrong.hint) from None


def _with_hint(error: ScenarioError, hint: str | None) -> ScenarioError:
    return ScenarioError(error.message, where=error.where, hint=hint)
