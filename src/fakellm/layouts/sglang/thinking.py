"""Whether a chat request wants reasoning, as each version reads it: the members ``reasoning`` and ``reasoning_effort``,
and what they do to the variables of the chat template. Knows no parser.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .loose import members
from .schema import FLOAT, Kind, Place, Refused, either, error, literal, nullable
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


def effort_kind(traits: Traits) -> Kind:
    """What ``reasoning_effort`` may be: a word, from 0.5.17 on also a share."""
    words = literal(*_words(traits))
    return nullable(either(words, Kind("constrained-float", _share)) if traits.has(Trait.EFFORT_SHARES) else words)


def variables(values: Mapping[str, Any], defaults: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    """The template variables of a request over the server's own: whoever says nothing about thinking gets what the
    request's effort means in this version."""
    given = members(values["chat_template_kwargs"])
    return {**defaults, **_meant(values, traits), **given}


def _meant(values: Mapping[str, Any], traits: Traits) -> dict[str, bool]:
    asked = members(values["reasoning"])
    enabled: Any = asked.get("enabled")
    enabled = asked.get("enable", False) if enabled is None else enabled
    on = enabled.strip().lower() in _YES if isinstance(enabled, str) else bool(enabled)
    effort: Any = asked.get("effort") or asked.get("reasoning_effort")
    if not isinstance(effort, str) or effort not in _words(traits):
        effort = values["reasoning_effort"]
    if traits.has(Trait.EFFORT_SWITCHES_ON) and effort is not None:
        return {"thinking": effort != "none", "enable_thinking": effort != "none"}
    if on:
        return {"thinking": True, "enable_thinking": True} if traits.has(Trait.ENABLED_FOR_ALL) else {"thinking": True}
    if effort == "none" and traits.has(Trait.EFFORT_NONE):
        return {"thinking": False, "enable_thinking": False}
    return {}


def _words(traits: Traits) -> list[str]:
    return next(words for since, words in reversed(_TIERS) if traits.version >= since).split()


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
