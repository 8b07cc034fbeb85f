"""Why no reply answered: the closest ones, field by field.

``nearest`` compares a request with every reply and keeps the three that fail on least; :class:`NoReply` carries them to
the server, which answers 501 with its ``body()``. Everything is cut to a readable length, and values of headers that
hold secrets are not repeated. This module changes no state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from ..errors import FakellmError
from .model import Reply
from .rules import Condition, Contains, Equals, View

CLOSEST = 3
_SHOWN = 120
_COMPARED = 200
_WORTH_COMPARING = 40
"""How many replies are compared word by word, after a first look at how their texts begin and end."""
_SECRET = ("authorization", "api-key", "cookie", "token", "secret")


@dataclass(frozen=True, slots=True)
class FieldCheck:
    """One condition of a reply against the request. ``got``: what the request says there, "nothing" when it is
    absent."""

    field: str
    rule: str
    got: str
    holds: bool

    def to_json(self) -> dict[str, Any]:
        return {"field": self.field, "rule": self.rule, "got": self.got, "holds": self.holds}

    def __str__(self) -> str:
        return f"{'ok  ' if self.holds else 'FAIL'} {self.field} {self.rule}; the request has {self.got}"


@dataclass(frozen=True, slots=True)
class NearMiss:
    """One reply that did not answer, and what each of its conditions found."""

    index: int
    where: str
    fields: tuple[FieldCheck, ...]

    def to_json(self) -> dict[str, Any]:
        return {"reply": self.index, "where": self.where, "fields": [check.to_json() for check in self.fields]}

    def __str__(self) -> str:
        head = f"replies[{self.index}]" + (f" ({self.where})" if self.where else "")
        return "\n".join([head, *(f"  {check}" for check in self.fields)])


class NoReply(FakellmError):
    """No reply of the scenario answers this request."""

    blame = "your scenario or your client"

    def __init__(self, scenario: str, near_misses: Sequence[NearMiss]) -> None:
        closest = "\n".join(str(miss) for miss in near_misses)
        text = f"no reply of scenario {scenario!r} matches this request" + (f"; closest:\n{closest}" if closest else "")
        super().__init__(text, hint="add a reply without `when` at the end to answer everything else")
        self.scenario = scenario
        self.near_misses = tuple(near_misses)

    def body(self) -> dict[str, Any]:
        """The body of the 501 answer: the error as OpenAI-like clients show it, and the closest replies for
        machines."""
        return {
            "error": {"message": self.message, "type": "fakellm_unmatched", "param": None, "code": 501},
            "fakellm": {
                "problem": "unmatched",
                "scenario": self.scenario,
                "near_misses": [miss.to_json() for miss in self.near_misses],
                "hint": self.hint,
            },
        }


def nearest(replies: Sequence[Reply], view: View, played: Callable[[int], int]) -> tuple[NearMiss, ...]:
    """The closest replies: fewest failing conditions first, then most that hold, then the most alike texts."""
    ranked: list[tuple[int, int, int]] = []
    for index, reply in enumerate(replies):
        held = sum(_holds(condition, view) for condition in reply.when.conditions)
        used_up = reply.limit is not None and played(index) >= reply.limit
        ranked.append((len(reply.when.conditions) - held + used_up, -held, index))
    ranked.sort(key=lambda row: (row[0], row[1], -_likeness(replies[row[2]], view, _edges), row[2]))
    closest = ranked[:_WORTH_COMPARING]
    closest.sort(key=lambda row: (row[0], row[1], -_likeness(replies[row[2]], view, _ratio), row[2]))
    return tuple(_miss(index, replies[index], view, played(index)) for _, _, index in closest[:CLOSEST])


def _miss(index: int, reply: Reply, view: View, played: int) -> NearMiss:
    fields = [
        FieldCheck(condition.field, str(condition), _got(condition, view), _holds(condition, view))
        for condition in reply.when.conditions
    ]
    if reply.limit is not None:
        fields.append(FieldCheck("times", f"at most {reply.limit}", f"{played} before it", played < reply.limit))
    return NearMiss(index, reply.where, tuple(fields))


def _holds(condition: Condition, view: View) -> bool:
    try:
        return condition.holds(view)
    except FakellmError:  # a regex that is too much work for this text: it was told when it was matched
        return False


def _got(condition: Condition, view: View) -> str:
    values = view.values(condition.field)
    if not values:
        return "nothing"
    if condition.field.startswith("headers.") and any(word in condition.field for word in _SECRET):
        return "a value that is not shown"
    best = max(values, key=lambda value: _alike(condition, value, _ratio)) if len(values) > 1 else values[0]
    more = f" (and {len(values) - 1} more)" if len(values) > 1 else ""
    return _short(best) + more


def _likeness(reply: Reply, view: View, measure: Callable[[str, str], float]) -> float:
    """How alike the texts are, 0 to the number of conditions."""
    return sum(
        max((_alike(condition, value, measure) for value in view.values(condition.field)), default=0.0)
        for condition in reply.when.conditions
    )


def _alike(condition: Condition, value: Any, measure: Callable[[str, str], float]) -> float:
    rule = condition.rule
    wanted = rule.value if isinstance(rule, Equals) else rule.text if isinstance(rule, Contains) else None
    if not isinstance(wanted, str) or not isinstance(value, str):
        return 0.0
    return measure(wanted[:_COMPARED], value[:_COMPARED])


def _ratio(wanted: str, value: str) -> float:
    return SequenceMatcher(None, wanted, value).ratio()


def _edges(wanted: str, value: str) -> float:
    """The share of the longer text that both begin or end with: quick, good enough to sort out the hopeless."""
    longest = max(len(wanted), len(value))
    if not longest:
        return 1.0
    start = _shared(wanted, value)
    return (start + _shared(wanted[start:][::-1], value[start:][::-1])) / longest


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
