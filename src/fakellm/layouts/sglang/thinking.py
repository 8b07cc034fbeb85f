"""Whether a chat request wants reasoning, as each version reads it: the members ``reasoning`` and ``reasoning_effort``,
and what they do to the variables of the chat template. Knows no parser.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .kinds import FLOAT, either, literal, nullable
from .loose import members
from .schema import Field, Kind, Members, Place, Refused, error
from .traits import Trait, Traits, Version

_TIERS: tuple[tuple[Version, str], ...] = (
    ((0, 0, 0), "low medium high"),
    ((0, 5, 10), "none low medium high"),
    ((0, 5, 12), "none low medium high max"),
    ((0, 5, 17), "none minimal low medium high xhigh max"),
    ((0, 5, 21), "none minimal low medium high xhigh ultra max"),
)
_MOST = 0.99
_YES = frozenset({"1", "true", "yes", "y", "on"})


def effort_field(traits: Traits) -> Field:
    """What ``reasoning_effort`` may be: a word, from 0.5.17 on also a share."""
    words = literal(*tiers(traits))
    if traits.has(Trait.EFFORT_SHARES):
        kind = nullable(either(words, Kind("constrained-float", _share)))
        return Field("reasoning_effort", kind, None, _no_boolean, early=True)
    return Field("reasoning_effort", nullable(words), None if traits.has(Trait.EFFORT_NONE) else "medium")


def effort_of_counts(traits: Traits) -> Kind:
    """The same for /tokenize, which knows no max up to 0.5.16."""
    if traits.has(Trait.EFFORT_SHARES):
        return effort_field(traits).kind
    return nullable(literal(*(word for word in tiers(traits) if word != "max")))


def prepared(values: Members, traits: Traits) -> Members:
    """The members of a body after ``reasoning`` and ``reasoning_effort`` have had their effect on the effort and on
    chat_template_kwargs; raises ValueError for an effort that is none."""
    asked = values.get("reasoning")
    made = dict(values)
    if isinstance(asked, Mapping):
        effort = _effort_of(members(asked), traits)
        if effort is not None:
            made["reasoning_effort"] = effort
    meant = _meant(members(asked), made.get("reasoning_effort"), traits)
    if meant:
        made["chat_template_kwargs"] = {**meant, **members(made.get("chat_template_kwargs"))}
    return made


def _effort_of(asked: Mapping[str, Any], traits: Traits) -> Any:
    effort: Any = asked.get("effort")
    shares = traits.has(Trait.EFFORT_SHARES)
    if effort is None or (not effort and not shares):
        effort = asked.get("reasoning_effort")
    if isinstance(effort, str) and effort in tiers(traits):
        return effort
    if not shares or effort is None:
        return None
    if isinstance(effort, int | float | str) and not isinstance(effort, bool):
        try:
            return float(effort)
        except ValueError:
            pass
    raise ValueError(f"invalid reasoning effort: {effort!r}")


def _meant(asked: Mapping[str, Any], effort: Any, traits: Traits) -> dict[str, bool]:
    """The template variables that say whether to think."""
    enabled: Any = asked.get("enabled")
    enabled = asked.get("enable", False) if enabled is None else enabled
    on = enabled.strip().lower() in _YES if isinstance(enabled, str) else bool(enabled)
    if traits.has(Trait.EFFORT_SWITCHES_ON) and effort is not None:
        return {"thinking": effort != "none", "enable_thinking": effort != "none"}
    if on:
        return {"thinking": True, "enable_thinking": True} if traits.has(Trait.ENABLED_FOR_ALL) else {"thinking": True}
    if effort == "none" and traits.has(Trait.EFFORT_NONE):
        return {"thinking": False, "enable_thinking": False}
    return {}


def tiers(traits: Traits, *, single: bool = False) -> list[str]:
    """The words that an effort may be. ``single``: of the Responses API, which followed only in 0.5.17."""
    version = traits.version if traits.has(Trait.EFFORT_SHARES) or not single else _TIERS[0][0]
    return next(words for since, words in reversed(_TIERS) if version >= since).split()


def _no_boolean(effort: Any) -> None:
    if isinstance(effort, bool):
        raise ValueError("reasoning_effort must not be a boolean")


def _share(value: Any, place: Place) -> Any:
    number: float = FLOAT.take(value, place)
    if not math.isfinite(number):
        raise Refused([error("finite_number", place, "Input should be a finite number", value)])
    if number < 0:
        raise Refused(
            [error("greater_than_equal", place, "Input should be greater than or equal to 0", value, {"ge": 0.0})]
        )
    if number > _MOST:
        sentence = f"Input should be less than or equal to {_MOST}"
        raise Refused([error("less_than_equal", place, sentence, value, {"le": _MOST})])
    return number
